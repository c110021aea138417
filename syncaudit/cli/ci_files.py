"""Write what CI servers read of a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from syncaudit import __version__

if TYPE_CHECKING:
    from syncaudit.batch import BatchSummary

__all__ = ["check_for_ci", "write_for_ci"]


def check_for_ci(*, junit: Path | None, sarif: Path | None, force: bool) -> None:
    """Refuse, before anything is audited, files that syncaudit may not write.

    Raises
    ------
    UsageError
        If one cannot be written, or is not of the kind that is to be written.
    """
    from syncaudit.writing import Signature, check_target

    for path, signature in ((junit, Signature.JUNIT), (sarif, Signature.SARIF)):
        if path is not None:
            check_target(path, signature, is_forced=force)


def write_for_ci(
    summary: BatchSummary, manifest: str, *, junit: Path | None, sarif: Path | None, force: bool
) -> None:
    """Write the files that were asked for.

    Raises
    ------
    UsageError
        As `check_for_ci`: the run itself may have written there since.
    """
    from syncaudit.report import write_junit, write_sarif

    check_for_ci(junit=junit, sarif=sarif, force=force)
    if junit is not None:
        write_junit(summary.rows(), summary.counts, junit)
    if sarif is not None:
        write_sarif(summary.rows(), sarif, version=__version__, manifest=manifest)
