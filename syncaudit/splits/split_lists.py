"""Assign clips to splits."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from syncaudit.errors import UsageError, one_line
from syncaudit.model import Clip
from syncaudit.readers.uris import read_bytes

# Names of shards and folders of splits: train-000017.tar, val/drive3 ...
_SPLIT_NAME = re.compile(r"(train|training|val|valid|validation|dev|eval|test)(?=[-_./])", re.I)
_SHARD = re.compile(r"(.+?)-\d+-of-\d+\.parquet")


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """A part of a data set, with its name and clips, that must share nothing with the others."""

    name: str
    clips: Sequence[Clip]


def splits_by_lists(clips: Sequence[Clip], lists: Mapping[str, Collection[str]]) -> list[Split]:
    """Return the splits of one manifest that lists of clip ids define.

    UsageError if a list names clips that are not in the manifest.
    """
    by_id = {clip.clip_id: clip for clip in clips}
    found = []
    for name, wanted in lists.items():
        missing = sorted(set(wanted) - by_id.keys())
        if missing:
            raise UsageError(
                f"lists {len(missing)} clips that are not in the manifest, such as '{missing[0]}'",
                path=name,
                hint="Name the manifest of these clips.",
            )
        found.append(Split(name=name, clips=[by_id[clip_id] for clip_id in wanted]))
    return found


def splits_stated(clips: Sequence[Clip]) -> list[Split]:
    """Return the splits that a data set itself states.

    A LeRobot data set does so in ``meta/info.json``, by its episodes; others by the names of their
    shards and folders. UsageError if it states fewer than two.
    """
    places = {clip.origin.dataset for clip in clips if clip.origin is not None}
    if len(places) == 1 and all(clip.origin is not None for clip in clips):
        return _splits_of_lerobot(clips, f"{places.pop().rstrip('/')}/meta/info.json")
    found = _splits_by_names(clips)
    if len(found) < 2:
        raise UsageError(
            "one split was named, and it is not a data set with several of its own",
            hint="Name at least two splits, or shards or folders named train..., val..., test...",
        )
    return found


def _splits_by_names(clips: Iterable[Clip]) -> list[Split]:
    """Return the splits named by the shards or folders in clip ids; ignore other clips."""
    found: dict[str, list[Clip]] = defaultdict(list)
    for clip in clips:
        match = _SPLIT_NAME.match(clip.clip_id)
        if match is not None:
            found[match[1].lower()].append(clip)
    return [Split(name=name, clips=members) for name, members in found.items()]


def splits_of_hugging_face(folder: str) -> dict[str, list[str]]:
    """Return the clips of every split of a Hugging Face data set, by its column ``clip_id``.

    It is as on the Hub (``train-00000-of-00002.parquet``, in `folder` or in ``data/``), or as
    written by `DatasetDict.save_to_disk` (``train/data-00000-of-00001.arrow``). UsageError if it is
    not one, or has no such column.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    root = Path(folder)
    found: dict[str, list[str]] = defaultdict(list)
    try:
        for path in sorted((*root.glob("*.parquet"), *root.glob("data/*.parquet"))):
            match = _SHARD.fullmatch(path.name)
            if match is not None:
                found[match[1]] += pq.read_table(path, columns=["clip_id"])["clip_id"].to_pylist()
        for path in sorted(root.glob("*/*.arrow")):
            with pa.ipc.open_stream(path) as stream:
                found[path.parent.name] += stream.read_all()["clip_id"].to_pylist()
    except (OSError, KeyError, pa.ArrowException) as error:
        raise UsageError(
            f"its splits cannot be read by the column 'clip_id' ({one_line(error)})",
            path=folder,
            hint="Add that column, or name lists of clips instead.",
        ) from error
    if len(found) < 2:
        raise UsageError(
            f"holds {len(found)} split of a Hugging Face data set, expected two or more",
            path=folder,
            hint="Expected train-00000-of-00001.parquet ..., or what 'save_to_disk' writes.",
        )
    return {name: [str(clip_id) for clip_id in ids] for name, ids in found.items()}


def _splits_of_lerobot(clips: Sequence[Clip], path: str) -> list[Split]:
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
