"""Find members of local tar archives, which may hold thousands; each is indexed only once."""

from __future__ import annotations

import tarfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

__all__ = ["Member", "find_member"]

_SCHEME = "tar://"


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """Location of a member's bytes in its archive."""

    archive: Path
    offset: int
    size: int

    def read(self) -> bytes:
        """Return the content; shorter than `size` if the archive is truncated."""
        with self.archive.open("rb") as file:
            file.seek(self.offset)
            return file.read(self.size)


def find_member(uri: str) -> Member | None:
    """Return the member that ``tar://name::/path/shard.tar`` names.

    None leaves the URI to fsspec: it does not name a plain local archive or a member of one.
    """
    head, _, last = uri.partition("::")
    if not head.startswith(_SCHEME) or "::" in last or "://" in last or not last:
        return None
    path = Path(last)
    try:
        stat = path.stat()
        found = _index(last, stat.st_size, stat.st_mtime_ns).get(head.removeprefix(_SCHEME))
    except (OSError, tarfile.TarError):
        return None
    return None if found is None else Member(archive=path, offset=found[0], size=found[1])


@lru_cache(maxsize=8)
def _index(path: str, size: int, mtime_ns: int) -> MappingProxyType[str, tuple[int, int]]:  # noqa: ARG001  # a changed archive has a new index
    places: dict[str, tuple[int, int]] = {}
    with tarfile.open(path, "r:") as archive:
        try:
            for member in archive:
                if member.isreg() and not member.issparse():
                    places[member.name] = (member.offset_data, member.size)
        except tarfile.TarError:
            pass  # truncated: the members before the cut can still be read
    return MappingProxyType(places)
