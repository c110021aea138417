"""Find copies of a video in two splits, even if re-encoded, scaled or trimmed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from syncaudit.batch.pool import map_isolated
from syncaudit.batch.worker import Lost
from syncaudit.dsp.indices import nearest
from syncaudit.errors import SyncAuditError
from syncaudit.model import CameraStream, Clip
from syncaudit.readers import read_source
from syncaudit.splits.fingerprint import (
    CROPS,
    MIN_COMMON_S,
    Comparison,
    Fingerprint,
    cropping,
    fingerprint_of,
)
from syncaudit.splits.split_lists import Split

# The lowest likeness of stills of one scene is 0.97, which stills of other places also reach: a
# false alarm is better than a miss.
_MIN_LIKENESS = 0.96
# Interval between the compared frames.
_LOOK_S = 0.25

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Video:
    """One camera of one clip, the unit of comparison."""

    split: str
    clip: Clip
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class VideoPair:
    """Two videos from different splits."""

    # split, clip and camera of both
    splits: tuple[str, str]
    clips: tuple[str, str]
    sources: tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Duplicate(VideoPair):
    """Two videos with the same content."""

    agreement: float  # correlation of the changes in both, 1 for exact copies
    start_s: float  # start of the second relative to the first
    common_s: float  # length of the common part


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookalike(VideoPair):
    """Two videos of one scene, of which one changes too little to decide."""

    likeness: float  # correlation of their brightness where they are most similar
    why: str  # why a copy cannot be distinguished from another recording of the scene


@dataclass(slots=True, kw_only=True)
class VideoSet:
    """Which videos of some splits could be compared."""

    n_videos: int = 0
    undecided: list[Lookalike] = field(default_factory=list)  # pairs that may or may not be copies
    # videos that could not be decoded, and why
    failed: list[tuple[str, str]] = field(default_factory=list)


def find_duplicates(
    splits: Sequence[Split], *, workers: int = 1, on_video: Callable[[], None] | None = None
) -> tuple[list[Duplicate], VideoSet]:
    """Find videos shared by clips of different splits from their changes of brightness.

    `on_video` is called after every video. Return the duplicates in the order of the splits, and
    what could not be compared.
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
    """Return the number of videos that `find_duplicates` decodes."""
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
            return "is not a camera"
        made = fingerprint_of(stream, video.clip)
        return made if made.times_s.size else "holds no frames"
    except SyncAuditError as error:
        return str(error)


def compared(
    videos: Sequence[Video], prints: Mapping[int, Fingerprint]
) -> Iterator[Duplicate | Lookalike]:
    """Yield the pairs from different splits that agree or remain undecided.

    `prints` are the fingerprints of those that could be decoded, by their index in `videos`.
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
    """Return why copies of a video are indistinguishable from other recordings, or None."""
    if video.changing_s < MIN_COMMON_S:
        return "too short"
    return "nothing moves" if video.is_still else None


@dataclass(frozen=True, slots=True, eq=False)
class Looks:
    """Normalised images of a video, each uncropped and with several margins cropped."""

    often: Floats  # shape (c, n, 96); one every `_LOOK_S`; every row has norm 1 and mean 0
    once: Floats  # shape (c, 96); the middle of the video

    @classmethod
    def of(cls, video: Fingerprint) -> Looks:
        """Compute the looks of a video."""
        at = nearest(video.times_s, np.arange(0.0, video.times_s[-1] + _LOOK_S, _LOOK_S))
        cells = video.cells.astype(np.float32)

        def looks(cells: Floats) -> Floats:
            found = np.stack([cells @ cropping(crop).T for crop in CROPS])
            found -= found.mean(axis=-1, keepdims=True)
            size = np.linalg.norm(found, axis=-1, keepdims=True)
            return np.asarray(found / np.maximum(size, 1e-9), dtype=np.float32)

        return cls(looks(cells[at]), looks(cells[len(cells) // 2]))


def likeness(one: Looks, other: Looks) -> float:
    """Return the correlation of two videos of a scene at their most similar instants."""
    return max(
        float(max(np.max(often.often @ once.once[0]), np.max(often.often[0] @ once.once.T)))
        for once, often in ((one, other), (other, one))
    )
