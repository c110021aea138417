"""Find clips that name the same data as another clip: a row that was copied and not changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from syncaudit.model import CameraSpec, Clip, SourceSpec
from syncaudit.readers.uris import resolve

__all__ = ["MAX_NAMED", "repeated_clips"]

# Clips that the summary names; all are counted.
MAX_NAMED = 20
# What says which part of which files a source is; all else may differ and the data be the same.
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
    """Return which clips show what an earlier clip shows; None if there are none.

    A clip repeats another if a camera of it has the same part of the same files in the same window,
    or if all of its sources do. Logs and sound that clips of one recording share are usual, and so
    is one file in several windows. Eight bytes for each camera and clip are held.

    ``clips`` is how many repeat another, and ``first`` has of the first of them ``clip_id``,
    ``same_as``, and ``source``, the camera (None: all sources).
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
    """Return what tells the data of a clip: of each camera, and of all sources."""
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
