"""Map a clock's timestamps to reference time: the only place that holds this formula."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from syncaudit.model.arrays import Floats, Ints
from syncaudit.model.units import difference_ns, nanoseconds

_LIMITS = np.iinfo(np.int64)
# An oscillator's drift is not constant over longer times.
_REACH_NS = 86_400 * 10**9
# A recording that begins within reach is over after 30 days: conventions, section 1.
_LONGEST_NS = 31 * _REACH_NS
_ROUNDED_NS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockMap:
    """Map of one clock: what to add to its timestamps `t` to get reference time.

    ``offset_s + drift_ppm * 1e-6 * (t - at) + step_s * ((t >= step_at) - is_step_past)``

    So the offset holds at the timestamp `at_ns`, and a step moves only what lies on the other side
    of it. Only `is_step_past` determines on which side `at_ns` lies: the timestamps of a clock that
    steps repeat or leave a gap, and those of one that is far off reach the step earlier or later,
    so that near it own timestamps and reference time do not agree.

    Parameters
    ----------
    offset_s : float
        Added to every timestamp; positive if the timestamps are too early.
    drift_ppm : float, optional
        None if unknown: then only the offset counts.
    at_ns : int, optional
        The clock's own timestamp at which the offset holds; required with a drift.
    step_s : float
        Change of the correction at the step.
    step_at_ns : int, optional
        Timestamp of the step; None without one.
    is_step_past : bool
        Whether the offset holds after the step.
    """

    offset_s: float = 0.0
    drift_ppm: float | None = None
    at_ns: int | None = None
    step_s: float = 0.0
    step_at_ns: int | None = None
    is_step_past: bool = False

    def __post_init__(self) -> None:
        for name in ("offset_s", "drift_ppm", "step_s"):
            value = getattr(self, name)
            if value is not None and not math.isfinite(value):
                raise ValueError(f"{name} is {value}, expected a finite number")
        if self.drift_ppm and self.at_ns is None:
            raise ValueError("a drift needs at_ns, the timestamp at which the offset holds")

    @property
    def is_nothing(self) -> bool:
        """Whether it changes no timestamp."""
        return self.offset_s == 0.0 and not self.drift_ppm and not self.step_s

    def since(self, epoch_ns: int) -> ClockMap:
        """Return the same map for timestamps that are counted from `epoch_ns`."""
        return replace(
            self,
            at_ns=None if self.at_ns is None else self.at_ns - epoch_ns,
            step_at_ns=None if self.step_at_ns is None else self.step_at_ns - epoch_ns,
        )

    def inverse(self) -> ClockMap:
        """Return the map from reference time back to the clock's timestamps.

        Near a step it is exact except for the effect of the drift up to there.
        """
        after_ns = nanoseconds(self.offset_s)
        drift_ppm = self.drift_ppm
        return ClockMap(
            offset_s=-self.offset_s,
            drift_ppm=None if drift_ppm is None else -drift_ppm / (1.0 + 1e-6 * drift_ppm),
            at_ns=None if self.at_ns is None else self.at_ns + after_ns,
            step_s=-self.step_s,
            step_at_ns=None if self.step_at_ns is None else self.step_at_ns + after_ns,
            is_step_past=self.is_step_past,
        )

    def change_s(self, times_s: ArrayLike) -> Floats:
        """Return what to add to timestamps, in seconds.

        Parameters
        ----------
        times_s : array_like of float, any shape
            Timestamps in seconds from where `at_ns` counts from (`since`).
        """
        times = np.asarray(times_s, dtype=np.float64)
        after_s = times - 1e-9 * (self.at_ns or 0)
        change_s = self.offset_s + 1e-6 * (self.drift_ppm or 0.0) * after_s
        if self.step_at_ns is not None:
            is_past = times >= 1e-9 * self.step_at_ns
            change_s = change_s + self.step_s * (is_past.astype(float) - float(self.is_step_past))
        return np.asarray(change_s, dtype=np.float64)

    def change_at(self, time_ns: int) -> float:
        """Return what to add to one timestamp, in seconds."""
        return float(self.since(time_ns).change_s(0.0))

    def near(self, time_ns: int) -> ClockMap:
        """Return the part of it that applies to timestamps around `time_ns`.

        Drift counts only within a day of `at_ns`: an oscillator's drift is not constant over
        longer times.
        """
        if not self.drift_ppm or self.at_ns is None or abs(time_ns - self.at_ns) <= _REACH_NS:
            return self
        return replace(self, drift_ppm=None, at_ns=None)

    def apply(self, time_ns: ArrayLike) -> Ints:
        """Return corrected timestamps.

        Timestamps never pass through float: only the change does, whose error stays below 1 ns as
        long as it is shorter than 100 days. What would overflow int64 is clipped to its range.

        Parameters
        ----------
        time_ns : array_like of int64, any shape
            Timestamps of the clock in nanoseconds.

        Returns
        -------
        ndarray of int64, same shape
            Reference time.

        Raises
        ------
        TypeError
            If the timestamps are not integers.
        """
        given = np.asarray(time_ns)
        if given.dtype.kind not in "iu":
            raise TypeError(f"timestamps must be integer nanoseconds, got {given.dtype}")
        stamps = given.astype(np.int64)
        offset_ns = Fraction(self.offset_s) * 10**9
        whole = min(max(round(offset_ns), -(2**62)), 2**62)
        change = np.full(stamps.shape, whole, dtype=np.int64)
        if self.drift_ppm and self.at_ns is not None:
            drifted_ns = 1e-6 * self.drift_ppm * difference_ns(stamps, self.at_ns)
            rest = drifted_ns + float(offset_ns - whole)
            change += np.rint(np.clip(rest, -(2.0**61), 2.0**61)).astype(np.int64)
        if self.step_at_ns is not None:
            is_past = (stamps >= self.step_at_ns).astype(np.int64)
            change += nanoseconds(self.step_s) * (is_past - int(self.is_step_past))
        with np.errstate(over="ignore"):
            moved = np.asarray(stamps + change, dtype=np.int64)
        has_left = ((stamps ^ moved) & (change ^ moved)) < 0
        ends = np.where(change > 0, _LIMITS.max, _LIMITS.min)
        return np.asarray(np.where(has_left, ends, moved), dtype=np.int64)

    def before(self, corrected_ns: int) -> tuple[int, int]:
        """Return the lowest and the highest timestamp that may become `corrected_ns`.

        They differ if it is not known yet whether the drift counts (`near`), by the step, and by
        the rounding of `apply`.
        """
        plain_ns = corrected_ns - round(Fraction(self.offset_s) * 10**9)
        found = [plain_ns]
        if self.drift_ppm and self.at_ns is not None and abs(plain_ns - self.at_ns) <= _LONGEST_NS:
            rate = 1 + Fraction(self.drift_ppm) / 10**6
            found.append(self.at_ns + round((plain_ns - self.at_ns) / rate))
        slack_ns = _ROUNDED_NS + nanoseconds(abs(self.step_s))
        low, high = min(found) - slack_ns, max(found) + slack_ns
        return max(low, int(_LIMITS.min)), min(high, int(_LIMITS.max))
