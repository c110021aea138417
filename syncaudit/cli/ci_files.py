"""Write what CI servers read of a run."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import TYPE_CHECKING

from syncaudit import __version__
from syncaudit.errors import UsageError

if TYPE_CHECKING:
    from syncaudit.batch import BatchSummary

__all__ = ["write_for_ci"]


def write_for_ci(
    summary: BatchSummary, manifest: str, *, junit: Path | None, sarif: Path | None
) -> None:
    """Write the files that were asked for.

    Raises
    ------
    UsageError
        If one cannot be written.
    """
    from syncaudit.report import write_junit, write_sarif

    try:
        for path in (junit, sarif):
            if path is not None:
                if path.is_dir():
                    raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
                path.parent.mkdir(parents=True, exist_ok=True)
        if junit is not None:
            write_junit(summary.rows(), summary.counts, junit)
        if sarif is not None:
            write_sarif(summary.rows(), sarif, version=__version__, manifest=manifest)
    except (FileExistsError, NotADirectoryError, PermissionError, IsADirectoryError) as error:
        raise UsageError(
            f"cannot be written: {error.strerror}",
            path=str(error.filename),
            hint="Name another file. The verdicts are written.",
        ) from error
