"""A person's decisions on clips: labels and nudges, beside the data and saved as they are given."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from syncaudit.errors import UsageError
from syncaudit.evaluation.labels import Label, LabelRow


class _JsonLog:
    """A file of JSON objects, one per line; each is on disk before `append` returns.

    A line left half written when the machine stopped is skipped, and the next one starts on a new
    line.

    The file `before` is read first and never written.
    """

    def __init__(self, path: Path, before: Path | None = None) -> None:
        self.path, self._before = path, before

    def append(self, row: Mapping[str, object]) -> None:
        """Write one row.

        UsageError if the file cannot be written.
        """
        data = (json.dumps(dict(row), ensure_ascii=False, allow_nan=False) + "\n").encode()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a+b") as file:
                end = file.seek(0, os.SEEK_END)
                if end:
                    file.seek(end - 1)
                    data = data if file.read(1) == b"\n" else b"\n" + data
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise UsageError(
                f"cannot be written: {error.strerror}",
                path=str(self.path),
                hint="Choose another file with --labels.",
            ) from error

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the complete rows in order; nothing if there is no file.

        UsageError if a file exists and cannot be read.
        """
        if self._before is not None:
            yield from _JsonLog(self._before).rows()
        try:
            with self.path.open("rb") as file:
                for line in file:
                    try:
                        row = json.loads(line)
                    except ValueError:
                        continue
                    if isinstance(row, dict):
                        yield row
        except FileNotFoundError:
            return
        except OSError as error:
            raise UsageError(f"cannot be read: {error.strerror}", path=str(self.path)) from error


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


class Labels:
    """The labels of a run; the last line of a clip counts."""

    def __init__(self, path: Path, before: Path | None = None) -> None:
        self._log = _JsonLog(path, before)
        self._rows: dict[str, LabelRow] = {}
        for row in self._log.rows():
            label = LabelRow.from_json(row)
            if label is not None:
                self._rows[label.clip_id] = label

    def give(
        self,
        clip_id: str,
        label: Label | None,
        *,
        note: str = "",
        is_blind: bool = False,
        verdict_shown: str | None = None,
    ) -> LabelRow:
        """Label a clip, saving to disk immediately.

        Parameters are those of `LabelRow`. UsageError if the file cannot be
        written; the label is then not given.
        """
        row = LabelRow(
            clip_id=clip_id,
            label=label,
            note=note,
            is_blind=is_blind,
            verdict_shown=None if is_blind else verdict_shown,
            time=_now(),
        )
        self._log.append(row.to_json())
        self._rows[clip_id] = row
        return row

    def of(self, clip_id: str) -> LabelRow | None:
        """Return the current label of a clip; None if there is none."""
        row = self._rows.get(clip_id)
        return None if row is None or row.label is None else row

    def note_of(self, clip_id: str) -> str:
        """Return the note on a clip, even if its label was withdrawn."""
        row = self._rows.get(clip_id)
        return "" if row is None else row.note

    def __len__(self) -> int:
        """Return the number of clips with a label."""
        return sum(row.label is not None for row in self._rows.values())


class Nudges:
    """Seconds that a person added to the correction of a source in a clip.

    Each change is a line ``{"clip_id", "source", "nudge_s", "time"}``; the last one counts.
    """

    def __init__(self, path: Path, before: Path | None = None) -> None:
        self._log = _JsonLog(path, before)
        self._nudges: dict[tuple[str, str], float] = {}
        for row in self._log.rows():
            nudge_s = row.get("nudge_s")
            if isinstance(nudge_s, int | float) and not isinstance(nudge_s, bool):
                self._nudges[str(row.get("clip_id")), str(row.get("source"))] = float(nudge_s)

    def of(self, clip_id: str, source: str) -> float:
        """Return the nudge of a source in seconds; 0 if there is none."""
        return self._nudges.get((clip_id, source), 0.0)

    def put(self, clip_id: str, source: str, nudge_s: float) -> None:
        """Set the nudge of a source, saving to disk immediately.

        UsageError if the file cannot be written.
        """
        nudge_s = round(nudge_s, 9)  # sums of milliseconds end in zero
        row = {"clip_id": clip_id, "source": source, "nudge_s": nudge_s, "time": _now()}
        self._log.append(row)
        self._nudges[clip_id, source] = nudge_s
