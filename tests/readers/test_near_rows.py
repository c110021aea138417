"""Large tables of which only the window of a clip is read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

from syncaudit.errors import StreamReadError
from syncaudit.model import ImuSpec, SignalStream
from syncaudit.readers import arrays, csv_table, parquet, read_source

N = 5000
START_NS = 1_700_000_000_000_000_000
NEAR_NS = (START_NS + 2000 * 10_000_000, START_NS + 2400 * 10_000_000)


@pytest.fixture(autouse=True)
def small_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_table, "_LEAST_BYTES", 1000)
    monkeypatch.setattr(csv_table, "_BLOCK_BYTES", 3000)
    monkeypatch.setattr(parquet, "_MANY_ROWS", 300)
    monkeypatch.setattr(parquet, "_MANY_BYTES", 3000)
    monkeypatch.setattr(arrays, "_MANY_ROWS", 300)


def imu_table(time_ns: np.ndarray | None = None) -> pa.Table:
    rng = np.random.default_rng(1)
    if time_ns is None:
        time_ns = START_NS + np.arange(N) * 10_000_000
    names = ("gyro_x", "gyro_y", "gyro_z")
    values = rng.normal(size=(len(names), len(time_ns))).round(3)
    return pa.table({"timestamp_ns": time_ns} | dict(zip(names, values, strict=True)))


def write_csv(table: pa.Table, folder: Path) -> str:
    csv.write_csv(table, folder / "t.csv")
    return "t.csv"


def write_parquet(table: pa.Table, folder: Path) -> str:
    pq.write_table(table, folder / "t.parquet", row_group_size=700)
    return "t.parquet"


def write_group(table: pa.Table, folder: Path) -> str:
    pq.write_table(table, folder / "t.parquet")
    return "t.parquet"


def write_arrays(table: pa.Table, folder: Path) -> str:
    (folder / "imu").mkdir()
    for name in table.column_names:
        np.save(folder / "imu" / f"{name}.npy", table[name].to_numpy())
    return "imu"


WRITERS = (write_csv, write_parquet, write_group, write_arrays)


def read(uri: str, folder: Path, near_ns: tuple[int, int] | None) -> SignalStream:
    stream = read_source("imu", ImuSpec(uri=uri), str(folder), near_ns=near_ns)
    assert isinstance(stream, SignalStream)
    return stream


@pytest.mark.parametrize("write", WRITERS)
def test_rows_near_the_window_alone_are_read(
    write: Callable[[pa.Table, Path], str], tmp_path: Path
) -> None:
    table = imu_table()
    stream = read(write(table, tmp_path), tmp_path, NEAR_NS)
    np.testing.assert_array_equal(stream.time_ns, table["timestamp_ns"].to_numpy()[2000:2400])
    expected = np.stack([table[n].to_numpy()[2000:2400] for n in table.column_names[1:]], axis=1)
    np.testing.assert_array_equal(stream.channels[0].values, expected)
    assert not stream.findings


def test_rows_of_a_store_near_the_window_alone_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = fsspec.filesystem("memory")
    data = (tmp_path / write_parquet(imu_table(), tmp_path)).read_bytes()
    store.pipe_file("/near/t.parquet", data)
    stream = read("memory://near/t.parquet", tmp_path, NEAR_NS)
    assert stream.time_ns.tolist() == (START_NS + np.arange(2000, 2400) * 10_000_000).tolist()


def test_rows_near_the_window_are_read_where_arrivals_are_stated(tmp_path: Path) -> None:
    uri = write_csv(imu_table(), tmp_path)
    stamps = START_NS + np.arange(N) * 10_000_000
    table = pa.table({"timestamp_ns": stamps, "receive_ns": stamps + 5})
    csv.write_csv(table, tmp_path / "a.csv")
    spec = ImuSpec(uri=uri, arrivals="a.csv")
    stream = read_source("imu", spec, str(tmp_path), near_ns=NEAR_NS)
    assert stream.time_ns.size == 400
    assert stream.arrivals is not None
    assert stream.arrivals.capture_ns.size == N


@pytest.mark.parametrize("write", WRITERS)
def test_absurd_stamps_within_the_window_stay(
    write: Callable[[pa.Table, Path], str], tmp_path: Path
) -> None:
    time_ns = START_NS + np.arange(N) * 10_000_000
    time_ns[2100] = 7
    time_ns[4000] = NEAR_NS[0]  # a backward jump widens the range
    stream = read(write(imu_table(time_ns), tmp_path), tmp_path, NEAR_NS)
    np.testing.assert_array_equal(stream.time_ns, time_ns[2000:4001])


@pytest.mark.parametrize("write", WRITERS)
def test_table_of_another_epoch_is_read_whole(
    write: Callable[[pa.Table, Path], str], tmp_path: Path
) -> None:
    assert read(write(imu_table(), tmp_path), tmp_path, (0, 10**9)).time_ns.size == N


@pytest.mark.parametrize("write", WRITERS)
def test_whole_table_in_blocks_is_the_same(
    write: Callable[[pa.Table, Path], str], tmp_path: Path
) -> None:
    table = imu_table()
    stream = read(write(table, tmp_path), tmp_path, None)
    np.testing.assert_array_equal(stream.time_ns, table["timestamp_ns"].to_numpy())
    np.testing.assert_array_equal(stream.channels[0].values[:, 2], table["gyro_z"].to_numpy())


def test_large_csv_with_seconds_is_read_near_the_window(tmp_path: Path) -> None:
    rows = "".join(f"{k / 8:.3f},{k},2,3\n" for k in range(N))
    (tmp_path / "t.csv").write_text("t,gyro_x,gyro_y,gyro_z\n" + rows)
    spec = ImuSpec(uri="t.csv", stamps="t")
    stream = read_source("imu", spec, str(tmp_path), near_ns=(100 * 10**9, 110 * 10**9))
    assert stream.time_ns.tolist() == [k * 125_000_000 for k in range(800, 880)]


def test_large_csv_that_is_cut_off_is_told(tmp_path: Path) -> None:
    uri = write_csv(imu_table(), tmp_path)
    whole = (tmp_path / uri).read_bytes().rstrip(b"\n")
    (tmp_path / uri).write_bytes(whole[: whole.rindex(b",")])
    stream = read(uri, tmp_path, None)
    assert stream.time_ns.size == N - 1
    assert f"the last line ({N + 1}) is cut off: 3 columns" in stream.findings[0].message


@pytest.mark.parametrize(
    ("cell", "pattern"), [("x", "line 3002: 'gyro_x' is 'x'"), ("1,2", "line 3002 has 5 columns")]
)
def test_fault_in_a_large_csv_is_told_with_its_line(
    cell: str, pattern: str, tmp_path: Path
) -> None:
    uri = write_csv(imu_table(), tmp_path)
    lines = (tmp_path / uri).read_text().split("\n")
    cells = lines[3001].split(",")
    lines[3001] = ",".join([cells[0], cell, *cells[2:]])
    (tmp_path / uri).write_text("\n".join(lines))
    with pytest.raises(StreamReadError, match=pattern):
        read(uri, tmp_path, None)


def test_blank_cells_of_a_large_csv_are_no_numbers(tmp_path: Path) -> None:
    rows = "".join(f"{k},{'' if k % 2 else k},2,3\n" for k in range(N))
    (tmp_path / "t.csv").write_text("timestamp_ns,gyro_x,gyro_y,gyro_z\n" + rows)
    stream = read("t.csv", tmp_path, None)
    assert np.count_nonzero(np.isnan(stream.channels[0].values)) == N // 2


def test_line_without_an_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_table, "LINE_BYTES", 2000)
    (tmp_path / "t.csv").write_bytes(b"timestamp_ns," + b"x" * 5000)
    with pytest.raises(StreamReadError, match=r"t\.csv: a line is longer .* export it again"):
        read("t.csv", tmp_path, None)


def test_run_of_one_value_counts_by_its_cells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "TABLE_BYTES", 1 << 16)
    table = pa.table({n: np.zeros(N) for n in ("timestamp_ns", "gyro_x", "gyro_y", "gyro_z")})
    pq.write_table(table, tmp_path / "t.parquet", compression="zstd")
    assert (tmp_path / "t.parquet").stat().st_size < 1 << 12
    with pytest.raises(StreamReadError, match=r"unpacks to more than .* row group 0"):
        read("t.parquet", tmp_path, None)


def test_array_header_that_states_more_than_the_file_holds_is_refused(tmp_path: Path) -> None:
    header = {"descr": "<i8", "fortran_order": False, "shape": (10**12,)}
    with (tmp_path / "timestamp_ns.npy").open("wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
    with pytest.raises(StreamReadError, match="states 1000000000000 numbers, which take"):
        read("timestamp_ns.npy", tmp_path, None)


def test_window_of_a_large_csv_takes_no_more_than_some_blocks(tmp_path: Path) -> None:
    uri = write_csv(imu_table(START_NS + np.arange(10 * N) * 10_000_000), tmp_path)
    read(uri, tmp_path, NEAR_NS)  # imports
    size = (tmp_path / uri).stat().st_size
    usual = pa.default_memory_pool()
    pool = pa.proxy_memory_pool(usual)  # its peak is from this read alone
    pa.set_memory_pool(pool)
    try:
        read(uri, tmp_path, NEAR_NS)
    finally:
        pa.set_memory_pool(usual)
    held = pool.max_memory()
    assert 0 < held < size / 4


def test_large_csv_that_cannot_be_opened_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    uri = write_csv(imu_table(), tmp_path)

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(StreamReadError, match=r"t\.csv: no permission to read it"):
        read(uri, tmp_path, NEAR_NS)


def test_empty_arrays_are_empty(tmp_path: Path) -> None:
    np.save(tmp_path / "timestamp_ns.npy", np.empty(0, np.int64))
    for axis in "xyz":
        np.save(tmp_path / f"gyro_{axis}.npy", np.empty(0))
    stream = read_source("imu", ImuSpec(uri="."), str(tmp_path), near_ns=NEAR_NS)
    assert stream.time_ns.size == 0
