"""The same video in two splits, coded again, scaled or cut to another length."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from syncaudit.batch.pool import Lost, map_isolated
from syncaudit.errors import SyncAuditError
from syncaudit.model import CameraStream, Clip
from syncaudit.readers import read_source
from syncaudit.splits.common_part import MIN_COMMON_S, Comparison
from syncaudit.splits.fingerprint import CROPS, Fingerprint, cropping, fingerprint_of, nearest
from syncaudit.splits.split_lists import Split

__all__ = [
    "Duplicate",
    "Lookalike",
    "Looks",
    "Video",
    "VideoPair",
    "VideoSet",
    "compared",
    "count_videos",
    "find_duplicates",
    "likeness",
]

# Of stills of one scene 0.97 is the least, and of those of other places the most: better listed in
# vain than not at all.
_MIN_LIKENESS = 0.96
# Scenes are looked at so often.
_LOOK_S = 0.25

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Video:
    """One camera of one clip: what is compared."""

    split: str
    clip: Clip
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class VideoPair:
    """Two videos of different splits.

    Parameters
    ----------
    splits, clips, sources : tuple of str
        Split, clip and camera of both.
    """

    splits: tuple[str, str]
    clips: tuple[str, str]
    sources: tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Duplicate(VideoPair):
    """Two videos that show the same.

    Parameters
    ----------
    agreement : float
        Correlation of how both change, 1 for exact copies.
    start_s : float
        When the second begins, seconds after the first.
    common_s : float
        How much they have in common.
    """

    agreement: float
    start_s: float
    common_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookalike(VideoPair):
    """Two videos of one scene, of which one changes too little to tell.

    Parameters
    ----------
    likeness : float
        Correlation of how both look where they are most alike.
    why : str
        Why nothing tells a copy from another recording of the scene.
    """

    likeness: float
    why: str


@dataclass(slots=True, kw_only=True)
class VideoSet:
    """What could be compared of the videos of some splits.

    Parameters
    ----------
    n_videos : int
        Videos there are.
    undecided : list of Lookalike
        Pairs that may be copies or may not.
    failed : list of (str, str)
        Videos that could not be decoded, and why.
    """

    n_videos: int = 0
    undecided: list[Lookalike] = field(default_factory=list)
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
    prints: dict[int, Fingerprint] = {}
    for index, made in map_isolated(_fingerprint, videos, workers=max(1, workers)):
        if on_video is not None:
            on_video()
        video = videos[index]
        name = f"{video.split}: {video.clip.clip_id}, {video.source}"
        if isinstance(made, Lost):
            seen.failed.append((name, "the process that decoded it died"))
        elif isinstance(made, str):
            seen.failed.append((name, made))
        else:
            prints[index] = made
    copies: list[Duplicate] = []
    for pair in compared(videos, dict(sorted(prints.items()))):
        if isinstance(pair, Duplicate):
            copies.append(pair)
        else:
            seen.undecided.append(pair)
    return copies, seen


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
        made = fingerprint_of(stream, video.clip)
        return made if made.times_s.size else "holds no frame"
    except SyncAuditError as error:
        return str(error)


def compared(
    videos: Sequence[Video], prints: Mapping[int, Fingerprint]
) -> Iterator[Duplicate | Lookalike]:
    """Yield the pairs of different splits that agree, or that nothing decides.

    Parameters
    ----------
    videos : sequence of Video
        All of them.
    prints : mapping of int to Fingerprint
        Of those that could be decoded, by their place in `videos`.
    """
    comparison = Comparison(prints)
    whys = {key: why for key, made in prints.items() if (why := _why_undecided(made)) is not None}
    looks = {key: Looks.of(made) for key, made in prints.items()} if whys else {}
    for first, second in combinations(prints, 2):
        one, other = videos[first], videos[second]
        if one.split == other.split:
            continue
        pair = {
            "splits": (one.split, other.split),
            "clips": (one.clip.clip_id, other.clip.clip_id),
            "sources": (one.source, other.source),
        }
        found = comparison.common_part(first, second)
        if found is not None:
            agreement, start_s, common_s = found
            yield Duplicate(**pair, agreement=agreement, start_s=start_s, common_s=common_s)
        elif why := whys.get(first) or whys.get(second):
            alike = likeness(looks[first], looks[second])
            if alike >= _MIN_LIKENESS:
                yield Lookalike(**pair, likeness=alike, why=why)


def _why_undecided(video: Fingerprint) -> str | None:
    """Return why copies of a video may not be told from other recordings, or None."""
    if video.changing_s < MIN_COMMON_S:
        return "too short"
    return "nothing moves" if video.is_still else None


@dataclass(frozen=True, slots=True, eq=False)
class Looks:
    """What a video looks like, each with no margin and with several cut off.

    Parameters
    ----------
    often : ndarray, shape (c, n, 96)
        Every `_LOOK_S`; every row of norm 1 and mean 0.
    once : ndarray, shape (c, 96)
        In the middle.
    """

    often: Floats
    once: Floats

    @classmethod
    def of(cls, video: Fingerprint) -> Looks:
        """Return the looks of a video."""
        at = nearest(video.times_s, np.arange(0.0, video.times_s[-1] + _LOOK_S, _LOOK_S))
        cells = video.cells.astype(np.float32)

        def looks(cells: Floats) -> Floats:
            found = np.stack([cells @ cropping(crop).T for crop in CROPS])
            found -= found.mean(axis=-1, keepdims=True)
            size = np.linalg.norm(found, axis=-1, keepdims=True)
            return np.asarray(found / np.maximum(size, 1e-9), dtype=np.float32)

        return cls(looks(cells[at]), looks(cells[len(cells) // 2]))


def likeness(one: Looks, other: Looks) -> float:
    """Return the correlation of two videos of a scene at the instants when they are most alike."""
    return max(
        float(max(np.max(often.often @ once.once[0]), np.max(often.often[0] @ once.once.T)))
        for once, often in ((one, other), (other, one))
    )
