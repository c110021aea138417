"""Correct the clips of a manifest: write timestamps, the new manifest and a record of changes."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from syncaudit.datasets import clip_to_row, write_manifest
from syncaudit.errors import SyncAuditError
from syncaudit.model import (
    AudioSpec,
    CameraSpec,
    CanSpec,
    Clip,
    ClockMap,
    ImuSpec,
    SourceSpec,
    TranscriptSpec,
)
from syncaudit.model.units import STAMPS_KEY
from syncaudit.readers.columns import STAMPS
from syncaudit.readers.signals import read_arrivals
from syncaudit.writing import replacing_text
from syncaudit_calibration.apply.bus_logs import write_can
from syncaudit_calibration.apply.cameras import write_camera
from syncaudit_calibration.apply.corrections import SourceCorrection
from syncaudit_calibration.apply.load import Corrections
from syncaudit_calibration.apply.outcomes import ClipOutcome, SourceOutcome
from syncaudit_calibration.apply.sounds import start_of_sound, write_audio, write_transcript
from syncaudit_calibration.apply.tables import restamp_part, restamp_table
from syncaudit_calibration.apply.targets import MANIFEST, RECORD, check_target, file_names
from syncaudit_calibration.apply.task import Task, Written, parquet_bytes, put

# Number of corrected files to remember: clips that share a file are close in the manifest.
_REMEMBERED = 4096
# Clips may share a file: it is written once per distinct correction.
_Copies = dict[tuple[str, str], Written]


def apply_corrections(
    clips: Sequence[Clip],
    corrections: Corrections,
    out: Path,
    *,
    inputs: Sequence[str] = (),
    on_clip: Callable[[ClipOutcome], None] | None = None,
) -> None:
    """Write corrected timestamps, ``manifest.jsonl`` and ``corrections.jsonl`` into a folder.

    Nothing outside `out` is touched; a source that cannot be corrected keeps its timestamps.

    Parameters
    ----------
    clips : sequence of Clip
        Clips of a manifest, with distinct ids.
    corrections : Corrections
        From `load_corrections`.
    out : Path
        Folder to write; new, or that of an earlier run, which is then repeated.
    inputs : sequence of str
        Other files that must not be overwritten: manifest, calibration or verdicts.
    on_clip : callable, optional
        Called with the outcome of every clip when it is done.

    Raises
    ------
    UsageError
        If none of the clips can be corrected, or originals would be overwritten; nothing was
        written.
    """
    corrections.check({clip.clip_id: clip for clip in clips})
    folders = file_names([clip.clip_id for clip in clips], reserved=(MANIFEST, RECORD))
    check_target(out, clips, set(folders.values()), inputs)
    out.mkdir(parents=True, exist_ok=True)
    (out / RECORD).touch()  # marks the folder as ours even if the run is interrupted

    def rows(record: TextIO) -> Iterator[dict[str, Any]]:
        pairs = ((clip, corrections.of_clip(clip)) for clip in clips)
        for row, outcome in corrected_rows(pairs, out, folders):
            record.write(json.dumps(outcome.to_json(), ensure_ascii=False) + "\n")
            if on_clip is not None:
                on_clip(outcome)
            yield row

    with replacing_text(out / RECORD) as record:
        write_manifest(rows(record), out / MANIFEST)


def corrected_rows(
    clips: Iterable[tuple[Clip, Mapping[str, SourceCorrection]]],
    out: Path,
    folders: Mapping[str, str],
) -> Iterator[tuple[dict[str, Any], ClipOutcome]]:
    """Write the timestamps clip by clip; yield the manifest row and the outcome of each.

    `clips`: clips with the known corrections of their sources. `folders`: name of the folder in
    `out` for every clip id.
    """
    written: _Copies = {}
    for clip, known in clips:
        with tempfile.TemporaryDirectory(prefix="syncaudit-") as scratch:
            folder = out.absolute() / folders[clip.clip_id]
            done = _correct_clip(clip, known, folder, Path(scratch), written)
        yield done


def _correct_clip(
    clip: Clip, known: Mapping[str, SourceCorrection], folder: Path, scratch: Path, written: _Copies
) -> tuple[dict[str, Any], ClipOutcome]:
    row = clip_to_row(clip, relative_to=str(folder.parent))
    stems = file_names(clip.sources, plain="_-")
    done: dict[str, SourceOutcome] = {}
    # Audio comes before the transcripts whose times are relative to it.
    for name in sorted(clip.sources, key=lambda name: clip.sources[name].kind == "transcript"):
        spec = clip.sources[name]
        task = Task(
            name=name,
            spec=spec,
            base_uri=clip.base_uri,
            known=known[name],
            target=folder / stems[name],
            scratch=scratch,
        )
        outcome, result = _correct_source(task, clip, done, written)
        done[name] = outcome
        if result is not None:
            _point_at(row["sources"][name], result, folder.parent)
    return row, ClipOutcome(
        clip_id=clip.clip_id, sources={name: done[name] for name in clip.sources}
    )


def _correct_source(
    task: Task, clip: Clip, done: Mapping[str, SourceOutcome], written: _Copies
) -> tuple[SourceOutcome, Written | None]:
    spec, known = task.spec, task.known
    of_sound = done[spec.audio].correction if isinstance(spec, TranscriptSpec) else None
    why = _why_kept(spec, known, of_sound)
    if why is not None:
        return SourceOutcome(why=why, remarks=known.remarks), None
    try:
        key = (_spelled(task, clip), repr((known, of_sound)))
        if key not in written:
            if len(written) >= _REMEMBERED:
                del written[next(iter(written))]
            written[key] = _write_source(task, clip, of_sound)
            if spec.arrivals is not None:
                _write_message_times(task, spec.arrivals, written[key].correction)
        result = written[key]
    except SyncAuditError as error:
        return SourceOutcome(why=str(error), is_failure=True, remarks=known.remarks), None
    return SourceOutcome(correction=result.correction, remarks=result.remarks), result


def _write_source(task: Task, clip: Clip, of_sound: ClockMap | None) -> Written:
    spec = task.spec
    if isinstance(spec, CameraSpec):
        return write_camera(task, spec)
    if isinstance(spec, AudioSpec):
        return write_audio(task, spec)
    if isinstance(spec, TranscriptSpec):
        return write_transcript(task, spec, start_ns=_start_ns(spec, clip), of_sound=of_sound)
    if spec.stamps is not None or spec.rows is not None or STAMPS_KEY in spec.units:
        return restamp_part(task, spec)
    if isinstance(spec, CanSpec):
        return write_can(task, spec)
    column = spec.columns.get(STAMPS, STAMPS) if isinstance(spec, ImuSpec) else STAMPS
    return restamp_table(task, task.resolve(spec.uri), column=column)


def _write_message_times(task: Task, arrivals: str, correction: ClockMap) -> None:
    """Write ``<source>.times.parquet``: one row per message of a bag, keyed by its log time.

    Columns: ``receive_ns`` (the log time of the bag), ``timestamp_ns`` (as in the header) and
    ``corrected_ns``, in the order of the bag. `arrivals`: table of both times from the manifest.
    """
    import pyarrow as pa

    found = read_arrivals(arrivals, task.base_uri)
    columns = {
        "receive_ns": found.receive_ns,
        STAMPS: found.capture_ns,
        "corrected_ns": correction.apply(found.capture_ns),
    }
    put(task.beside(".times.parquet"), parquet_bytes(pa.table(columns)))


def _why_kept(spec: SourceSpec, known: SourceCorrection, of_sound: ClockMap | None) -> str | None:
    """Return why a source stays unchanged, or None if there is something to correct."""
    if isinstance(spec, TranscriptSpec):
        follows = f"its times count from {spec.audio}"
        if known.correction is None:
            return follows if of_sound is not None else known.why
        if known.correction == of_sound:
            return f"{follows}, which was corrected in the same way"
        if of_sound is not None:
            return None
    if known.correction is None:
        return known.why or "it has no known correction"
    if known.correction.is_nothing:
        return known.why or "its correction is zero"
    return None


def _start_ns(spec: TranscriptSpec, clip: Clip) -> int:
    sound = clip.sources[spec.audio]
    return start_of_sound(sound, clip.base_uri) if isinstance(sound, AudioSpec) else 0


def _spelled(task: Task, clip: Clip) -> str:
    """Return a key of everything that affects a source's output, except the correction."""
    alone = Clip(clip_id="", recording_id="", sources={"": task.spec}, base_uri=task.base_uri)
    text = json.dumps(clip_to_row(alone, relative_to="/"), sort_keys=True)
    if isinstance(task.spec, TranscriptSpec):
        text += f" {_start_ns(task.spec, clip)}"
    return text


def _point_at(row: dict[str, Any], result: Written, out: Path) -> None:
    """Change the manifest row of a source so that it names the written files."""
    row.pop("arrivals", None)  # they refer to the original timestamps
    for key, value in result.fields.items():
        if value is None:
            row.pop(key, None)
        else:
            row[key] = value
    for key, path in result.files.items():
        row[key] = path.relative_to(out).as_posix()
