"""Import a data set: select the format and write the manifest, without changing the source."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from syncaudit.datasets.formats import DatasetFormat, Import, all_formats, get_format
from syncaudit.datasets.protocol import Sidecars
from syncaudit.datasets.rows import clip_to_row, write_manifest
from syncaudit.datasets.source import Source, is_inside
from syncaudit.datasets.starter_rules import TABLES, starter_rules
from syncaudit.errors import ManifestError, UsageError
from syncaudit.model import Clip, SourceKind
from syncaudit.readers.uris import FILE_KEYS
from syncaudit.writing import check_target, note_written, refuse_strange_folder

AUTO = "auto"
_MOST_NAMED = 20
_MARKER = ".syncaudit-import"


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """Result of an import."""

    format: str
    n_clips: int  # rows of the manifest
    notes: Counter[str]  # how files were interpreted, and what was ignored, with counts


def pick_format(source: Source, name: str = AUTO) -> DatasetFormat:
    """Return the format `name`, or with ``auto`` the first that accepts the source.

    UsageError if none accepts it, with the reason of each.
    """
    if name != AUTO:
        return get_format(name)
    reasons: dict[str, str] = {}
    for each in all_formats().values():
        reason = each.probe(source)
        if reason is None:
            return each
        reasons[each.name] = reason
    # First the formats that found a file of theirs, but could not take it.
    likely = sorted(reasons, key=lambda name: reasons[name].startswith("no "))
    listed = "\n".join(f"  {name}: {reasons[name]}" for name in likely)
    what = "a folder without a manifest" if source.file is None else "not a manifest"
    raise UsageError(
        f"{source.uri} is {what}, and not a data set of a known format:\n{listed}",
        hint="\nWrite its manifest (docs/manifest.md), or make the folder look like one of these.",
    )


def import_dataset(
    uri: str,
    out: Path,
    *,
    format_name: str = AUTO,
    rules: Mapping[str, Any] | None = None,
    limit: int | None = None,
    on_clip: Callable[[int], None] | None = None,
    force: bool = False,
) -> Imported:
    """Write the manifest of a data set, and beside it the tables that had to be converted.

    The data set (a folder or file, local or any fsspec URL) is never written to. `format_name` may
    be ``auto``; `rules` are for the formats that take them; `on_clip` is called with the number of
    clips so far. `force` also overwrites a manifest that syncaudit did not write, or that was
    edited since.

    UsageError if no format accepts the source, the manifest would lie inside it, or would
    overwrite a file that syncaudit did not write. ManifestError if the data set is broken, holds
    no clip, or two with the same name.
    """
    source = Source(uri)
    found = pick_format(source, format_name)
    if format_name != AUTO and (reason := found.probe(source)) is not None:
        raise ManifestError(f"this is not a {found.name} data set: {reason}", path=uri)
    if rules and not found.takes_rules:
        raise UsageError(f"the format {found.name} takes no rules", hint="Leave --rules out.")
    if source.file is None and is_inside(out, source.base_uri):
        raise UsageError(
            "the manifest would be inside the data set, which is never written to",
            path=str(out),
            hint="Name a file in another folder with --out.",
        )
    check_target(out, is_forced=force)
    folder = out.with_name(f"{out.stem}_files")
    refuse_strange_folder(folder, _MARKER, is_forced=force)
    job = Import(sidecars=Sidecars(folder, marker=_MARKER), rules=rules or {})
    n_clips = 0
    names: set[str] = set()

    def rows() -> Iterator[dict[str, Any]]:
        nonlocal n_clips
        for clip in islice(found.clips(source, job), limit):
            n_clips += 1
            if clip.clip_id in names:
                raise ManifestError(
                    f"the {found.name} data set holds two clips called '{clip.clip_id}'",
                    path=uri,
                    hint="Was a part of it copied twice?",
                )
            names.add(clip.clip_id)
            if on_clip is not None:
                on_clip(n_clips)
            yield _row(clip, out.parent, job.sidecars)
        if not rules:
            _refuse_undated(source, job, n_clips)
        if not n_clips:
            raise ManifestError(
                f"the {found.name} data set holds no clip", path=uri, hint="Is it complete?"
            )

    write_manifest(rows(), out)
    note_written(out)
    return Imported(format=found.name, n_clips=n_clips, notes=job.notes)


def _refuse_undated(source: Source, job: Import, n_clips: int) -> None:
    """Refuse a data set without timestamps if tables that may hold them were ignored."""
    undated = job.undated
    tables = [name for name in undated.ignored if name.endswith(TABLES)]
    if not tables or undated.n_clips < n_clips:
        return
    listed = ", ".join(tables[:_MOST_NAMED])
    more = f" and {len(tables) - _MOST_NAMED} more" if len(tables) > _MOST_NAMED else ""
    own = [name.removeprefix(f"{undated.folder}/") for name in undated.sources]
    raise UsageError(
        f"no source has times, and no rule matches {listed}{more}",
        path=source.uri_of(undated.folder) if undated.folder else source.uri,
        hint="Describe the files: save these rules as rules.toml, correct them (kinds: "
        f"{', '.join(SourceKind)}; docs/datasets.md) and add --rules rules.toml. Rules that leave "
        "the tables out let the import go on, and nothing pass.\n\n"
        + starter_rules(source, undated.folder, own, tables[:_MOST_NAMED]),
    )


def _row(clip: Clip, folder: Path, sidecars: Sidecars) -> dict[str, Any]:
    """Return a clip's row with URIs relative to the manifest's folder."""
    row = clip_to_row(clip, relative_to=str(folder.absolute()))
    home = f"{sidecars.folder}{os.sep}"
    for spec in row["sources"].values():
        for key in FILE_KEYS:
            if str(spec.get(key, "")).startswith(home):
                spec[key] = f"{sidecars.folder.name}/{Path(spec[key]).relative_to(home).as_posix()}"
    return row
