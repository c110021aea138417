"""Samples of WebDataset shards, to be copied as they are."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from syncaudit.datasets.export.shard_file import Part
from syncaudit.datasets.samples import iter_members, split_member
from syncaudit.errors import StreamReadError
from syncaudit.model import Clip
from syncaudit.readers.uris import files_named, keep_local, local_path

__all__ = ["StoredSamples", "sample_of"]

_SCHEME = "tar://"


def sample_of(clip: Clip) -> tuple[str, str] | None:
    """Return (shard, key) of the one sample that all files of a clip are parts of, else None."""
    places = set()
    for spec in clip.sources.values():
        for uri in files_named(spec, clip.base_uri).values():
            member, _, shard = uri.partition("::")
            found = split_member(member.removeprefix(_SCHEME))
            if not member.startswith(_SCHEME) or "::" in shard or not shard or found is None:
                return None
            places.add((shard, found[0]))
    return places.pop() if len(places) == 1 else None


class StoredSamples:
    """Parts of samples by shard and key; the index of one shard at a time is held."""

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch
        self._shard = ""
        self._copy: Path | None = None
        self._parts: dict[str, list[Part]] = {}

    def parts(self, shard: str, key: str) -> list[Part]:
        """Return all parts of a sample, in their order."""
        if shard != self._shard:
            if self._copy is not None:
                self._copy.unlink(missing_ok=True)
            self._shard, self._parts, self._copy = "", {}, None
            path = keep_local(shard, self._scratch)
            self._copy = path if local_path(shard) is None else None
            with _reading(shard):
                self._parts = _index(path)
            self._shard = shard
        try:
            return self._parts[key]
        except KeyError:
            raise StreamReadError(
                f"there is no sample '{key}'", path=shard, code="missing_file"
            ) from None


def _index(path: Path) -> dict[str, list[Part]]:
    found: dict[str, list[Part]] = {}
    end = path.stat().st_size
    with tarfile.open(path, "r:") as archive:
        for key, name, member in iter_members(archive):
            if member.offset_data + member.size <= end:
                part = Part(name=name, size=member.size, path=path, offset=member.offset_data)
                found.setdefault(key, []).append(part)
    return found


@contextmanager
def _reading(shard: str) -> Iterator[None]:
    try:
        yield
    except (tarfile.TarError, OSError, EOFError, ValueError) as error:
        raise StreamReadError(
            f"is not an intact tar archive ({error})",
            path=shard,
            code="corrupt",
            hint="Copy the shard again.",
        ) from error
