"""Pool the clips of every recording once all of them are done."""

from __future__ import annotations

import hashlib
import json
import math
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from syncaudit import __version__
from syncaudit.batch.data_sets import DataSets
from syncaudit.batch.fingerprint import policy_half
from syncaudit.batch.json_encoding import json_line
from syncaudit.batch.ledger import Ledger
from syncaudit.batch.outputs import log_defect
from syncaudit.batch.task import row_result
from syncaudit.batch.verdict_lines import verdict_at
from syncaudit.formatting import MS_PER_H_PER_PPM
from syncaudit.model import Clip, ClockCourse, CommonOffsets
from syncaudit.policy import Policy
from syncaudit.writing import Signature, remove_ours, replace_text, replacing

if TYPE_CHECKING:
    from syncaudit.pipeline import Recording


def pool_recordings(
    clips: Sequence[Clip], ledger: Ledger, policy: Policy, data_sets: DataSets
) -> Iterator[dict[str, object]]:
    """Judge the clips of each recording together, update the ledger, and report the clocks.

    Yield the rows of ``recordings.jsonl``. This only affects measured recordings of at least two
    clips, and clips whose data set now attributes the fault differently than when they were
    judged. Repeating it gives the same result: clips are judged from their own measurements, never
    from pooled verdicts. A recording whose rows are unchanged since it was pooled is skipped.
    """
    pooled = RecordingCache(ledger.path.parent, policy)
    for members in _groups(clips):
        common = data_sets.common_of(clips[members[0]])
        if len(members) == 1 and not data_sets.is_stale(clips[members[0]]):
            continue
        lines = {k: line for k in members for line in ledger.lines([clips[k].clip_id])}

        def digest(lines: Mapping[int, str] = lines, common: CommonOffsets | None = common) -> str:
            return pooled.digest(((clips[k], line) for k, line in lines.items()), common)

        known = pooled.row(digest())
        if known is not None:
            yield known
            continue
        records = {
            k: record
            for k, line in lines.items()
            if (record := verdict_at(line).record) is not None
        }
        if len(records) < min(2, len(members)):
            continue
        from syncaudit.pipeline import pool_clips  # heavy, and most runs have no such recording

        try:
            recording = pool_clips(
                [clips[k] for k in records], list(records.values()), policy, common
            )
        except Exception:  # noqa: BLE001  # this recording's clips keep their verdicts
            name = clips[members[0]].recording_id
            log_defect(ledger.path.parent, f"recording {name}", traceback.format_exc())
            continue
        for k, verdict in zip(records, recording.verdicts, strict=True):
            entry = ledger.entry(verdict.clip_id)
            result = row_result(verdict, None if entry is None else entry.fingerprint)
            if result.line != lines[k]:
                ledger.append(verdict.clip_id, result.verdict, result.fingerprint, result.line)
                lines[k] = result.line
        if len(members) == 1:
            continue
        row = _recording_row(recording, [clips[k] for k in records])
        pooled.keep(digest(), row)
        yield row
    pooled.write()


def write_recordings(rows: Iterator[dict[str, object]], path: Path) -> list[dict[str, object]]:
    """Write ``recordings.jsonl`` and return its rows; without recordings there is no file."""
    kept = list(rows)
    if not kept:
        remove_ours(path, Signature.RECORDINGS)
        return kept
    replace_text(path, "".join(f"{json_line(row)}\n" for row in kept))
    return kept


def _groups(clips: Sequence[Clip]) -> list[list[int]]:
    """Return the positions of the clips of every recording, in order."""
    groups: dict[str, list[int]] = {}
    for k, clip in enumerate(clips):
        groups.setdefault(clip.recording_id, []).append(k)
    return [*groups.values()]


def _recording_row(recording: Recording, clips: Sequence[Clip]) -> dict[str, object]:
    sources: dict[str, set[str]] = {}
    for clip in clips:
        for name, clock in clip.clocks.items():
            sources.setdefault(clock, set()).add(name)
    verdicts = Counter(str(verdict.verdict) for verdict in recording.verdicts)
    return {
        "recording_id": recording.recording_id,
        "clips": len(recording.verdicts),
        **{name: verdicts[name] for name in ("pass", "reject", "unverified")},
        "reference": recording.reference,
        "clocks": {
            clock: {"sources": sorted(sources.get(clock, ())), **_course(course)}
            for clock, course in recording.clocks.items()
        },
    }


def _course(course: ClockCourse) -> Mapping[str, Any]:
    middle = course.at_ns.size // 2
    drift, std = course.drift_ppm, course.drift_std_ppm
    return {
        "at_ns": int(course.at_ns[middle]),
        "offset_s": float(course.offset_s[middle]),
        "offset_std_s": float(course.offset_std_s[middle]),
        "offset_first_s": float(course.offset_s[0]),
        "offset_last_s": float(course.offset_s[-1]),
        "span_s": float(course.at_ns[-1] - course.at_ns[0]) * 1e-9,
        "clips_measured": int(course.is_measured.sum()),
        "drift_ppm": drift,
        "drift_std_ppm": std,
        "drift_ms_per_h": None if drift is None else MS_PER_H_PER_PPM * drift,
        "drift_std_ms_per_h": None if std is None else MS_PER_H_PER_PPM * std,
        # One sigma of the random component after an hour.
        "wander_ms_per_root_h": 1e3 * course.wander_s * math.sqrt(3600.0),
        "steps": [asdict(step) for step in course.steps],
    }


class RecordingCache:
    """Rows of ``recordings.jsonl`` by a digest of everything that they were made from.

    It is stored in a hidden file among the outputs, so that the next run can reuse it.
    """

    def __init__(self, folder: Path, policy: Policy) -> None:
        self._path = folder / ".recordings.pooled"
        self._base = f"{__version__} {policy_half(policy)}".encode()
        self._known = _read(self._path)
        self._kept: dict[str, Mapping[str, Any]] = {}

    def digest(
        self, members: Iterable[tuple[Clip, str]], common: CommonOffsets | None = None
    ) -> str:
        """Return the digest of a recording: its clips, their rows as text, and its data set."""
        subject = hashlib.sha256(self._base)
        subject.update(repr(common).encode())
        for clip, line in members:
            subject.update(repr(clip).encode("utf-8", "surrogatepass"))
            subject.update(line.encode())
        return subject.hexdigest()

    def row(self, digest: str) -> dict[str, Any] | None:
        """Return the row of a recording that was pooled before, and keep it for the next run."""
        row = self._known.get(digest)
        if row is not None:
            self._kept[digest] = row
        return row

    def keep(self, digest: str, row: Mapping[str, Any]) -> None:
        """Remember a recording; `digest` is that of its rows after pooling."""
        self._kept[digest] = row

    def write(self) -> None:
        """Write the kept rows for the next run; if there are none, write no file."""
        if not self._kept:
            self._path.unlink(missing_ok=True)
            return
        with replacing(self._path) as file:
            for digest, row in self._kept.items():
                file.write(f"{json_line({'digest': digest, 'row': row})}\n".encode())


def _read(path: Path) -> dict[str, dict[str, Any]]:
    """Return the rows by digest; a damaged file only costs time."""
    try:
        lines = [json.loads(line) for line in path.read_bytes().splitlines()]
        return {str(line["digest"]): dict(line["row"]) for line in lines}
    except (OSError, ValueError, KeyError, TypeError):
        return {}
