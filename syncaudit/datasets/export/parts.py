"""One part of a sample: bytes that lie somewhere, and what they are called."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

__all__ = ["Part"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Content of one member of a shard."""

    name: str  # what stands behind the sample's key: ``cam_front.mp4``
    size: int  # in bytes
    path: Path | None = None  # file that holds them, from `offset` on; None: they are `data`
    offset: int = 0
    data: bytes = b""

    @classmethod
    def of_bytes(cls, name: str, data: bytes) -> Part:
        """Return a part that was made for the shard."""
        return cls(name=name, size=len(data), data=data)

    @classmethod
    def of_file(cls, name: str, path: Path) -> Part:
        """Return a whole file as a part."""
        return cls(name=name, size=path.stat().st_size, path=path)

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Open for reading at the first byte."""
        if self.path is None:
            yield io.BytesIO(self.data)
            return
        with self.path.open("rb") as file:
            file.seek(self.offset)
            yield file
