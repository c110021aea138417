"""Read the user's inputs: manifests, single clips, calibrations."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from syncaudit.errors import ManifestError, UsageError, nearest_name
from syncaudit.model import Clip

# Python's TOML parser takes minutes for larger files made of dots only.
_MOST_RULES_BYTES = 1 << 16
_MANIFEST_NAMES = ("manifest.jsonl", "manifest.parquet")


def cores() -> int:
    """Return the number of cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not available on every system
        return os.cpu_count() or 1


def import_if_needed(
    source: str,
    out: Path | None,
    *,
    format_name: str | None,
    limit: int | None,
    rules: Mapping[str, Any] | None = None,
    memory_limit: str = "auto",
    is_quiet: bool = False,
    force: bool = False,
) -> str:
    """Return the manifest to judge: `source` itself, or one written into `out` for a data set.

    A data set needs a local folder `out` for its manifest. With a `format_name`, `source` is a data
    set; otherwise it may be a manifest or a folder with one, or else its format is probed.
    UsageError if it is neither, with the reason for every format.
    """
    if format_name is None and _is_manifest(source):
        if rules:
            raise UsageError(
                "this is a manifest, which takes no rules",
                path=source,
                hint="Leave --rules out, or name the data set.",
            )
        return source
    if out is None:
        raise UsageError(
            "the manifest of a data set is written into the output folder, which must be local",
            path=source,
            hint="Write it with 'syncaudit manifest' first, and validate that.",
        )
    from syncaudit.cli.console import stderr
    from syncaudit.cli.isolated_import import import_isolated
    from syncaudit.cli.progress import ImportView, print_import

    target = out / _MANIFEST_NAMES[0]
    with ImportView(stderr(), is_quiet=is_quiet) as view:
        imported = import_isolated(
            source,
            target,
            format_name=format_name or "auto",
            rules=rules,
            limit=limit,
            on_clip=view,
            force=force,
            memory_limit=memory_limit,
        )
    if not is_quiet:
        print_import(stderr(), imported, str(target))
    return str(target)


def _is_manifest(source: str) -> bool:
    """Return whether `source` is, or should have been, a manifest or a folder with one."""
    if source.lower().endswith((".jsonl", ".json", ".parquet", ".pq")):
        return True
    if "://" in source or not Path(source).exists():
        return False
    if Path(source).is_dir():
        return any((Path(source) / name).exists() for name in _MANIFEST_NAMES)
    with Path(source).open("rb") as file:
        head = file.read(64).removeprefix(b"\xef\xbb\xbf").lstrip()
    return head.startswith((b"PAR1", b"{"))


def load_rules(path: Path | None) -> Mapping[str, Any]:
    """Return the content of a rules file; {} if there is none."""
    if path is None:
        return {}
    try:
        if path.stat().st_size > _MOST_RULES_BYTES:
            raise UsageError(
                f"the rules file has {path.stat().st_size} bytes, expected {_MOST_RULES_BYTES} "
                "at most",
                path=str(path),
                hint="Name the file of rules, not that of a data set.",
            )
        text = path.read_text(encoding="utf-8")
        content = json.loads(text) if path.suffix.lower() == ".json" else tomllib.loads(text)
    except OSError as error:
        raise UsageError(
            f"the rules cannot be read: {error.strerror}",
            path=str(path),
            hint="Name a TOML or JSON file, see docs/datasets.md.",
        ) from error
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"the rules are not valid TOML: {error}", path=str(path), hint="JSON must end in .json."
        ) from error
    if not isinstance(content, dict):
        raise UsageError(
            "the rules are not an object", path=str(path), hint="Expected 'source': [...]"
        )
    return content


def load_clips(manifest: str, *, limit: int | None = None) -> Sequence[Clip]:
    """Return the clips of a manifest, or of the manifest in a folder; at most `limit`.

    UsageError also if they are the passed clips of an unfinished run.
    """
    from syncaudit.datasets import ClipTable, iter_manifest

    if "://" not in manifest and Path(manifest).is_dir():
        found = [name for name in _MANIFEST_NAMES if (Path(manifest) / name).exists()]
        if not found:
            raise UsageError(
                f"{manifest} is a folder without a manifest",
                hint=f"Expected {' or '.join(_MANIFEST_NAMES)} in it, or name the file.",
            )
        manifest = str(Path(manifest) / found[0])
    _refuse_outdated_passes(manifest)
    clips = ClipTable(islice(iter_manifest(manifest), limit))
    if not clips:
        raise ManifestError("the manifest holds no clip", path=manifest)
    return clips


def _refuse_outdated_passes(manifest: str) -> None:
    """Refuse passed clips of a run that a later, unfinished run has put in question."""
    path = Path(manifest)
    if "://" in manifest or path.name != "passed.jsonl":
        return
    from syncaudit.batch.summary import read_summary

    if read_summary(path.parent).get("complete") is False:  # no summary: any file of that name
        raise UsageError(
            "the run that wrote this folder was not finished: the file may list clips that no "
            "longer pass",
            path=manifest,
            hint="Run the same 'syncaudit validate' again, or copy the file to use it as it is.",
        )


def parse_shard(text: str) -> tuple[int, int]:
    """Parse ``3/8`` into (number, count)."""
    number, _, count = text.partition("/")
    if not (number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count)):
        raise UsageError(
            f"--shard is '{text}', expected I/N with I from 1 to N", hint="For example 3/8."
        )
    return int(number), int(count)


def pick_clip(clips: Sequence[Clip], clip_id: str | None) -> Clip:
    """Return the clip named `clip_id`, or the only one."""
    if clip_id is None:
        if len(clips) == 1:
            return clips[0]
        names = ", ".join(clip.clip_id for clip in clips[:5])
        more = f" and {len(clips) - 5} more" if len(clips) > 5 else ""
        raise UsageError(
            f"the manifest holds {len(clips)} clips: {names}{more}",
            hint="Name one with --clip ID.",
        )
    for clip in clips:
        if clip.clip_id == clip_id:
            return clip
    raise UsageError(
        f"no clip '{clip_id}' in the manifest",
        hint=nearest_name(clip_id, [clip.clip_id for clip in clips[:1000]]),
    )


_EXPECTED_CALIBRATION = "Expected the output of 'syncaudit calibrate'."


def load_calibration(path: Path | None) -> Mapping[str, Any] | None:
    """Return the content of a calibration file (formats, section 4)."""
    if path is None:
        return None
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(
            f"the calibration cannot be read: {error.strerror}",
            path=str(path),
            hint=_EXPECTED_CALIBRATION,
        ) from error
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"the calibration is not valid JSON: {error}",
            path=str(path),
            hint=_EXPECTED_CALIBRATION,
        ) from error
    if not isinstance(content, dict) or not isinstance(content.get("sources"), dict):
        raise UsageError(
            "this is not a calibration: it has no 'sources'",
            path=str(path),
            hint=_EXPECTED_CALIBRATION,
        )
    if content.get("version") != 1:
        raise UsageError(
            f"calibration version {str(content.get('version'))[:20]} is unknown, expected 1",
            path=str(path),
            hint="Write 'version': 1 if it follows docs/manifest.md, or calibrate again.",
        )
    from syncaudit.pipeline.known_corrections import check_calibration  # heavy

    try:
        check_calibration(content)
    except UsageError as error:
        error.path = str(path)
        raise
    return content


def refuse_idle(
    calibration: Mapping[str, Any] | None, clips: Iterable[Clip], path: Path | None
) -> None:
    """Refuse a calibration that names no source of any clip, since it would have no effect."""
    if calibration is None:
        return
    known = calibration["sources"].keys()
    first: Clip | None = None
    for clip in clips:
        first = first or clip
        if known & {*clip.sources, *clip.clocks.values()}:
            return
    raise UsageError(
        f"the calibration is for {', '.join(sorted(known)[:5]) or 'no source'}, but no clip has "
        "any of these sources",
        path=None if path is None else str(path),
        hint=f"The first clip has {', '.join(sorted(first.sources)[:5])}." if first else None,
    )
