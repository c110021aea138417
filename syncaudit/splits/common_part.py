"""Find the common part of two videos from their changes of brightness.

Means over time give the lag; at this lag, frames are compared with frames.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from syncaudit.splits.fingerprint import (
    CHANGE_S,
    CROPS,
    STEP_S,
    STILL,
    Fingerprint,
    cropping,
    nearest,
    weighed,
)

__all__ = ["MIN_AGREEMENT", "MIN_COMMON_S", "Comparison"]

# The lowest agreement of copies is 0.76; the highest of two laps of a race track from the same
# cabin is 0.68 (docs/benchmarks.md).
MIN_AGREEMENT = 0.75
# If nothing moves, noise and the camera's gain are compared: the highest agreement of two
# recordings of one scene with little else is 0.77.
_MIN_STILL_AGREEMENT = 0.95
# Shorter parts may agree by chance.
MIN_COMMON_S = 3.0
# Changes of means agree less: frames may be missing, margins cropped.
_MIN_ROUGH_AGREEMENT = 0.4
# Crops of the original, or of the copy.
_CROPPED = [(crop, 0.0) for crop in CROPS] + [(0.0, crop) for crop in CROPS[1:]]
# Step and range of the search around a rough lag when frames are compared.
_FINE_S, _REACH_S = 1.0 / 120.0, 0.15
# Tolerance for matching frames at the ends of a video.
_END_S = 0.02
# Cached spectra, 200 kB each for videos of 20 s.
_KEPT = 2000

Floats = NDArray[np.float32]


class Comparison:
    """Compares many videos over all lags, with Fourier transforms computed once.

    Parameters
    ----------
    videos : mapping of int to Fingerprint
        Keys are arbitrary numbers.
    """

    def __init__(self, videos: Mapping[int, Fingerprint]) -> None:
        self._videos = videos
        self._still = {key for key, video in videos.items() if video.is_still}
        self._energy = {
            key: np.concatenate(([0.0], np.cumsum(np.sum(video.changes**2, axis=1, dtype=float))))
            for key, video in videos.items()
        }
        self._spectrum = lru_cache(maxsize=_KEPT)(self._transformed)

    def _transformed(self, key: int, size: int) -> NDArray[np.complex64]:
        return np.fft.rfft(self._videos[key].changes, size, axis=0).astype(np.complex64)

    def common_part(self, first: int, second: int) -> tuple[float, float, float] | None:
        """Return agreement, lag and length of the common part of two videos; None if there is none.

        Returns
        -------
        tuple of float, or None
            Correlation of changes, start of the second relative to the first, and common length,
            both in seconds.
        """
        n, m = (self._videos[key].changes.shape[0] for key in (first, second))
        least = round(MIN_COMMON_S / STEP_S)
        if min(n, m) < least:
            return None
        size = 1 << (n + m - 1).bit_length()
        product = np.conj(self._spectrum(first, size)) * self._spectrum(second, size)
        correlation = np.fft.irfft(product.sum(axis=1), size)
        # `one[t]` and `other[t + lag]` show the same.
        lags = np.arange(least - n, m - least + 1)
        low, high = np.maximum(0, -lags), np.minimum(n, m - lags)
        of_one = self._energy[first][high] - self._energy[first][low]
        of_other = self._energy[second][high + lags] - self._energy[second][low + lags]
        is_still = not self._still.isdisjoint((first, second))
        floor = 0.0 if is_still else STILL
        is_enough = np.minimum(of_one, of_other) > floor * (high - low) + 1e-9
        scale = np.sqrt(np.where(is_enough, of_one * of_other, np.inf))
        agreement = correlation[lags] / scale
        best = int(np.argmax(agreement))
        if agreement[best] < _MIN_ROUGH_AGREEMENT:
            return None
        later_s = -float(lags[best]) * STEP_S
        found = _agreement_at(self._videos[first], self._videos[second], later_s)
        if found < (_MIN_STILL_AGREEMENT if is_still else MIN_AGREEMENT):
            return None
        return found, later_s, float(high[best] - low[best]) * STEP_S


def _agreement_at(one: Fingerprint, other: Fingerprint, later_s: float) -> float:
    """Return the agreement of the frames of two videos around one lag, 1 for exact copies.

    A copy at another frame rate holds some of the frames of its original, which agree whatever
    happens in between; means over time would not. The measure is the correlation of changes
    between frames (`weighed`).

    Parameters
    ----------
    one, other : Fingerprint
        The one with more frames per second is taken as the original.
    later_s : float
        Approximate start of the second relative to the first.
    """
    if one.times_s.size * other.times_s[-1] < other.times_s.size * one.times_s[-1]:
        one, other, later_s = other, one, -later_s
    frames, copies = one.cells.astype(np.float32), other.cells.astype(np.float32)

    def agreement(frames: Floats, copies: Floats, lag_s: float) -> float:
        at_s = other.times_s + lag_s
        is_common = (at_s >= -_END_S) & (at_s <= one.times_s[-1] + _END_S)
        times_s, copies = other.times_s[is_common], copies[is_common]
        frames = frames[nearest(one.times_s, at_s[is_common])]
        first = np.flatnonzero(times_s + CHANGE_S <= times_s.max(initial=-np.inf))
        second = nearest(times_s, times_s[first] + CHANGE_S)
        a, b = weighed(frames[second] - frames[first]), weighed(copies[second] - copies[first])
        power = float(np.sum(a**2) * np.sum(b**2))
        return float(np.sum(a * b)) / math.sqrt(power) if power > 0.0 else 0.0

    lags_s = later_s + np.arange(-_REACH_S, _REACH_S + 0.5 * _FINE_S, _FINE_S)
    best_s = max(lags_s, key=lambda lag_s: agreement(frames, copies, lag_s))
    return max(
        agreement(frames @ cropping(a).T, copies @ cropping(b).T, best_s) for a, b in _CROPPED
    )
