"""Distinguish failures of the machine, the network or a server from defects of the data.

A full disk, too many open files, a missing permission or a server that is down is not evidence
about a recording: no verdict may depend on them.
"""

from __future__ import annotations

import errno
import os
import re
import socket
from collections.abc import Iterator

# From POSIX, errno.h: errors of the machine, its storage or its network.
_NAMES = (
    *("ENOSPC", "EDQUOT", "EFBIG", "EMFILE", "ENFILE", "ENOMEM", "EACCES", "EPERM", "EROFS"),
    *("EIO", "EREMOTEIO", "ESTALE", "EAGAIN", "EBUSY", "EINTR", "ENOLCK", "ENXIO", "ENODEV"),
    *("ETIMEDOUT", "ECONNREFUSED", "ECONNRESET", "ECONNABORTED", "EHOSTUNREACH", "EHOSTDOWN"),
    *("ENETUNREACH", "ENETDOWN", "ENETRESET", "ENOTCONN", "EPIPE"),
)
_OF_MACHINE = {getattr(errno, name) for name in _NAMES if hasattr(errno, name)}
# FFmpeg returns these also for damaged files.
_AMBIGUOUS_IN_FFMPEG = {
    errno.EIO,
    errno.ENOMEM,
    errno.EAGAIN,
    errno.EPERM,
    errno.EBUSY,
    errno.EPIPE,
}
# RFC 9110, section 15, and RFC 6585: statuses about the server itself, or about the client.
_STATUSES = {401, 403, 407, 408, 421, 423, 425, 429}
# Error classes of packages that need not be installed, by name: none of them is an OSError.
_NETWORK_KINDS = re.compile(r"Timeout|ConnectionError|ConnectError|Disconnected|ClientPayloadError")
_ASKED_BYTES = re.compile(r"(?:malloc|realloc) of size (\d+)")
_DEPTH = 8


def machine_fault(error: BaseException | None) -> str | None:
    """Describe what is wrong with the machine, if an error comes from it.

    None if the data are to blame, or the cause is unknown. An error counts together with all of
    its causes.
    """
    for each in _chain(error):
        known = getattr(each, "machine_fault", None)
        words = known if isinstance(known, str) else _fault(each)
        if words is not None:
            return words
    return None


def may_pass(error: BaseException | None) -> bool:
    """Return whether a retry may help: not if a permission or a package is missing."""
    return not any(isinstance(each, PermissionError | ImportError) for each in _chain(error))


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    for _ in range(_DEPTH):
        if error is None:
            return
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def _fault(error: BaseException) -> str | None:
    status = _status(error)
    if status is not None and (status >= 500 or status in _STATUSES):
        return f"the server answers with status {status}"
    if isinstance(error, MemoryError) and not _is_of_ffmpeg(error):
        return None if _asks_too_much(error) else "memory ran out"
    if isinstance(error, ImportError):
        return "a package is not installed"
    if isinstance(error, socket.gaierror):
        return f"the name of the server cannot be resolved ({error.strerror})"
    if isinstance(error, TimeoutError):
        return "the storage did not answer in time"
    if isinstance(error, OSError):
        return _os_fault(error)
    if _NETWORK_KINDS.search(type(error).__name__):
        return f"the storage cannot be reached ({type(error).__name__})"
    return None


def _os_fault(error: OSError) -> str | None:
    if "No usable temporary directory" in str(error):
        return "no temporary folder can be written to"
    if error.errno in _OF_MACHINE and not (
        _is_of_ffmpeg(error) and error.errno in _AMBIGUOUS_IN_FFMPEG
    ):
        return os.strerror(error.errno or 0).lower()
    return "the connection broke off" if isinstance(error, ConnectionError) else None


def _is_of_ffmpeg(error: BaseException) -> bool:
    return any(kind.__name__ == "FFmpegError" for kind in type(error).__mro__)


def _status(error: BaseException) -> int | None:
    """Return the HTTP status that an error of a storage package carries."""
    response = getattr(error, "response", None)
    if isinstance(response, dict):  # botocore
        known = response.get("ResponseMetadata")
        status = known.get("HTTPStatusCode") if isinstance(known, dict) else None
        return status if isinstance(status, int) else None
    for owner in (error, response):
        for name in ("status", "status_code", "code"):
            value = getattr(owner, name, None)
            if type(value) is int and 400 <= value <= 599:
                return value
    return None


def _asks_too_much(error: MemoryError) -> bool:
    """Return whether a file asked for more than the machine has, as a damaged one may."""
    shape, kind = getattr(error, "shape", None), getattr(error, "dtype", None)
    asked = 0
    if shape is not None and kind is not None:  # numpy
        asked = int(kind.itemsize)
        for length in shape:
            asked *= int(length)
    elif match := _ASKED_BYTES.search(str(error)):  # Arrow
        asked = int(match[1])
    return asked > os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
