"""Write what CI servers read of a run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from syncaudit import __version__

if TYPE_CHECKING:
    from syncaudit.batch import BatchSummary

__all__ = ["CiFiles", "check_for_ci", "write_for_ci"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CiFiles:
    """Files that CI servers read, where they were asked for."""

    junit: Path | None
    sarif: Path | None
    markdown: Path | None


def check_for_ci(files: CiFiles, *, force: bool) -> None:
    """Refuse, before anything is audited, files that syncaudit may not write."""
    from syncaudit.writing import Signature, check_target

    for path, signature in (
        (files.junit, Signature.JUNIT),
        (files.sarif, Signature.SARIF),
        (files.markdown, Signature.MARKDOWN),
    ):
        if path is not None:
            check_target(path, signature, is_forced=force)


def write_for_ci(summary: BatchSummary, manifest: str, files: CiFiles, *, force: bool) -> None:
    """Write the files that were asked for, checked again: the run itself may have written there."""
    from syncaudit.report import write_junit, write_markdown, write_sarif

    check_for_ci(files, force=force)
    if files.junit is not None:
        write_junit(summary.verdicts(), summary.counts, files.junit)
    if files.sarif is not None:
        write_sarif(summary.verdicts(), files.sarif, version=__version__, manifest=manifest)
    if files.markdown is not None:
        causes, worst = summary.tally.causes.to_view(), summary.tally.worst.clips()
        write_markdown(summary.counts, causes, worst, files.markdown)
