"""Store a million clips in little memory."""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import overload

from syncaudit.model import Clip


class ClipTable(Sequence[Clip]):
    """Compressed clips; each is unpacked on access.

    Rows of one manifest are nearly identical: with the first one as the compression dictionary,
    six cameras take 200 bytes instead of 8 kB.
    """

    def __init__(self, clips: Iterable[Clip] = ()) -> None:
        self._dictionary = b""
        self._packed: list[bytes] = []
        for clip in clips:
            data = pickle.dumps(clip, protocol=pickle.HIGHEST_PROTOCOL)
            self._dictionary = self._dictionary or data
            packer = zlib.compressobj(1, zdict=self._dictionary)
            self._packed.append(packer.compress(data) + packer.flush())

    def __len__(self) -> int:
        """Return the number of clips."""
        return len(self._packed)

    @overload
    def __getitem__(self, index: int) -> Clip: ...
    @overload
    def __getitem__(self, index: slice) -> ClipTable: ...

    def __getitem__(self, index: int | slice) -> Clip | ClipTable:
        """Return one clip, or a table of several."""
        if isinstance(index, slice):
            part = ClipTable()
            part._dictionary, part._packed = self._dictionary, self._packed[index]
            return part
        return self._unpacked(self._packed[index])

    def __iter__(self) -> Iterator[Clip]:
        """Unpack one clip after the other."""
        return map(self._unpacked, self._packed)

    def _unpacked(self, data: bytes) -> Clip:
        unpacker = zlib.decompressobj(zdict=self._dictionary)
        clip: Clip = pickle.loads(unpacker.decompress(data))  # noqa: S301  # packed above
        return clip
