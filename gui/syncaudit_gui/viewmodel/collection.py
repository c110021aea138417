"""The opened collection: a manifest, the output folder of a run, or both."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from syncaudit.batch.outputs import SPLIT_FILES
from syncaudit.cli.inputs import import_if_needed, load_clips
from syncaudit.datasets import ClipTable, iter_manifest
from syncaudit.errors import UsageError
from syncaudit.model import Clip
from syncaudit.readers.runs import finished_run
from syncaudit_gui.viewmodel.batch import ClipRow, ignore_progress, read_verdict_rows

VERDICTS = "verdicts.jsonl"
SUMMARY = "summary.json"
# Clips between two progress messages.
_TOLD_CLIPS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    """Clips to look at."""

    name: str  # name for the title
    clips: Sequence[Clip]  # in any order
    places: Mapping[str, int]  # position of each clip
    rows: Sequence[ClipRow]  # lines of the list
    verdicts: Path | None  # ``verdicts.jsonl`` that the rows were read from
    labels_path: Path  # where labels and nudges are saved
    nudges_path: Path
    # Whether that is the user's own folder, because the opened location is not writable.
    is_apart: bool = False
    labels_before: Path | None = None  # read-only files at the opened location that are read first
    nudges_before: Path | None = None
    # Offset tolerance of each source in the run; empty without a finished run.
    limits_s: Mapping[str, float] = field(default_factory=dict)

    def clip(self, clip_id: str) -> Clip | None:
        """Return a clip; None if there is only a verdict."""
        place = self.places.get(clip_id)
        return None if place is None else self.clips[place]

    def verdict_row(self, row: ClipRow) -> dict[str, Any] | None:
        """Return the full verdict row of a clip; None if there is none."""
        if self.verdicts is None or row.place is None:
            return None
        start, length = row.place
        try:
            with self.verdicts.open("rb") as file:
                file.seek(start)
                content = json.loads(file.read(length))
        except (OSError, ValueError):
            return None
        return content if isinstance(content, dict) else None


NOTHING = Collection(
    name="",
    clips=(),
    places={},
    rows=(),
    verdicts=None,
    labels_path=Path(os.devnull),
    nudges_path=Path(os.devnull),
)
"""What is open before anything is opened."""


def open_collection(
    source: str,
    *,
    rules: Mapping[str, Any] | None = None,
    verdicts: Path | None = None,
    labels: Path | None = None,
    on_progress: Callable[[str], None] = ignore_progress,
) -> Collection:
    """Open a manifest, a data set or the output folder of `syncaudit validate`.

    `source` may also be the ``verdicts.jsonl`` of an output folder; `verdicts` is an output folder
    whose verdicts belong to the manifest. Labels are kept beside the opened location by default, or
    in the user's own folder if that is not writable. `rules` are as for `import_dataset`.
    UsageError, ManifestError if it is none of these, or broken.
    """
    folder = None if "://" in source else _run_folder(Path(source))
    if folder is not None and not rules:
        clips: Sequence[Clip] = ClipTable(_counted(_clips_of(folder), on_progress))
        verdict_file: Path | None = folder / VERDICTS
    else:
        clips = _load(source, rules)
        verdict_file = None if verdicts is None else _verdict_file(verdicts)
    places = {clip.clip_id: k for k, clip in enumerate(clips)}
    rows = [ClipRow(clip_id=name) for name in places]
    if verdict_file is not None:
        judged = {row.clip_id: row for row in read_verdict_rows(verdict_file, on_progress)}
        rows = [judged.pop(row.clip_id, row) for row in rows]
        if folder is not None:
            rows = sorted((*rows, *judged.values()), key=lambda row: row.place or (0, 0))
    home, stem, is_apart = _home(source)
    beside = _beside_path(Path(source).resolve()) if is_apart and "://" not in source else None
    if labels is not None:
        beside = None
    labels_path = labels or home / f"{stem}labels.jsonl"
    nudges_path = (
        labels.with_name(f"{labels.stem}.nudges.jsonl") if labels else home / f"{stem}nudges.jsonl"
    )
    return Collection(
        name=_named(source, verdict_file),
        clips=clips,
        places=places,
        rows=rows,
        verdicts=verdict_file,
        labels_path=labels_path,
        nudges_path=nudges_path,
        is_apart=is_apart and labels is None,
        labels_before=beside and beside[0] / f"{beside[1]}labels.jsonl",
        nudges_before=beside and beside[0] / f"{beside[1]}nudges.jsonl",
        limits_s={} if verdict_file is None else _limits(verdict_file.with_name(SUMMARY)),
    )


def _load(source: str, rules: Mapping[str, Any] | None) -> Sequence[Clip]:
    """Return the clips of a manifest, or of a data set of any format that `validate` takes.

    The manifest of a data set is kept in the user's own folder: its URIs are relative to that.
    """
    folder, mark = _own_home(source if "://" in source else str(Path(source).resolve()))
    manifest = import_if_needed(
        source,
        folder / mark,
        format_name=None,
        limit=None,
        rules=rules,
        is_quiet=True,
        force=True,
    )
    return load_clips(manifest)


def _limits(summary: Path) -> dict[str, float]:
    """Return the tolerances of a run; empty if its summary does not state them."""
    try:
        stated = json.loads(summary.read_bytes())["tolerances_s"]
        return {str(name): float(limit_s) for name, limit_s in stated.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}


def _named(source: str, verdict_file: Path | None) -> str:
    """Return the window title, which marks the verdicts of an unfinished run."""
    if verdict_file is None:
        return source
    try:
        finished_run(str(verdict_file))
    except UsageError:
        return f"{source} (run not finished)"
    return source


def _run_folder(path: Path) -> Path | None:
    if path.name == VERDICTS and path.is_file():
        return path.parent
    return path if (path / VERDICTS).is_file() else None


def _verdict_file(path: Path) -> Path:
    file = path / VERDICTS if path.is_dir() else path
    if not file.is_file():
        raise UsageError(
            "holds no verdicts.jsonl",
            path=str(path),
            hint="Expected the output folder of 'syncaudit validate'.",
        )
    return file


def _clips_of(folder: Path) -> Iterator[Clip]:
    for name in SPLIT_FILES.values():
        if (folder / name).is_file() and (folder / name).stat().st_size:
            yield from iter_manifest(str(folder / name))


def _counted(clips: Iterable[Clip], on_progress: Callable[[str], None]) -> Iterator[Clip]:
    """Pass clips through, reporting their number periodically."""
    for number, clip in enumerate(clips, start=1):
        if number % _TOLD_CLIPS == 0:
            on_progress(f"{number:,} clips".replace(",", " "))
        yield clip


def _home(source: str) -> tuple[Path, str, bool]:
    """Return the folder for side files, their name prefix, and whether it is the user's own.

    The user's own folder is used if the opened location is not writable.
    """
    if "://" not in source:
        path = Path(source).resolve()
        folder, stem = _beside_path(path)
        file = folder / f"{stem}labels.jsonl"
        if os.access(folder, os.W_OK) and (not file.exists() or os.access(file, os.W_OK)):
            return folder, stem, False
        source = str(path)
    folder, mark = _own_home(source)
    return folder, f"{mark}.", True


def _own_home(source: str) -> tuple[Path, str]:
    """Return the viewer's folder of the user, and the name prefix for a source."""
    data = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return Path(data) / "syncaudit" / "viewer", hashlib.sha256(source.encode()).hexdigest()[:12]


def _beside_path(path: Path) -> tuple[Path, str]:
    """Return the folder of side files beside a path, and their name prefix."""
    run = _run_folder(path)
    if run is not None:
        return run, ""
    return (path, "manifest.") if path.is_dir() else (path.parent, f"{path.stem}.")
