"""Frames of a raw bus log as arrays, whatever the log's format."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syncaudit.model import Finding

__all__ = ["EXTENDED", "BusFrames", "frames_of"]

# Added to 29-bit identifiers, so that 0x123 and 0x00000123 stay apart.
EXTENDED = 1 << 31


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BusFrames:
    """Frames with wanted identifiers, in file order."""

    time_ns: NDArray[np.int64]  # shape (n,)
    ids: NDArray[np.int64]  # shape (n,); 29-bit ones plus `EXTENDED`
    payload: NDArray[np.uint8]  # shape (n, width), padded with zeros
    lengths: NDArray[np.int64]  # shape (n,); bytes of data in each frame
    n_total: int  # frames in the log, wanted or not
    ids_seen: frozenset[int]  # every identifier in the log
    findings: tuple[Finding, ...] = ()


def frames_of(
    time_ns: Sequence[int],
    ids: Sequence[int],
    data: Sequence[bytes],
    *,
    n_total: int,
    ids_seen: Collection[int],
    findings: tuple[Finding, ...] = (),
) -> BusFrames:
    """Return the arrays of frames that a parser collected as lists."""
    lengths = np.fromiter(map(len, data), np.int64, len(data))
    width = int(lengths.max(initial=0))
    flat = b"".join([item.ljust(width, b"\0") for item in data])
    return BusFrames(
        time_ns=np.array(time_ns, dtype=np.int64),
        ids=np.array(ids, dtype=np.int64),
        payload=np.frombuffer(flat, np.uint8).reshape(len(data), width),
        lengths=lengths,
        n_total=n_total,
        ids_seen=frozenset(ids_seen),
        findings=findings,
    )
