"""Explain operating system errors: the place, what is wrong, what to do."""

from __future__ import annotations

import errno

from syncaudit.cli.exit_codes import ExitCode

_ROOM = "What is done is kept: make room and run it again."
# Files that are missing or not permitted are usage errors: exit code 2. The rest give 3.
_WRONG = {
    errno.EACCES: "Check its permissions, or choose another place.",
    errno.EPERM: "Check its permissions, or choose another place.",
    errno.ENOENT: "Check the name.",
    errno.EISDIR: "Name a file.",
    errno.ENOTDIR: "A file stands where a folder is expected.",
    errno.EEXIST: "Choose another name.",
    errno.ENOTEMPTY: "Choose another name.",
    errno.ELOOP: "Its links form a loop.",
    errno.ENAMETOOLONG: "Choose a shorter name.",
    errno.ENXIO: "Name a regular file.",
    errno.EINVAL: "Name a regular file on a common file system.",
}
_STARVED = {
    errno.ENOSPC: _ROOM,
    errno.EDQUOT: _ROOM,
    errno.EROFS: _ROOM,
    errno.EFBIG: "What is done is kept: raise the limit on file sizes (ulimit -f) and run again.",
    errno.EMFILE: "Raise the limit on open files (ulimit -n), or lower --workers.",
    errno.ENFILE: "The machine has too many open files.",
    errno.ENOMEM: "Lower --workers, or free memory.",
    errno.EAGAIN: "Lower --workers, or raise the limit on processes (ulimit -u).",
    errno.EIO: "The disk or share is failing: check it.",
    errno.ESTALE: "The share was lost: mount it again.",
    errno.ETIMEDOUT: "The share or store does not answer: try again later.",
}


def worded_system_error(error: BaseException) -> tuple[str, int] | None:
    """Return (sentence, exit code) for an operating system error; None for any other error."""
    if isinstance(error, MemoryError):
        return f"there is not enough memory. {_STARVED[errno.ENOMEM]}", ExitCode.STOPPED
    number = error.errno if isinstance(error, OSError) else None
    if not isinstance(error, OSError) or number is None:
        return None
    cure = _WRONG.get(number) or _STARVED.get(number)
    if cure is None:
        return None
    place = f"{error.filename}: " if error.filename is not None else ""
    code = ExitCode.USAGE if number in _WRONG else ExitCode.STOPPED
    return f"{place}{error.strerror}. {cure}", code
