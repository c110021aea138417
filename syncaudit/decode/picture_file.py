"""Read one encoded picture from a file: neither a pipe nor more than a picture can hold."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from syncaudit.errors import one_line
from syncaudit.limits import PICTURE_BYTES, PICTURE_PIXELS

__all__ = ["picture_bytes", "picture_error"]


def picture_bytes(path: str) -> bytes:
    """Return what a file holds.

    OSError where it cannot be read, is no regular file (a pipe or device may never end), or too
    large.
    """
    status = os.stat(path)  # noqa: PTH116  # for every picture of every clip
    if not stat.S_ISREG(status.st_mode):
        raise OSError("is no regular file")
    if status.st_size > PICTURE_BYTES:
        raise OSError(f"holds {status.st_size >> 20} MiB, too much for a picture")
    return Path(path).read_bytes()


def picture_error(error: Exception) -> str:
    """Return in words why OpenCV does not decode a picture."""
    if "CV_IO_MAX_IMAGE" in str(error):  # checked before memory is asked for
        return (
            f"it claims more pixels than the {PICTURE_PIXELS >> 20} million that are decoded; "
            "if it does have them, store it smaller"
        )
    return one_line(error)
