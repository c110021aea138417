"""Compute fingerprints of videos: spatially coarse brightness over time, and its changes.

Frames of one scene look the same in every clip: a fixed camera shows the same table in all
episodes. Changes from moment to moment are unique to one recording, survive coding, scaling, other
frame rates, brightness and gain, and do not depend on where a clip begins.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache

import cv2
import numpy as np
from numpy.typing import NDArray

from syncaudit.decode import iter_luma
from syncaudit.dsp.indices import nearest
from syncaudit.model import CameraStream, Clip
from syncaudit.pipeline.reading import part_of, wanted_frames

# Trims that are not a multiple of this cause an error of at most half of it, over which means of
# two steps change little.
STEP_S = 0.1
# Interval of changes: longer than the frame period of slow cameras, shorter than a glance.
_CHANGE_S = 0.5
_COLUMNS, _ROWS = 12, 8
# Shares of the image cropped from every side; values in between lose little agreement.
CROPS = (0.0, 0.02, 0.04, 0.06)
# Grey levels of change (RMS over all cells) above which an instant has weight. Coding changes cells
# by up to one.
_CHANGED = 3.0
# Mean power of changes (1: all are large) below which coding and the camera's gain may have caused
# them: parked cars have up to 0.04, or at least 0.1 in the light of a flashing lamp.
_STILL = 0.05

Floats = NDArray[np.float32]
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fingerprint:
    """Coarse content of one video."""

    times_s: NDArray[np.float64]  # shape (n,); times of the frames, relative to the first
    cells: NDArray[np.float16]  # shape (n, 96); mean brightness of the cells of a 12 x 8 grid
    # shape (m, 96); weighed changes of means over two steps, one row every `STEP_S`
    changes: Floats

    @classmethod
    def of(cls, times_s: NDArray[np.float64], cells: NDArray[np.float32]) -> Fingerprint:
        """Compute the fingerprint of frames in any order, from the brightness of their cells."""
        order = np.argsort(times_s, kind="stable")
        times_s, cells = times_s[order] - times_s.min(initial=np.inf), cells[order]
        return cls(
            times_s=times_s, cells=cells.astype(np.float16), changes=_changes(times_s, cells)
        )

    @property
    def changing_s(self) -> float:
        """Duration covered by changes."""
        return STEP_S * len(self.changes)

    @property
    def is_still(self) -> bool:
        """Whether so little changes that copies cannot be detected."""
        return bool(np.sum(self.changes**2) < _STILL * len(self.changes))


def fingerprint_of(stream: CameraStream, clip: Clip) -> Fingerprint:
    """Decode a camera, in the window of its clip, and return its fingerprint.

    StreamReadError if it cannot be decoded.
    """
    wanted = wanted_frames(stream, clip)
    files = stream.files if wanted is None else part_of(stream, wanted)
    times, cells = [], []
    with iter_luma(files) as frames:
        for frame in frames:
            time_s = frame.pts_s
            if time_s is None:
                if frame.index >= stream.time_ns.size:
                    continue
                time_s = float(stream.time_ns[frame.index] - stream.time_ns[0]) * 1e-9
            times.append(time_s)
            luma = frame.luma.astype(np.float32)  # means of integers would be rounded
            cells.append(cv2.resize(luma, (_COLUMNS, _ROWS), interpolation=cv2.INTER_AREA).ravel())
    return Fingerprint.of(
        np.array(times), np.array(cells, dtype=np.float32).reshape(-1, _COLUMNS * _ROWS)
    )


def _weighed(changes: Floats) -> Floats:
    """Return changes minus the mean over all cells, with row norms limited to 1.

    No single event dominates, and changes small enough to come from coding have almost no weight.
    """
    changes = changes - changes.mean(axis=1, keepdims=True)
    power = np.sum(changes**2, axis=1, keepdims=True) + changes.shape[1] * _CHANGED**2
    return np.asarray(changes / np.sqrt(power), dtype=np.float32)


@cache
def cropping(share: float) -> Floats:
    """Return the matrix from cells of a whole image to those of a cropped one, shape (96, 96).

    `share` of the width and the height is cropped from every side.
    """

    def along(n: int) -> Floats:
        edges = n * np.linspace(share, 1.0 - share, n + 1)
        low, high = np.arange(n), np.arange(1, n + 1)
        common = np.minimum(edges[1:, None], high) - np.maximum(edges[:-1, None], low)
        common = np.maximum(common, 0.0)
        return np.asarray(common / common.sum(axis=1, keepdims=True), dtype=np.float32)

    return np.asarray(np.kron(along(_ROWS), along(_COLUMNS)))


def _changes(times_s: NDArray[np.float64], cells: Floats) -> Floats:
    edges = np.arange(int(times_s.max(initial=0.0) / STEP_S + 1e-6) + 1) * STEP_S
    lag = round(_CHANGE_S / STEP_S)
    if edges.size <= lag + 2:
        return np.empty((0, cells.shape[1]), dtype=np.float32)
    areas = 0.5 * np.diff(times_s)[:, None] * (cells[1:] + cells[:-1])
    integral = np.concatenate((np.zeros((1, cells.shape[1])), np.cumsum(areas, axis=0)))
    at_edges = np.stack([np.interp(edges, times_s, column) for column in integral.T], axis=1)
    means = (at_edges[2:] - at_edges[:-2]) / (2.0 * STEP_S)
    return _weighed(means[lag:] - means[:-lag])


class Comparison:
    """Compares many videos over all lags, with Fourier transforms computed once.

    Means over time give the lag; at this lag, frames are compared with frames.
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
        """Return the common part of two videos; None if there is none.

        That is the correlation of changes, the start of the second relative to the first, and the
        common length, both in seconds.
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
        floor = 0.0 if is_still else _STILL
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

    A copy at another frame rate holds some of the frames of its original (the one with more frames
    per second), which agree whatever happens in between; means over time would not. The measure is
    the correlation of weighed changes between frames. `later_s` is the approximate start of the
    second relative to the first.
    """
    if one.times_s.size * other.times_s[-1] < other.times_s.size * one.times_s[-1]:
        one, other, later_s = other, one, -later_s
    frames, copies = one.cells.astype(np.float32), other.cells.astype(np.float32)

    def agreement(frames: Floats, copies: Floats, lag_s: float) -> float:
        at_s = other.times_s + lag_s
        is_common = (at_s >= -_END_S) & (at_s <= one.times_s[-1] + _END_S)
        times_s, copies = other.times_s[is_common], copies[is_common]
        frames = frames[nearest(one.times_s, at_s[is_common])]
        first = np.flatnonzero(times_s + _CHANGE_S <= times_s.max(initial=-np.inf))
        second = nearest(times_s, times_s[first] + _CHANGE_S)
        a, b = _weighed(frames[second] - frames[first]), _weighed(copies[second] - copies[first])
        power = float(np.sum(a**2) * np.sum(b**2))
        return float(np.sum(a * b)) / math.sqrt(power) if power > 0.0 else 0.0

    lags_s = later_s + np.arange(-_REACH_S, _REACH_S + 0.5 * _FINE_S, _FINE_S)
    best_s = max(lags_s, key=lambda lag_s: agreement(frames, copies, lag_s))
    return max(
        agreement(frames @ cropping(a).T, copies @ cropping(b).T, best_s) for a, b in _CROPPED
    )
