"""What changes when a remote file changes, as its file system tells it."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["remote_version"]

_KEYS = ("size", "ETag", "etag", "mtime", "LastModified", "last_modified", "md5Hash", "created")


def remote_version(info: Mapping[str, object]) -> dict[str, str]:
    """Return size, times and checksums out of what `fsspec` says of a file."""
    return {key: str(info[key]) for key in _KEYS if info.get(key) is not None}
