from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import csv

from syncaudit.readers.csv_table import digit_cells

LINES = st.lists(st.one_of(st.integers(0, 10**20).map(str), st.sampled_from(["", "-1", "x", "7 "])))


def by_parser(lines: bytes) -> list[str]:
    table = csv.read_csv(
        pa.BufferReader(lines),
        read_options=csv.ReadOptions(column_names=["a"]),
        convert_options=csv.ConvertOptions(column_types={"a": pa.string()}),
    )
    return [str(cell) for cell in table.column("a").to_pylist()]


@given(LINES.filter(any), st.booleans())
def test_cells_are_those_of_the_parser(lines: list[str], is_closed: bool) -> None:
    data = ("\n".join(lines) + "\n" * is_closed).encode()
    cells = digit_cells(data)
    if cells is None:
        assert not all(line.isdigit() for line in lines)
    else:
        cells.validate(full=True)
        assert cells.to_pylist() == by_parser(data)


@pytest.mark.parametrize("lines", [b"1\n\n2\n", b"1\r\n2\r\n", b"1,2\n", b"\n", b"1 \n", b"-1\n"])
def test_what_is_not_all_digits_is_left_to_the_parser(lines: bytes) -> None:
    assert digit_cells(lines) is None
