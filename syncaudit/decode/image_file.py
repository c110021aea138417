"""Read one encoded image from a regular file of reasonable size."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from syncaudit.errors import one_line
from syncaudit.limits import IMAGE_BYTES, IMAGE_PIXELS


def image_bytes(path: str) -> bytes:
    """Return the content of a file.

    Raises OSError if it cannot be read, is not a regular file (a pipe or device may never end), or
    is too large.
    """
    status = os.stat(path)  # noqa: PTH116  # for every image of every clip
    if not stat.S_ISREG(status.st_mode):
        raise OSError("is not a regular file")
    if status.st_size > IMAGE_BYTES:
        raise OSError(f"holds {status.st_size >> 20} MiB, too large for an image")
    return Path(path).read_bytes()


def image_error(error: Exception) -> str:
    """Describe why OpenCV does not decode an image."""
    if "CV_IO_MAX_IMAGE" in str(error):  # checked before memory is allocated
        return (
            f"it claims more than {IMAGE_PIXELS >> 20} million pixels, the most that are "
            "decoded; if it has them, store it smaller"
        )
    return one_line(error)
