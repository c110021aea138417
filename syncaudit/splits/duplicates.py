"""The same video in two splits, coded again, scaled or cut to another length."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from syncaudit.batch.pool import Lost, map_isolated
from syncaudit.errors import SyncAuditError
from syncaudit.model import CameraStream, Clip
from syncaudit.readers import read_source
from syncaudit.splits.fingerprint import STEP_S, Fingerprint, fingerprint_of
from syncaudit.splits.split_lists import Split

__all__ = [
    "MIN_AGREEMENT",
    "MIN_COMMON_S",
    "Duplicate",
    "VideoSet",
    "common_part",
    "find_duplicates",
    "is_still",
]

# Two laps of a race track from one cabin agree by 0.72, nearly all copies by more than 0.8
# (docs/benchmarks.md).
MIN_AGREEMENT = 0.75
# Fewer changes agree by chance.
MIN_COMMON_S = 3.0
# Mean power of changes (1: all are large) below which coding alone may have made them.
_STILL = 0.2
# Spectra of 200 kB each, of videos of 20 s.
_KEPT = 2000

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Video:
    """One camera of one clip: what is compared."""

    split: str
    clip: Clip
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Duplicate:
    """Two videos of different splits that show the same.

    Parameters
    ----------
    splits, clips, sources : tuple of str
        Split, clip and camera of both.
    agreement : float
        Correlation of how both change, 1 for exact copies.
    start_s : float
        When the second begins, seconds after the first.
    common_s : float
        How much they have in common.
    """

    splits: tuple[str, str]
    clips: tuple[str, str]
    sources: tuple[str, str]
    agreement: float
    start_s: float
    common_s: float


@dataclass(slots=True, kw_only=True)
class VideoSet:
    """What could be compared of the videos of some splits.

    Parameters
    ----------
    n_videos : int
        Videos there are.
    still, short : int
        Videos in which too little changes to tell them apart, or that last less than
        `MIN_COMMON_S`.
    failed : list of (str, str)
        Videos that could not be decoded, and why.
    """

    n_videos: int = 0
    still: int = 0
    short: int = 0
    failed: list[tuple[str, str]] = field(default_factory=list)


def find_duplicates(
    splits: Sequence[Split], *, workers: int = 1, on_video: Callable[[], None] | None = None
) -> tuple[list[Duplicate], VideoSet]:
    """Return the videos that clips of different splits share, by how their brightness changes.

    Parameters
    ----------
    splits : sequence of Split
        Two or more.
    workers : int
        Processes that decode.
    on_video : callable, optional
        Called after every video.

    Returns
    -------
    tuple of (list of Duplicate, VideoSet)
        In order of the splits, and what could not be compared.
    """
    videos = _videos(splits)
    seen = VideoSet(n_videos=len(videos))
    prints: dict[int, Floats] = {}
    for index, made in map_isolated(_fingerprint, videos, workers=max(1, workers)):
        if on_video is not None:
            on_video()
        video = videos[index]
        name = f"{video.split}: {video.clip.clip_id}, {video.source}"
        if isinstance(made, Lost):
            seen.failed.append((name, "the process that decoded it died"))
        elif isinstance(made, str):
            seen.failed.append((name, made))
        elif made.changes.shape[0] * STEP_S < MIN_COMMON_S:
            seen.short += 1
        elif is_still(made.changes):
            seen.still += 1
        else:
            prints[index] = made.changes
    return list(_pairs(videos, dict(sorted(prints.items())))), seen


def count_videos(splits: Sequence[Split]) -> int:
    """Return how many videos `find_duplicates` decodes."""
    return len(_videos(splits))


def _videos(splits: Sequence[Split]) -> list[Video]:
    return [
        Video(split=split.name, clip=clip, source=name)
        for split in splits
        for clip in split.clips
        for name, spec in clip.sources.items()
        if spec.kind == "camera"
    ]


def _fingerprint(video: Video) -> Fingerprint | str:
    """Return the fingerprint of one video, or why there is none."""
    try:
        stream = read_source(video.source, video.clip.sources[video.source], video.clip.base_uri)
        if not isinstance(stream, CameraStream):
            return "is no camera"
        return fingerprint_of(stream, video.clip)
    except SyncAuditError as error:
        return str(error)


def _pairs(videos: Sequence[Video], prints: dict[int, Floats]) -> Iterator[Duplicate]:
    """Yield the pairs of different splits that agree."""
    spectra = _Spectra(prints)
    order = list(prints)
    for position, first in enumerate(order):
        for second in order[position + 1 :]:
            one, other = videos[first], videos[second]
            if one.split == other.split:
                continue
            found = spectra.common_part(first, second)
            if found is None:
                continue
            agreement, start_s, common_s = found
            yield Duplicate(
                splits=(one.split, other.split),
                clips=(one.clip.clip_id, other.clip.clip_id),
                sources=(one.source, other.source),
                agreement=agreement,
                start_s=start_s,
                common_s=common_s,
            )


def is_still(changes: Floats) -> bool:
    """Tell whether so little changes in a video that copies cannot be told."""
    return float(np.mean(np.sum(changes**2, axis=1))) < _STILL


def common_part(one: Floats, other: Floats) -> tuple[float, float, float] | None:
    """Return agreement, lag and length of what two videos have in common; None if nothing.

    Parameters
    ----------
    one, other : ndarray of float32, shape (n, k)
        Changes (`Fingerprint`).

    Returns
    -------
    tuple of float, or None
        Correlation, when the second begins after the first, and the common length in seconds.
    """
    return _Spectra({0: one, 1: other}).common_part(0, 1)


class _Spectra:
    """Cross-correlations of many videos over all lags, by Fourier transforms made once."""

    def __init__(self, prints: dict[int, Floats]) -> None:
        self._prints = prints
        self._energy = {
            key: np.concatenate(([0.0], np.cumsum(np.sum(np.square(x, dtype=np.float64), axis=1))))
            for key, x in prints.items()
        }
        self._spectrum = lru_cache(maxsize=_KEPT)(self._transformed)

    def _transformed(self, key: int, size: int) -> NDArray[np.complex64]:
        return np.fft.rfft(self._prints[key], size, axis=0).astype(np.complex64)

    def common_part(self, first: int, second: int) -> tuple[float, float, float] | None:
        """Return what two videos have in common, as the function of that name."""
        n, m = self._prints[first].shape[0], self._prints[second].shape[0]
        least = round(MIN_COMMON_S / STEP_S)
        if min(n, m) < least:
            return None
        size = 1 << (n + m - 1).bit_length()
        product = np.conj(self._spectrum(first, size)) * self._spectrum(second, size)
        correlation = np.fft.irfft(product.sum(axis=1), size)
        # `one[t]` shows what `other[t + lag]` shows.
        lags = np.arange(least - n, m - least + 1)
        low, high = np.maximum(0, -lags), np.minimum(n, m - lags)
        of_one = self._energy[first][high] - self._energy[first][low]
        of_other = self._energy[second][high + lags] - self._energy[second][low + lags]
        floor = (high - low) * _STILL
        is_told = np.minimum(of_one, of_other) > floor
        scale = np.sqrt(np.where(is_told, of_one * of_other, np.inf))
        agreement = correlation[lags] / scale
        best = int(np.argmax(agreement))
        if agreement[best] < MIN_AGREEMENT:
            return None
        common_s = float(high[best] - low[best]) * STEP_S
        return float(agreement[best]), -float(lags[best]) * STEP_S, common_s
