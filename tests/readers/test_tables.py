from __future__ import annotations

import io
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from syncaudit.errors import StreamReadError
from syncaudit.readers.tables import read_table

Put = Callable[..., str]

T0 = 1767225600123456789


def parquet(**columns: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue()


@pytest.mark.parametrize(
    "text",
    [
        f"timestamp_ns,a\n{T0},0.5\n{T0 + 1},1.5\n",
        f"timestamp_ns,a\r\n{T0},0.5\r\n{T0 + 1},1.5\r\n",
        f"timestamp_ns;a\n{T0};0.5\n{T0 + 1};1.5",
        f"timestamp_ns\ta\n{T0}\t0.5\n{T0 + 1}\t1.5\n",
        f"\ufeff timestamp_ns , a \n {T0} , 0.5\n{T0 + 1},\t1.5\n",
        f'"timestamp_ns","a"\n"{T0}","0.5"\n"{T0 + 1}","1.5"\n',
        f"timestamp_ns,a\n\n{T0},5e-1\n\n+{T0 + 1},1.5\n\n",
        f"a,x,timestamp_ns\n0.5,hello,{T0}\n1.5,,{T0 + 1}\n",
    ],
)
def test_csv_dialects_read_the_same(put: Put, text: str) -> None:
    table = read_table(put("t.csv", text))
    assert table.stamps().tolist() == [T0, T0 + 1]
    assert table.numbers("a").tolist() == [0.5, 1.5]
    assert table.findings == ()


def test_marked_utf16_csv_is_read(put: Put) -> None:
    text = f"timestamp_ns,a\n{T0},0.5\n"
    assert read_table(put("t.csv", text.encode("utf-16"))).stamps().tolist() == [T0]


@settings(
    max_examples=50,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(values=st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1))
def test_every_int64_is_read_exactly_and_in_order(put: Put, values: list[int]) -> None:
    text = "timestamp_ns\n" + "\n".join(map(str, values)) + "\n"
    assert read_table(put("t.csv", text)).stamps().tolist() == values
    content = parquet(timestamp_ns=pa.array(values, pa.int64()))
    assert read_table(put("t.parquet", content)).stamps().tolist() == values


@pytest.mark.parametrize(
    "column",
    [
        pa.array([T0], pa.uint64()),
        pa.array([T0], pa.timestamp("ns")),
        pa.array([T0], pa.timestamp("ns", tz="UTC")),
        pa.array([str(T0)]),
        pa.array([T0], pa.int64()).dictionary_encode(),
    ],
)
def test_exact_parquet_types_are_read_exactly(put: Put, column: pa.Array) -> None:
    assert read_table(put("t.parquet", parquet(timestamp_ns=column))).stamps().tolist() == [T0]


def test_coarser_timestamp_types_are_exact_too(put: Put) -> None:
    column = pa.array([T0 // 1000], pa.timestamp("us"))
    table = read_table(put("t.parquet", parquet(timestamp_ns=column)))
    assert table.stamps().tolist() == [T0 // 1000 * 1000]


@pytest.mark.parametrize(
    ("cell", "code", "message"),
    [
        ("1.7672256e18", "unreadable", r"line 3: .*'1\.7672256e18', expected integer.*float"),
        ("1767225600.123", "unreadable", r"expected integer nanoseconds.*'stamps': 's'"),
        ("1767225600000000000.0", "unreadable", r"expected integer nanoseconds"),
        ("2026-01-01T00:00:00", "unreadable", r"Dates and clock times are not read"),
        ("hello", "corrupt", r"'hello', expected integer nanoseconds.*Correct the cell"),
        ("nan", "corrupt", r"'nan', expected integer"),
        ("0x10", "corrupt", r"'0x10', expected integer"),
        ("", "corrupt", r"line 3: 'timestamp_ns' is blank"),
        ("NA", "corrupt", r"line 3: 'timestamp_ns' is blank"),
        (str(2**63), "corrupt", r"line 3: .*9223372036854775808, too large for int64"),
        (str(-(2**63) - 1), "corrupt", r"too large for int64"),
        ("9" * 40, "corrupt", r"too large for int64"),
    ],
)
def test_stamp_that_is_no_int64_is_refused_with_its_line(
    put: Put, cell: str, code: str, message: str
) -> None:
    path = put("t.csv", f"timestamp_ns,a\n{T0},1\n{cell},2\n{T0},3\n")
    with pytest.raises(StreamReadError, match=message) as caught:
        read_table(path).stamps()
    assert (caught.value.code, caught.value.path) == (code, path)
    assert caught.value.hint


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pa.array([1.7672256e18]), r"type double, expected int64.*floats cannot hold"),
        (pa.array([True]), r"type bool, expected int64"),
        (pa.array([2**63], pa.uint64()), r"uint64 does not fit int64"),
        (pa.array([2**62], pa.timestamp("us")), r"does not fit int64"),
        (pa.array([T0, None], pa.int64()), r"row 1: 'timestamp_ns' is blank"),
        (pa.array([None], pa.null()), r"row 0: 'timestamp_ns' is blank"),
    ],
)
def test_parquet_stamps_of_other_types_are_refused(
    put: Put, column: pa.Array, message: str
) -> None:
    table = read_table(put("t.parquet", parquet(timestamp_ns=column)))
    with pytest.raises(StreamReadError, match=message):
        table.stamps()


def test_missing_column_lists_those_found_and_the_nearest(put: Put) -> None:
    table = read_table(put("t.csv", "timestamp,a\n1,2\n"))
    with pytest.raises(
        StreamReadError, match=r"no column 'timestamp_ns'.*found: timestamp, a.*mean 'timestamp'"
    ):
        table.stamps()


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("hello", r"line 3: 'a' is 'hello', expected a number"),
        ('"1,5"', r"line 3: 'a' is '1,5'.*decimals with a point"),
        ("2026-01-01", r"line 3: 'a' is '2026-01-01', expected a number"),
    ],
)
def test_cell_that_is_no_number_is_named_with_its_line(put: Put, cell: str, message: str) -> None:
    table = read_table(put("t.csv", f"timestamp_ns,a\n1,0.5\n2,{cell}\n3,1\n"))
    with pytest.raises(StreamReadError, match=message):
        table.numbers("a")


def test_blank_and_nan_cells_become_nan_but_only_blank_ones_are_blank(put: Put) -> None:
    table = read_table(put("t.csv", "timestamp_ns,a,b\n1,,\n2,nan,\n3,-inf,\n4,7,\n"))
    np.testing.assert_array_equal(table.numbers("a"), [np.nan, np.nan, -np.inf, 7])
    assert table.is_blank("a").tolist() == [True, False, False, False]
    assert np.isnan(table.numbers("b")).all()


def test_lists_of_parquet_become_a_matrix(put: Put) -> None:
    column = pa.array([[1.0, 2.0], None, [3.0, 4.0]])
    table = read_table(put("t.parquet", parquet(q=column)))
    np.testing.assert_array_equal(table.numbers("q"), [[1, 2], [np.nan, np.nan], [3, 4]])


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pa.array([[1.0], [1.0, 2.0]]), r"lists of different lengths \(1 to 2\)"),
        (pa.array([["a"]]), r"expected lists of numbers"),
        (pa.array([{"x": 1}]), r"expected a number|expected numbers"),
    ],
)
def test_lists_that_are_no_matrix_are_refused(put: Put, column: pa.Array, message: str) -> None:
    table = read_table(put("t.parquet", parquet(q=column)))
    with pytest.raises(StreamReadError, match=message):
        table.numbers("q")


def test_last_line_that_is_cut_off_is_a_finding(put: Put) -> None:
    path = put("t.csv", "timestamp_ns,a,b\n1,0.5,1\n2,0.5,2\n3,0.")
    table = read_table(path)
    assert table.stamps().tolist() == [1, 2]
    (finding,) = table.findings
    assert finding.code == "corrupt"
    assert "the last line (4) is cut off: 2 columns, expected 3" in finding.message
    assert (finding.value, finding.limit) == (2.0, 3.0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("timestamp_ns,a\n1,2\n3\n4,5\n", r"line 3 has 1 column, expected 2.*1 line\(s\)"),
        ("timestamp_ns,a\n1,2\n3\n4,5,6\n7,8\n", r"line 3 has 1 column.*2 line\(s\) are faulty"),
        ("\ntimestamp_ns\n1\n", r"the first line is blank, expected column names"),
        ("timestamp_ns,a,a\n1,2,3\n", r"the column 'a' appears 2 times"),
    ],
)
def test_faulty_csv_is_refused(put: Put, text: str, message: str) -> None:
    with pytest.raises(StreamReadError, match=message):
        read_table(put("t.csv", text))


def test_name_that_repeats_in_a_wide_header_is_found_at_once(put: Put) -> None:
    header = ",".join(["timestamp_ns", *map(str, range(19_000)), "7"])
    began = time.process_time()
    with pytest.raises(StreamReadError, match="the column '7' appears 2 times"):
        read_table(put("t.csv", f"{header}\n1\n"))
    assert time.process_time() - began < 1.0  # a linear search by name takes longer


def test_header_of_a_hundred_thousand_columns_is_refused(put: Put) -> None:
    header = ",".join(["timestamp_ns", *map(str, range(100_000))])
    with pytest.raises(StreamReadError, match=r"t\.csv: has 100001 columns; .*one row"):
        read_table(put("t.csv", f"{header}\n1\n"))


def test_header_alone_is_an_empty_table(put: Put) -> None:
    for text in ("timestamp_ns,a", "timestamp_ns,a\n", "timestamp_ns,a\r\n\r\n"):
        table = read_table(put("t.csv", text))
        assert (table.n_rows, table.stamps().dtype) == (0, np.int64)


def test_text_that_is_not_utf8_is_bad_text_with_its_line(put: Put) -> None:
    path = put("t.csv", "timestamp_ns,note\n1,a\n2,é\n".encode("latin-1"))
    with pytest.raises(StreamReadError, match=r"line 3 is not UTF-8 text \(byte 0xe9") as caught:
        read_table(path)
    assert caught.value.code == "bad_text"
    assert "iconv" in str(caught.value)


def test_a_binary_file_is_not_to_be_saved_as_text(put: Put) -> None:
    with pytest.raises(StreamReadError, match=r"not UTF-8 text .*It is a binary file"):
        read_table(put("t.csv", b"\0\0\0\x20ftypisom\0\0\xe9"))


def test_parquet_by_name_must_be_parquet(put: Put) -> None:
    with pytest.raises(StreamReadError, match="not an intact Parquet file") as caught:
        read_table(put("t.parquet", "timestamp_ns\n1\n"))
    assert caught.value.code == "corrupt"


@pytest.mark.parametrize("name", ["t.parquet", "t.table"])
def test_parquet_with_a_name_twice_is_refused(put: Put, name: str) -> None:
    sink = io.BytesIO()
    column = pa.array([1, 2])
    pq.write_table(pa.Table.from_arrays([column, column], ["timestamp_ns"] * 2), sink)
    with pytest.raises(StreamReadError, match="the column 'timestamp_ns' appears 2 times"):
        read_table(put(name, sink.getvalue()), columns=["timestamp_ns"])


def test_parquet_is_known_by_its_content_too(put: Put) -> None:
    assert read_table(put("t.table", parquet(timestamp_ns=[5]))).stamps().tolist() == [5]


def test_column_that_turns_to_decimals_late_is_read(put: Put) -> None:
    rows = "".join(f"{k},0\n" for k in range(2000)) + "2000,0.5\n"
    table = read_table(put("t.csv", "timestamp_ns,a\n" + rows))
    assert table.numbers("a")[-1] == 0.5


def test_half_a_surrogate_pair_is_no_column(put: Put) -> None:
    assert not read_table(put("t.csv", "timestamp_ns\n1\n")).has("\ud800")
