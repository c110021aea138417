"""Which clips belong to which split."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from syncaudit.errors import UsageError
from syncaudit.model import Clip
from syncaudit.readers.uris import read_bytes

__all__ = ["Split", "splits_by_lists", "splits_of_lerobot"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """A part of a data set that must share nothing with the others: its name and its clips."""

    name: str
    clips: Sequence[Clip]


def splits_by_lists(clips: Sequence[Clip], lists: Mapping[str, Collection[str]]) -> list[Split]:
    """Return the splits that lists of clip ids make of one manifest.

    Raises
    ------
    UsageError
        If a list names clips that the manifest does not hold.
    """
    by_id = {clip.clip_id: clip for clip in clips}
    found = []
    for name, wanted in lists.items():
        missing = sorted(set(wanted) - by_id.keys())
        if missing:
            raise UsageError(
                f"lists {len(missing)} clips that the manifest does not hold, such as "
                f"'{missing[0]}'",
                path=name,
                hint="Name the manifest that these clips are from.",
            )
        found.append(Split(name=name, clips=[by_id[clip_id] for clip_id in wanted]))
    return found


def splits_of_lerobot(clips: Sequence[Clip]) -> list[Split]:
    """Return the splits that a LeRobot data set states in ``meta/info.json``, by its episodes.

    Raises
    ------
    UsageError
        If the clips are of no LeRobot data set, or of several, or it states fewer than two splits.
    """
    places = {clip.origin.dataset for clip in clips if clip.origin is not None}
    if len(places) != 1 or any(clip.origin is None for clip in clips):
        raise UsageError(
            "one split was named, and it is no LeRobot data set that states several itself",
            hint="Name two splits or more.",
        )
    path = f"{places.pop().rstrip('/')}/meta/info.json"
    stated = json.loads(read_bytes(path)).get("splits", {})
    ranges = {name: _episodes(name, text, path) for name, text in stated.items()}
    if len(ranges) < 2:
        raise UsageError(
            f"states {len(ranges)} split ({', '.join(ranges) or 'none'}), expected two or more",
            path=path,
            hint="Name two splits: manifests, or lists of clips with --manifest.",
        )
    return [
        Split(
            name=name,
            clips=[c for c in clips if c.origin is not None and c.origin.episode_index in episodes],
        )
        for name, episodes in ranges.items()
    ]


def _episodes(name: str, text: object, path: str) -> range:
    first, colon, stop = str(text).partition(":")
    if not (colon and first.isdecimal() and stop.isdecimal()):
        raise UsageError(f"split '{name}' is '{text}', expected episodes as FIRST:STOP", path=path)
    return range(int(first), int(stop))
