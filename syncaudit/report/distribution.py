"""Distribution of values over many clips, counted in fine bins with bounded memory."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import accumulate

import numpy as np

from syncaudit.dsp.robust import MAD_TO_STD

# Smaller values count as zero; far below what any clock of a recording shows (seconds).
_LEAST = 1e-9
# Bins per factor of e: each is 0.1 % wide and is represented by the mean of its values.
_FINE = 1000.0
_MOST = 1e12
_AT_ONCE = 1024  # values binned at a time


class Distribution:
    """Counts values in signed bins of equal ratio.

    Offsets of ten sources in a hundred thousand clips would fit as floats as well, but not those in
    a hundred million; quantiles are exact to 0.1 % of the value, which no reader of a page can see.
    """

    __slots__ = ("_bins", "_new")

    def __init__(self) -> None:
        self._bins: dict[int, tuple[int, float]] = {}  # count and sum
        self._new: list[float] = []  # not yet binned

    def add(self, value: float | None) -> None:
        """Count a value; None and values that are not finite are ignored."""
        if value is not None and math.isfinite(value):
            self._new.append(value)
            if len(self._new) >= _AT_ONCE:
                self._settle()

    def merge(self, other: Distribution) -> None:
        """Count all values of `other` too."""
        found = list(other._values())
        self._put([value for value, _ in found], [n for _, n in found])

    def __len__(self) -> int:
        """Return the number of values counted."""
        return len(self._new) + sum(n for n, _ in self._bins.values())

    def quantile(self, share: float) -> float | None:
        """Return the value below which `share` of all lie, interpolated if needed."""
        found = sorted(self._values())
        if not found:
            return None
        sums = list(accumulate(n for _, n in found))
        place = share * (sums[-1] - 1)
        low = next(v for (v, _), n in zip(found, sums, strict=True) if n > math.floor(place))
        high = next(v for (v, _), n in zip(found, sums, strict=True) if n > math.ceil(place))
        return low + (high - low) * (place - math.floor(place))

    def sizes(self) -> Distribution:
        """Return the distribution of the absolute values."""
        return self._about(0.0)

    def median(self) -> float | None:
        """Return the median."""
        return self.quantile(0.5)

    def spread(self) -> float | None:
        """Return the robust standard deviation, from the median absolute deviation."""
        median = self.median()
        if median is None or len(self) < 2:
            return None
        return MAD_TO_STD * (self._about(median).median() or 0.0)

    def extreme(self) -> float | None:
        """Return the value farthest from zero."""
        return max((value for value, _ in self._values()), key=abs, default=None)

    def beyond(self, limit: float) -> int:
        """Return how many values are farther from zero than `limit`."""
        return sum(n for value, n in self._values() if abs(value) > limit)

    def counts(self, low: float, high: float, n: int) -> list[int]:
        """Return counts of `n` equal bins from `low` to `high`; the outer ones take the rest."""
        found = [0] * n
        for value, count in self._values():
            place = math.floor((value - low) / (high - low) * n)
            found[min(max(place, 0), n - 1)] += count
        return found

    def _about(self, middle: float) -> Distribution:
        """Return the distribution of the distances from `middle`."""
        away, found = Distribution(), list(self._values())
        away._put([abs(value - middle) for value, _ in found], [n for _, n in found])
        return away

    def _values(self) -> Iterator[tuple[float, int]]:
        self._settle()
        return ((total / n, n) for n, total in self._bins.values())

    def _settle(self) -> None:
        new, self._new = self._new, []
        self._put(new, [1] * len(new))

    def _put(self, values: list[float], counts: list[int]) -> None:
        x = np.clip(np.array(values, dtype=np.float64), -_MOST, _MOST)
        n = np.array(counts, dtype=np.int64)
        bins = np.rint(_FINE * np.log(np.maximum(np.abs(x), _LEAST) / _LEAST)).astype(np.int64)
        keys = np.where(np.abs(x) < _LEAST, 0, np.where(x > 0, bins + 1, -bins - 1))
        found, places = np.unique(keys, return_inverse=True)
        numbers = np.bincount(places, weights=n, minlength=found.size)
        totals = np.bincount(places, weights=n * x, minlength=found.size)
        for key, number, total in zip(
            found.tolist(), numbers.tolist(), totals.tolist(), strict=True
        ):
            m, so_far = self._bins.get(key, (0, 0.0))
            self._bins[key] = (m + int(number), so_far + total)
