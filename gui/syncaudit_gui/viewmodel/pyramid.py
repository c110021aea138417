"""Min-max pyramids: draw signals of any length with as many points as there are pixels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syncaudit.model.arrays import Floats

# Each level has one bucket for this many of the next finer level.
FACTOR = 4
# A smaller level is fast to draw as it is.
SMALLEST = 2048
# A pause longer than this many sample periods is a gap, not a line.
GAP_PERIODS = 8.0
# Values beyond these quantiles are outliers if they expand the axis by more than this factor.
OUTLIER_SHARE, OUTLIER_ROOM = 0.005, 3.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trace:
    """Points to draw."""

    times_s: Floats  # shape (n,): timestamps
    values: NDArray[np.float32]  # shape (n, d): NaN breaks the line


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Level:
    size: int
    first_s: Floats
    last_s: Floats
    low: NDArray[np.float32]
    high: NDArray[np.float32]


class MinMaxPyramid:
    """Extremes of a signal in buckets of 4, 16, 64 ... samples.

    Samples, shape (n, d), are drawn in chronological order, whatever the order of the file; values
    that are not finite are drawn as a gap.
    """

    def __init__(self, times_s: Floats, values: NDArray[np.floating]) -> None:
        if values.ndim != 2 or values.shape[0] != times_s.shape[0]:
            raise ValueError(f"values must have shape ({times_s.shape[0]}, d), got {values.shape}")
        if times_s.size > 1 and bool(np.any(np.diff(times_s) < 0.0)):
            order = np.argsort(times_s, kind="stable")
            times_s, values = times_s[order], values[order]
        with np.errstate(over="ignore"):
            narrow = values.astype(np.float32)
        self._values = np.where(np.isfinite(narrow), narrow, np.float32(np.nan))
        self._times_s = times_s
        period_s = float(np.median(np.diff(times_s))) if times_s.size > 1 else 0.0
        gap_s = GAP_PERIODS * period_s if period_s > 0.0 else np.inf
        # Samples followed by a gap.
        self._gaps = np.flatnonzero(np.diff(times_s) > gap_s)
        self._levels = self._build()

    @property
    def n_samples(self) -> int:
        """Number of samples of the signal."""
        return int(self._times_s.size)

    @property
    def n_channels(self) -> int:
        """Number of columns of the signal."""
        return int(self._values.shape[1])

    @property
    def ends_s(self) -> tuple[float, float] | None:
        """First and last timestamp; None without samples."""
        times_s = self._times_s
        return (float(times_s[0]), float(times_s[-1])) if times_s.size else None

    def extremes(self) -> tuple[float, float] | None:
        """Return the lowest and highest value over all channels; None if nothing is finite."""
        low, high = self._levels[-1].low, self._levels[-1].high
        if not np.isfinite(low).any():
            return None
        return float(np.nanmin(low)), float(np.nanmax(high))

    def value_at(self, time_s: float) -> NDArray[np.float32] | None:
        """Return the last sample stamped at or before `time_s`, shape (d,); None outside."""
        index = int(np.searchsorted(self._times_s, time_s, side="right")) - 1
        is_past = index == self.n_samples - 1 and time_s > self._times_s[-1]
        return self._values[index] if index >= 0 and not is_past else None

    def trace(self, start_s: float, stop_s: float, n_points: int) -> Trace:
        """Return at most about `n_points` points per channel between two timestamps.

        The points just outside are included, so that lines extend beyond the view. Twice the number
        of pixels is enough for `n_points`.
        """
        first = max(0, int(np.searchsorted(self._times_s, start_s, side="left")) - 1)
        stop = min(self.n_samples, int(np.searchsorted(self._times_s, stop_s, side="right")) + 1)
        if stop - first <= n_points:
            gaps = self._gaps[(self._gaps >= first) & (self._gaps < stop - 1)] - first + 1
            return _broken(self._times_s[first:stop], self._values[first:stop], gaps)
        # The finest level that is quickly reduced to two points per bucket.
        most = FACTOR * n_points
        level = next((x for x in self._levels if stop - first <= most * x.size), self._levels[-1])
        part = slice(first // level.size, -(-stop // level.size))
        merged = max(1, -(-2 * (part.stop - part.start) // n_points))
        # Buckets keep their positions while the view moves, so that curves do not flicker.
        part = slice(part.start // merged * merged, part.stop)
        starts = np.arange(0, part.stop - part.start, merged)
        low = np.fmin.reduceat(level.low[part], starts, axis=0)
        high = np.fmax.reduceat(level.high[part], starts, axis=0)
        first_s = level.first_s[part][starts]
        last_s = level.last_s[part][np.minimum(starts + merged, part.stop - part.start) - 1]
        inside = self._gaps[(self._gaps >= first) & (self._gaps < stop)]
        gaps = np.unique((inside // level.size - part.start) // merged)
        middle_s = 0.5 * (first_s + last_s)
        middle_s[gaps] = first_s[gaps]  # buckets that span a gap are drawn at their start
        values = np.empty((2 * starts.size, self.n_channels), dtype=np.float32)
        values[0::2], values[1::2] = low, high
        return _broken(np.repeat(middle_s, 2), values, 2 * gaps + 2)

    def _build(self) -> list[_Level]:
        low = high = self._values
        size = 1
        levels = [_Level(size=1, first_s=self._times_s, last_s=self._times_s, low=low, high=high)]
        while low.shape[0] > SMALLEST:
            size *= FACTOR
            starts = np.arange(0, low.shape[0], FACTOR)
            low = np.fmin.reduceat(low, starts, axis=0)
            high = np.fmax.reduceat(high, starts, axis=0)
            begins = np.arange(0, self.n_samples, size)
            ends = np.minimum(begins + size, self.n_samples) - 1
            first_s, last_s = self._times_s[begins], self._times_s[ends]
            levels.append(_Level(size=size, first_s=first_s, last_s=last_s, low=low, high=high))
        return levels


def seen_ends(values: NDArray[np.float32]) -> tuple[float, float] | None:
    """Return the range of values for an axis: all of them, except for a few far outliers.

    None is returned if no value is finite.
    """
    known = values[np.isfinite(values)]
    if not known.size:
        return None
    last = known.size - 1
    cut = int(OUTLIER_SHARE * known.size)
    known.partition(sorted({0, cut, last - cut, last}))
    low, high = float(known[0]), float(known[last])
    inner_low, inner_high = float(known[cut]), float(known[last - cut])
    reach = inner_high - inner_low
    if high - low > OUTLIER_ROOM * reach > 0.0:
        low, high = max(low, inner_low - reach), min(high, inner_high + reach)
    return low, high


def _broken(times_s: Floats, values: NDArray[np.float32], at: NDArray[np.intp]) -> Trace:
    """Return a trace with NaN inserted before the points `at`."""
    at = at[at < times_s.size]
    if at.size:
        values = np.insert(values, at, np.float32(np.nan), axis=0)
        times_s = np.insert(times_s, at, times_s[at - 1])
    return Trace(times_s=times_s, values=values)
