"""Read what the user names: manifests, single clips, calibrations."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from syncaudit.errors import ManifestError, UsageError, nearest_name
from syncaudit.model import Clip

__all__ = ["cores", "load_calibration", "load_clips", "pick_clip"]

_MANIFEST_NAMES = ("manifest.jsonl", "manifest.parquet")


def cores() -> int:
    """Return the cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


def load_clips(manifest: str, *, limit: int | None = None) -> list[Clip]:
    """Return the clips of a manifest, or of the manifest in a folder; at most `limit`.

    Raises
    ------
    ManifestError
        If it breaks the contract or holds no clip.
    UsageError
        If a folder has no manifest.
    """
    from syncaudit.datasets import load_manifest

    if "://" not in manifest and Path(manifest).is_dir():
        found = [name for name in _MANIFEST_NAMES if (Path(manifest) / name).exists()]
        if not found:
            raise UsageError(
                f"{manifest} is a folder without a manifest",
                hint=f"Expected {' or '.join(_MANIFEST_NAMES)} in it, or name the file.",
            )
        manifest = str(Path(manifest) / found[0])
    clips = load_manifest(manifest, limit=limit)
    if not clips:
        raise ManifestError("the manifest holds no clip", path=manifest)
    return clips


def pick_clip(clips: Sequence[Clip], clip_id: str | None) -> Clip:
    """Return the clip called `clip_id`, or the only one.

    Raises
    ------
    UsageError
        If there is no such clip, or several and none was named.
    """
    if clip_id is None:
        if len(clips) == 1:
            return clips[0]
        names = ", ".join(clip.clip_id for clip in clips[:5])
        raise UsageError(
            f"the manifest holds {len(clips)} clips: {names}{', ...' if len(clips) > 5 else ''}",
            hint="Name one with --clip ID.",
        )
    for clip in clips:
        if clip.clip_id == clip_id:
            return clip
    raise UsageError(
        f"no clip '{clip_id}' in the manifest",
        hint=nearest_name(clip_id, [clip.clip_id for clip in clips[:1000]]),
    )


def load_calibration(path: Path | None) -> Mapping[str, Any] | None:
    """Return the content of a calibration file (formats, section 4).

    Raises
    ------
    UsageError
        If it cannot be read or is no calibration.
    """
    if path is None:
        return None
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(
            f"the calibration cannot be read: {error.strerror}", path=str(path)
        ) from error
    except ValueError as error:
        raise UsageError(f"the calibration is no JSON: {error}", path=str(path)) from error
    if not isinstance(content, dict) or not isinstance(content.get("sources"), dict):
        raise UsageError(
            "this is no calibration: it has no 'sources'",
            path=str(path),
            hint="Expected the output of 'syncaudit calibrate'.",
        )
    if content.get("version") != 1:
        raise UsageError(
            f"calibration version {content.get('version')!r} is unknown, expected 1",
            path=str(path),
        )
    return content
