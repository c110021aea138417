"""Offsets set by hand, stored beside the data and never in them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from syncaudit_gui.viewmodel.json_log import JsonLog

__all__ = ["Nudges"]


class Nudges:
    """Seconds that a person added to the correction of a source in a clip.

    Each change is a line ``{"clip_id", "source", "nudge_s", "time"}``; the last one counts.
    """

    def __init__(self, path: Path, before: Path | None = None) -> None:
        self._log = JsonLog(path, before)
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

        Raises
        ------
        UsageError
            If the file cannot be written.
        """
        nudge_s = round(nudge_s, 9)  # sums of milliseconds end in zero
        time = datetime.now(UTC).isoformat(timespec="milliseconds")
        row = {"clip_id": clip_id, "source": source, "nudge_s": nudge_s, "time": time}
        self._log.append(row)
        self._nudges[clip_id, source] = nudge_s
