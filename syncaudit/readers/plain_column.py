"""Split a column of whole numbers into its cells without a CSV parser.

Stamp tables mostly are such a column alone, and starting Arrow's parser costs ten times what a few
hundred lines do.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

__all__ = ["digit_cells"]

_NEWLINE, _ZERO = np.uint8(ord("\n")), np.uint8(ord("0"))
# Offsets of Arrow's texts are 32 bits.
_MAX_BYTES = 2**31 - 1


def digit_cells(lines: bytes) -> pa.StringArray | None:
    """Return every line as a text, or None if there is a line that is not all digits.

    Parameters
    ----------
    lines : bytes
        At least one line; the last may lack its newline.
    """
    if len(lines) > _MAX_BYTES:
        return None
    characters = np.frombuffer(lines, np.uint8)
    ends = np.flatnonzero(characters == _NEWLINE)
    # Characters below "0" wrap round to large ones.
    if np.count_nonzero(characters - _ZERO > 9) != ends.size:
        return None
    is_open = lines[-1] != _NEWLINE
    offsets = np.zeros(ends.size + 1 + is_open, np.int32)
    offsets[1 : ends.size + 1] = ends - np.arange(ends.size)
    if is_open:
        offsets[-1] = len(lines) - ends.size
    if np.count_nonzero(offsets[1:] == offsets[:-1]):
        return None  # a blank line
    texts = lines.replace(b"\n", b"")
    return pa.StringArray.from_buffers(offsets.size - 1, pa.py_buffer(offsets), pa.py_buffer(texts))
