"""Write one shard, deterministically and atomically."""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from syncaudit.errors import SyncAuditError
from syncaudit.writing import create_draft

_BLOCK = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One member of a shard."""

    name: str  # suffix after the sample's key: ``cam_front.mp4``
    size: int  # in bytes
    path: Path | None = None  # file with the bytes, starting at `offset`; if None, they are `data`
    offset: int = 0
    data: bytes = b""

    @classmethod
    def of_bytes(cls, name: str, data: bytes) -> Part:
        """Return a part with the given bytes."""
        return cls(name=name, size=len(data), data=data)

    @classmethod
    def of_file(cls, name: str, path: Path) -> Part:
        """Return a whole file as a part."""
        return cls(name=name, size=path.stat().st_size, path=path)

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Open the part for reading from its first byte."""
        if self.path is None:
            yield io.BytesIO(self.data)
            return
        with self.path.open("rb") as file:
            file.seek(self.offset)
            yield file


def size_in_shard(parts: Sequence[Part]) -> int:
    """Return the bytes that a sample takes in a shard, headers and padding included."""
    return sum(_BLOCK + -(-part.size // _BLOCK) * _BLOCK for part in parts)


class ShardFile:
    """A tar archive under a temporary name until `close`.

    Members do not carry times, owners or permissions of the original files.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.n_samples = 0
        self._draft, handle = create_draft(path)
        self._file = os.fdopen(handle, "wb")
        self._archive = tarfile.open(  # noqa: SIM115  # closed by `close` and `abandon`
            fileobj=self._file, mode="w", format=tarfile.PAX_FORMAT
        )
        self._keys: set[str] = set()

    @property
    def size(self) -> int:
        """Bytes so far."""
        return self._file.tell()

    def add(self, key: str, parts: Sequence[Part]) -> None:
        """Add a sample; if its key is taken, a number is appended.

        SyncAuditError if a file is truncated while it is copied, which makes the shard useless.
        """
        free, number = key, 1
        while free in self._keys:
            number += 1
            free = f"{key}_{number}"
        self._keys.add(free)
        for part in parts:
            info = tarfile.TarInfo(f"{free}.{part.name}")
            info.size = part.size
            with part.open() as file:
                try:
                    self._archive.addfile(info, file)
                except OSError as error:
                    if error.errno is not None:  # a full disk: reported by the command line
                        raise
                    raise SyncAuditError(
                        "the file became shorter while it was copied",
                        path=str(part.path),
                        hint="Export again when nothing writes to it.",
                    ) from error
        self._archive.members = []  # type: ignore[attr-defined]  # it would keep a list of all
        self.n_samples += 1

    def close(self) -> tuple[int, str]:
        """Finish and rename the shard, and return its size and SHA-256."""
        self._archive.close()
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        with self._draft.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        self._draft.replace(self.path)
        return self.path.stat().st_size, digest

    def abandon(self) -> None:
        """Discard what was written."""
        self._file.close()
        self._draft.unlink(missing_ok=True)
