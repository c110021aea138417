"""Find the rows of a large table that lie in or near the window of a clip."""

from __future__ import annotations

import numpy as np

from syncaudit.errors import StreamReadError
from syncaudit.readers.tables import read_stamp_parts

__all__ = ["rows_near"]


def rows_near(
    uri: str, stamps: str, near_ns: tuple[int, int], *, may_be_seconds: bool, unit: str | None
) -> tuple[int, int] | None:
    """Return the rows from the first in ``[low, high)`` to the last, reading stamps alone.

    Absurd stamps between them stay: they are what the audit is about. None where the table is small
    or no plain one, or no row lies there: then it is to be read as a whole.
    """
    low, high = near_ns
    at, first, last = 0, None, 0
    try:
        for part in read_stamp_parts(uri, stamps):
            time_ns = part.stamps(stamps, may_be_seconds=may_be_seconds, unit=unit)
            inside = np.flatnonzero((time_ns >= low) & (time_ns < high))
            if inside.size:
                first = at + int(inside[0]) if first is None else first
                last = at + int(inside[-1])
            at += part.n_rows
    except StreamReadError:
        return None  # what reads it as a whole says what is wrong
    return None if first is None else (first, last + 1)
