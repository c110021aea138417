"""Find what splits share by name, and the clips to leave out so that they share nothing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from syncaudit.model import Clip
from syncaudit.readers.uris import resolve
from syncaudit.splits.duplicates import VideoPair
from syncaudit.splits.split_lists import Split

_ALL = (float("-inf"), float("inf"))
# Tables of signal definitions are the same for a whole fleet.
_MEDIA = ("uri", "timestamps")
# Keys in a manifest's `about` for the device, which can only be in one place at a time.
_DEVICE = ("device", "vehicle", "robot")


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedData:
    """Something that clips of several splits have in common."""

    kind: str  # ``clip``, ``recording``, ``episode``, ``device`` or ``file``
    what: str  # the id, the file, or the device that recorded at the same time
    clips: Mapping[str, tuple[str, ...]]  # clips that have it, by split


def find_shared(splits: Sequence[Split]) -> list[SharedData]:
    """Find what clips of different splits share according to their manifests.

    A file counts if the parts of it used by two clips overlap: presentation times, rows, or stated
    windows. So does a device (`_DEVICE`) if the windows of two clips overlap. What a more specific
    kind already covers is not repeated: clips before recordings, recordings before episodes, these
    before devices and files.
    """
    found: list[SharedData] = []
    reported: set[frozenset[tuple[str, str]]] = set()
    for kind, groups in _groups(splits):
        for what, members in groups.items():
            clips = {
                name: tuple(dict.fromkeys(clip_id for split, clip_id in members if split == name))
                for name in dict.fromkeys(split for split, _ in members)
            }
            key = frozenset(members)
            if len(clips) > 1 and key not in reported:
                reported.add(key)
                found.append(SharedData(kind=kind, what=what, clips=clips))
    return found


def _groups(
    splits: Sequence[Split],
) -> Iterator[tuple[str, Mapping[str, Sequence[tuple[str, str]]]]]:
    """Yield each kind with its members, as pairs of split and clip, by the shared item."""
    keyed: dict[str, dict[str, list[tuple[str, str]]]] = {
        kind: defaultdict(list) for kind in ("clip", "recording", "episode")
    }
    parts: dict[tuple[str, str], list[tuple[tuple[float, float], str, str]]] = defaultdict(list)
    times: dict[tuple[str, str], list[tuple[tuple[float, float], str, str]]] = defaultdict(list)
    for split in splits:
        for clip in split.clips:
            member = (split.name, clip.clip_id)
            keyed["clip"][clip.clip_id].append(member)
            keyed["recording"][clip.recording_id].append(member)
            if clip.origin is not None:
                episode = f"{clip.origin.dataset}, episode {clip.origin.episode_index}"
                keyed["episode"][episode].append(member)
            device = next((clip.about[key] for key in _DEVICE if key in clip.about), None)
            if device is not None and clip.start_ns is not None and clip.end_ns is not None:
                window = (float(clip.start_ns), float(clip.end_ns))
                times[f"{device} at one time", ""].append((window, *member))
            for kind, uri, part in _parts(clip):
                parts[uri, kind].append((part, *member))
    yield from keyed.items()
    yield "device", dict(_overlapping(times))
    yield "file", dict(_overlapping(parts))


def _parts(clip: Clip) -> Iterator[tuple[str, str, tuple[float, float]]]:
    """Yield (kind of part, file, part) for all data of a clip."""
    window = (
        clip.start_ns if clip.start_ns is not None else _ALL[0],
        clip.end_ns if clip.end_ns is not None else _ALL[1],
    )
    for spec in clip.sources.values():
        for key in _MEDIA:
            uri = getattr(spec, key, None)
            if not uri:
                continue
            ranges = [
                (name, found)
                for name in ("pts_ns", "picture_rows", "rows")
                if (found := getattr(spec, name, None)) is not None
                and (key == "timestamps") == (name == "rows" and spec.kind == "camera")
            ]
            kind, part = ranges[0] if ranges else ("time", window)
            yield kind, resolve(uri, clip.base_uri), (float(part[0]), float(part[1]))


def _overlapping(
    parts: Mapping[tuple[str, str], Sequence[tuple[tuple[float, float], str, str]]],
) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield files or devices with the clips of different splits whose parts overlap."""
    for (uri, _), used in parts.items():
        members: dict[tuple[str, str], None] = {}
        open_parts: list[tuple[float, str, str]] = []
        for (start, stop), split, clip_id in sorted(used):
            open_parts = [one for one in open_parts if one[0] > start]
            for _, other, other_clip in open_parts:
                if other != split:
                    members[other, other_clip] = members[split, clip_id] = None
            open_parts.append((stop, split, clip_id))
        if members:
            yield uri, list(members)


def leaked_clips(
    splits: Sequence[Split], shared: Iterable[SharedData], copies: Iterable[VideoPair]
) -> list[str]:
    """Return, in order, the clips of later splits that share something with an earlier one.

    The first split keeps all of its clips. A clip with the same id in both cannot be left out of
    only one, and is listed too.
    """
    place = {split.name: k for k, split in enumerate(splits)}
    found: dict[str, None] = {}
    for one in shared:
        first = min(one.clips, key=place.__getitem__)
        for name, clips in one.clips.items():
            if name != first:
                found.update(dict.fromkeys(clips))
    for copy in copies:
        _, clip_id = max(zip(copy.splits, copy.clips, strict=True), key=lambda p: place[p[0]])
        found[clip_id] = None
    return list(found)
