"""Defects of syncaudit itself that a run survived: ``errors.log``, for those who mend them."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from syncaudit import __version__
from syncaudit.writing import append_line

__all__ = ["log_defect"]


def log_defect(folder: Path, subject: str, trace: str) -> None:
    """Append a traceback to the log of a run; `subject` was worked on: ``clip a/7``."""
    stamp = datetime.now(UTC).isoformat(timespec="seconds")
    with suppress(OSError):  # a full disk: the verdict tells the error itself
        append_line(folder / "errors.log", f"{stamp} {subject}, syncaudit {__version__}\n{trace}\n")
