"""Find clips that name the same data as another clip, as rows copied without changes do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from syncaudit.model import CameraSpec, Clip, SourceSpec
from syncaudit.readers.uris import resolve

# Number of clips listed in the summary; all are counted.
MAX_NAMED = 20
# Fields that determine which part of which files a source is; any others may differ.
_PARTS = (
    "kind",
    "stream",
    "rows",
    "picture_rows",
    "pts_ns",
    "stamps",
    "columns",
    "signals",
    "tier",
)
_FILES = ("uri", "timestamps")


def repeated_clips(clips: Sequence[Clip]) -> dict[str, Any] | None:
    """Return the clips that repeat the data of an earlier clip; None if there are none.

    A clip repeats another if one of its cameras has the same part of the same files in the same
    window, or if all of its sources do. Logs and sound shared by the clips of one recording are
    normal, and so is one file in several windows. Eight bytes per camera and clip are held.

    ``clips`` counts the clips that repeat another; ``first`` lists the first of them with
    ``clip_id``, ``same_as``, and ``source``, the camera (None: all sources).
    """
    owners: list[int] = []
    hashes: list[int] = []
    for index, clip in enumerate(clips):
        keys = _keys(clip)
        owners += [index] * len(keys)
        hashes += [hash(key) for key in keys]
    _, group, counts = np.unique(
        np.array(hashes, np.int64), return_inverse=True, return_counts=True
    )
    seen: dict[object, int] = {}
    repeats: dict[int, tuple[int, str | None]] = {}
    for index in np.unique(np.array(owners, np.int64)[counts[group] > 1]).tolist():
        for key, name in _keys(clips[index]).items():
            first = seen.setdefault(key, index)
            if first != index:
                repeats.setdefault(index, (first, name))
    if not repeats:
        return None
    named = list(repeats.items())[:MAX_NAMED]
    return {
        "clips": len(repeats),
        "first": [
            {"clip_id": clips[index].clip_id, "same_as": clips[first].clip_id, "source": name}
            for index, (first, name) in named
        ],
    }


def _keys(clip: Clip) -> Mapping[object, str | None]:
    """Return the keys that identify the data of a clip: one per camera, and one of all sources."""
    window = (clip.start_ns, clip.end_ns)
    parts = {name: _part(spec, clip.base_uri) for name, spec in clip.sources.items()}
    keys: dict[object, str | None] = {
        (window, parts[name]): name
        for name, spec in clip.sources.items()
        if isinstance(spec, CameraSpec)
    }
    if parts:
        keys.setdefault((window, *sorted(parts.values())), None)
    return keys


def _part(spec: SourceSpec, base_uri: str) -> str:
    files = [str(uri) and resolve(str(uri), base_uri) for uri in _values(spec, _FILES) if uri]
    text = getattr(spec, "text", None)
    return repr((files, text, _values(spec, _PARTS)))


def _values(spec: SourceSpec, names: Sequence[str]) -> list[object]:
    return [getattr(spec, name, None) for name in names]
