"""Plain folders: every sub-folder is a clip, and the names tell what its files are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from syncaudit.datasets.formats.protocol import Import
from syncaudit.datasets.formats.starts import assume_start
from syncaudit.datasets.manifest import clip_from_row
from syncaudit.datasets.naming import DEFAULT_RULES, NamingRule, name_sources, parse_rules
from syncaudit.datasets.signal_names import names_in_dbc, roles_of
from syncaudit.datasets.source import Source
from syncaudit.datasets.starter_rules import columns_of
from syncaudit.errors import ManifestError
from syncaudit.model import Clip

__all__ = ["FolderFormat"]

_PROBED = 20
_MOVED = ("uri", "timestamps", "dbc")


class FolderFormat:
    """One clip a sub-folder, or the folder itself as one clip if it has none that fits."""

    name = "folder"
    summary = "sub-folders with cam_*.mp4, imu*.csv, can*.log, mic*.wav ... by naming rules"
    takes_rules = True

    def probe(self, source: Source) -> str | None:
        """Accept a folder in which the default rules find anything."""
        if source.file is not None:
            return "a single file, expected a folder"
        for folder in ("", *source.folders()[:_PROBED]):
            if name_sources(_names(source, folder), DEFAULT_RULES).sources:
                return None
        return "no sub-folder holds a file whose name is known (cam_*.mp4, imu*.csv, mic*.wav ...)"

    def clips(self, source: Source, job: Import) -> Iterator[Clip]:
        """Yield one clip a folder that holds a source; say what was taken for what."""
        rules = parse_rules(job.rules)
        n_clips = 0
        for folder in source.folders():
            clip = _clip(source, folder, rules, job)
            if clip is not None:
                n_clips += 1
                yield clip
        if not n_clips:
            clip = _clip(source, "", rules, job)
            if clip is not None:
                yield clip


def _names(source: Source, folder: str) -> list[str]:
    cut = len(folder) + 1 if folder else 0
    names = [name[cut:] for name in source.files(folder=folder)]
    names += [f"{name[cut:]}/" for name in source.folders(folder)]
    return names + [f"../{name}" for name in source.files("*.dbc")] if folder else names


def _clip(source: Source, folder: str, rules: Sequence[NamingRule], job: Import) -> Clip | None:
    found = name_sources(_names(source, folder), rules)
    for name in found.ignored:
        job.note(f"ignored {_kind_of(name)}: no rule takes it")
    if not found.sources:
        if folder:
            job.note("ignored a folder in which no rule takes anything")
        return None
    rows: dict[str, dict[str, Any]] = {}
    for title, spec in found.sources.items():
        row = dict(spec)
        for key in _MOVED:
            if key in row:
                row[key] = _beside(folder, row[key])
        if row["kind"] == "can" and "signals" not in row:
            row["signals"] = _signals(source, row)
            if not row["signals"]:
                job.note(
                    f"ignored {title}: no signal is known by its name; name them in a rule "
                    "(signals = {yaw_rate = 'YourSignal'})"
                )
                continue
            for role, name in row["signals"].items():
                job.note(f"signal {name} -> {role}")
        job.note(f"{' '.join(found.rules[title].match)} -> {row['kind']}")
        rows[title] = row
    if not rows:
        return None
    is_dated = any(_is_dated(row) for row in rows.values())
    if not is_dated:
        assume_start(rows, 0, job)
        job.undated.add(folder, [row["uri"] for row in found.sources.values()], found.ignored)
    clip_id = folder or source.base_uri.rstrip("/").rpartition("/")[2]
    return clip_from_row(
        {"clip_id": clip_id, "sources": rows}, base_uri=source.base_uri, where=f"folder {folder}"
    )


def _signals(source: Source, row: Mapping[str, Any]) -> dict[str, str]:
    """Return role to signal by the names in the DBC, or by the header of a table."""
    if "dbc" not in row:
        return roles_of(columns_of(source, row["uri"]))
    try:
        return roles_of(names_in_dbc(source.read(row["dbc"])))
    except (ManifestError, OSError, ValueError):
        return {}


def _is_dated(row: Mapping[str, Any]) -> bool:
    if row["kind"] in ("camera", "audio"):
        return "timestamps" in row or "start_ns" in row
    return str(row["kind"]) != "transcript"


def _beside(folder: str, name: str) -> str:
    if name.startswith("../"):
        return name[3:]
    return f"{folder}/{name}" if folder else name


def _kind_of(name: str) -> str:
    """Return what people call files like this, so that a note counts them together."""
    if name.endswith("/"):
        return "a folder"
    suffix = name.rpartition(".")[2]
    return f"*.{suffix}" if suffix != name else "files without a suffix"
