"""Clock faults: how a source's timestamps differ from true time, and which correction undoes it."""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .motion import FloatArray

NS_PER_S = 1_000_000_000
_QUEUE_SPACING_S = 2e-5  # samples that leave a queue together are stamped this far apart


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockFault:
    """Describe the faults of one source's timestamps. The default is a perfect clock.

    Offsets are corrections, as in formats.md section 1: ``t_ref = t_src + offset_s + ...``. A
    positive offset makes the timestamps too early.
    """

    # correction in the middle of the clip, before any step and without latency
    offset_s: float = 0.0
    drift_ppm: float = 0.0  # growth of the correction with source time
    # the correction is larger by `step_by_s` from true time `step_at_s` after the clip's start
    step_at_s: float = 0.0
    step_by_s: float = 0.0
    jitter_std_s: float = 0.0  # symmetric Gaussian noise on every timestamp
    # mean of a one-sided exponential latency of every timestamp; order is kept, as in a queue
    delay_mean_s: float = 0.0
    # timestamps are made up afterwards: first timestamp + index / nominal rate
    is_synthetic: bool = False
    # spans of true time after the clip's start in which samples are missing
    gaps_s: tuple[tuple[float, float], ...] = ()
    # rows that repeat the previous timestamp, or jump back behind it by half a period
    duplicate_stamps: tuple[int, ...] = ()
    backwards_stamps: tuple[int, ...] = ()
    # rows added at the end of the timestamps (negative: rows cut off); cameras only
    n_rows_extra: int = 0

    def __post_init__(self) -> None:
        if self.jitter_std_s < 0 or self.delay_mean_s < 0:
            raise ValueError("jitter_std_s and delay_mean_s must not be negative")
        if abs(self.drift_ppm) >= 1e5:
            raise ValueError(f"drift_ppm is {self.drift_ppm}, expected less than 100000 either way")
        for start_s, stop_s in self.gaps_s:
            if not stop_s > start_s:
                raise ValueError(f"gap ({start_s}, {stop_s}) ends before it starts")
        if min((*self.duplicate_stamps, *self.backwards_stamps, 1)) < 1:
            raise ValueError("duplicate_stamps and backwards_stamps name rows from 1 up")

    @property
    def typical_offset_s(self) -> float:
        """Return the correction of the typical (median) timestamp; latency makes it late.

        The median of an exponential latency is its mean times ln 2.
        """
        return self.offset_s - self.delay_mean_s * float(np.log(2))

    def with_scatter(self, std_s: float) -> "ClockFault":
        """Return the fault plus the normal jitter of a device; made-up timestamps have none."""
        if self.is_synthetic or not std_s:
            return self
        return replace(self, jitter_std_s=math.hypot(self.jitter_std_s, std_s))

    def is_in_gap(self, times_s: FloatArray) -> NDArray[np.bool_]:
        """Return whether each true time falls into a gap, shape (n,)."""
        lost = np.zeros(times_s.size, dtype=bool)
        for start_s, stop_s in self.gaps_s:
            lost |= (times_s >= start_s) & (times_s < stop_s)
        return lost


def stamp(
    times_s: FloatArray, fault: ClockFault, *, at_s: float, rate_hz: float, rng: np.random.Generator
) -> FloatArray:
    """Return the timestamps that a faulty clock assigns to true times.

    Solves ``t_ref = t_src + offset + drift * (t_src - at) + step`` for ``t_src``, then adds jitter,
    latency and disorder. Gaps and missing rows are not applied here.

    `times_s`, shape (n,), are true times after the clip's start, in order; `at_s` anchors the drift
    (the middle of the clip); `rate_hz` is nominal, for made-up timestamps and for disorder.

    Returns
    -------
    ndarray, shape (n,)
        Timestamps in seconds after the clip's start, on the source's clock.
    """
    stepped = np.where(times_s >= fault.step_at_s, fault.step_by_s, 0.0)
    stamps = at_s + (times_s - at_s - fault.offset_s - stepped) / (1 + fault.drift_ppm * 1e-6)
    if fault.is_synthetic and stamps.size:
        stamps = stamps[0] + np.arange(stamps.size) / rate_hz
    if fault.jitter_std_s:
        stamps = stamps + rng.normal(0.0, fault.jitter_std_s, stamps.size)
    if fault.delay_mean_s:
        spread = _QUEUE_SPACING_S * np.arange(stamps.size)
        delayed = stamps + rng.exponential(fault.delay_mean_s, stamps.size)
        stamps = np.maximum.accumulate(delayed - spread) + spread
    stamps = np.array(stamps)
    for row in fault.duplicate_stamps:
        if row < stamps.size:
            stamps[row] = stamps[row - 1]
    for row in fault.backwards_stamps:
        if row < stamps.size:
            stamps[row] = stamps[row - 1] - 0.5 / rate_hz
    return stamps


def to_ns(stamps_s: FloatArray, start_ns: int) -> NDArray[np.int64]:
    """Return timestamps on the epoch of `start_ns`, integer nanoseconds, shape (n,)."""
    return np.rint(stamps_s * NS_PER_S).astype(np.int64) + start_ns
