"""Tables of stamped samples as CSV: exact integer stamps, fixed decimals, bytes that repeat."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from syncaudit.writing import replace_text


def write_table(
    path: Path,
    stamps_ns: NDArray[np.int64],
    columns: Mapping[str, NDArray[np.float64]],
    *,
    decimals: int = 6,
) -> None:
    """Write ``timestamp_ns`` and columns of numbers, one row a sample."""
    header = ",".join(["timestamp_ns", *columns])
    texts = [[str(stamp) for stamp in stamps_ns.tolist()]]
    texts += [[f"{value:.{decimals}f}" for value in column.tolist()] for column in columns.values()]
    lines = [header, *(",".join(row) for row in zip(*texts, strict=True))]
    replace_text(path, "\n".join(lines) + "\n")
