"""Read one encoded picture from a file: neither a pipe nor more than a picture can hold."""

from __future__ import annotations

import os
import stat
from pathlib import Path

__all__ = ["picture_bytes"]

# Of an encoded picture: 16k x 16k pixels of three bytes, stored plainly, are 805 MB; a memory
# limit of common size holds a third of it.
_MOST_BYTES = 1 << 28


def picture_bytes(path: str) -> bytes:
    """Return what a file holds.

    Raises
    ------
    OSError
        If it cannot be read, is no regular file (a pipe or device may never end), or too large.
    """
    status = os.stat(path)  # noqa: PTH116  # for every picture of every clip
    if not stat.S_ISREG(status.st_mode):
        raise OSError("is no regular file")
    if status.st_size > _MOST_BYTES:
        raise OSError(f"holds {status.st_size >> 20} MiB, too much for a picture")
    return Path(path).read_bytes()
