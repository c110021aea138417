"""The correction that turns a clock's stamps into reference time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["ClockCorrection"]

_LIMITS = np.iinfo(np.int64)
# An oscillator's drift is no constant over longer times.
_REACH_NS = 86_400 * 10**9
# A recording that begins within reach is over after 30 days: conventions, section 1.
_LONGEST_NS = 31 * _REACH_NS
_ROUNDED_NS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockCorrection:
    """Correction of one clock: ``t_ref = t + offset_s + drift_ppm * 1e-6 * (t - at)``.

    Parameters
    ----------
    offset_s : float
        Added to every stamp; positive where the stamps are too early.
    drift_ppm : float, optional
        None where it is unknown: then only the offset counts.
    at_ns : int, optional
        Stamp of the clock itself at which the offset holds; drift needs it.
    """

    offset_s: float
    drift_ppm: float | None = None
    at_ns: int | None = None

    def __post_init__(self) -> None:
        for name, value in (("offset_s", self.offset_s), ("drift_ppm", self.drift_ppm)):
            if value is not None and not math.isfinite(value):
                raise ValueError(f"{name} is {value}, expected a finite number")
        if self.drift_ppm and self.at_ns is None:
            raise ValueError("a drift needs at_ns, the stamp at which the offset holds")

    @property
    def is_nothing(self) -> bool:
        """Whether it changes no stamp."""
        return self.offset_s == 0.0 and not self.drift_ppm

    def near(self, time_ns: int) -> ClockCorrection:
        """Return what of it counts for stamps around `time_ns`.

        Drift counts only within a day of `at_ns`: an oscillator's drift is no constant over
        longer times.
        """
        if not self.drift_ppm or self.at_ns is None or abs(time_ns - self.at_ns) <= _REACH_NS:
            return self
        return ClockCorrection(offset_s=self.offset_s)

    def apply(self, time_ns: ArrayLike) -> NDArray[np.int64]:
        """Return corrected stamps.

        Stamps never pass through float: only the change does, whose error stays below 1 ns as
        long as it is shorter than 100 days. What would leave int64 stays at its end.

        Parameters
        ----------
        time_ns : array_like of int64, any shape
            Stamps of the clock in nanoseconds.

        Returns
        -------
        ndarray of int64, same shape
            Reference time.

        Raises
        ------
        TypeError
            If the stamps are not integers.
        """
        given = np.asarray(time_ns)
        if given.dtype.kind not in "iu":
            raise TypeError(f"stamps must be integer nanoseconds, got {given.dtype}")
        stamps = given.astype(np.int64)
        offset_ns = Fraction(self.offset_s) * 10**9
        whole = min(max(round(offset_ns), -(2**62)), 2**62)
        change = np.full(stamps.shape, whole, dtype=np.int64)
        if self.drift_ppm and self.at_ns is not None:
            rest = 1e-6 * self.drift_ppm * _since(stamps, self.at_ns) + float(offset_ns - whole)
            change += np.rint(np.clip(rest, -(2.0**61), 2.0**61)).astype(np.int64)
        with np.errstate(over="ignore"):
            moved = np.asarray(stamps + change, dtype=np.int64)
        has_left = ((stamps ^ moved) & (change ^ moved)) < 0
        ends = np.where(change > 0, _LIMITS.max, _LIMITS.min)
        return np.asarray(np.where(has_left, ends, moved), dtype=np.int64)

    def before(self, corrected_ns: int) -> tuple[int, int]:
        """Return the lowest and the highest stamp that may become `corrected_ns`.

        They differ where it is not known yet whether the drift counts (`near`), and by what
        `apply` rounds.
        """
        plain_ns = corrected_ns - round(Fraction(self.offset_s) * 10**9)
        found = [plain_ns]
        if self.drift_ppm and self.at_ns is not None and abs(plain_ns - self.at_ns) <= _LONGEST_NS:
            rate = 1 + Fraction(self.drift_ppm) / 10**6
            found.append(self.at_ns + round((plain_ns - self.at_ns) / rate))
        low, high = min(found) - _ROUNDED_NS, max(found) + _ROUNDED_NS
        return max(low, int(_LIMITS.min)), min(high, int(_LIMITS.max))


def _since(stamps: NDArray[np.int64], at_ns: int) -> NDArray[np.float64]:
    """Return nanoseconds after `at_ns`, as integers where their difference fits."""
    rough = stamps.astype(np.float64) - float(at_ns)
    with np.errstate(over="ignore"):
        exact = (stamps - np.int64(at_ns)).astype(np.float64)
    return np.where(np.abs(rough) < 2.0**62, exact, rough)
