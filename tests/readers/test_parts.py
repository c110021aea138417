"""Parts of files that hold several clips, arrays instead of tables, timestamps in seconds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from syncaudit.errors import StreamReadError
from syncaudit.model import (
    CameraSpec,
    CameraStream,
    CanSpec,
    EventsSpec,
    ImuSpec,
    SignalStream,
    StateSpec,
)
from syncaudit.model.units import stamps_of_seconds
from syncaudit.readers import read_source
from syncaudit.readers.tables import read_table

Put = Callable[..., str]


def signals(spec: Any, folder: Path) -> SignalStream:
    stream = read_source("it", spec, str(folder))
    assert isinstance(stream, SignalStream)
    return stream


def test_rows_are_those_of_the_clip(samples: Mapping[str, Any], tmp_path: Path) -> None:
    spec = samples["state part"].put(tmp_path)
    stream = signals(spec, tmp_path)
    times_s = (np.arange(2, 12) / 30).astype(np.float32).astype(np.float64)
    np.testing.assert_array_equal(stream.time_ns, np.rint(times_s * 1e9))
    np.testing.assert_array_equal(stream.channels[0].values[:, 1], np.arange(2, 12))


def test_elements_of_lists_are_columns(samples: Mapping[str, Any], tmp_path: Path) -> None:
    imu = signals(samples["imu part"].put(tmp_path), tmp_path)
    assert imu.channels[0].values[0].tolist() == [1.0, 2.0, 2.0]
    can = signals(samples["can part"].put(tmp_path), tmp_path)
    assert can.channels[0].values[:, 0].tolist() == list(range(2, 12))


def test_only_the_row_groups_of_the_clip_are_read(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    n = 10_000
    table = pa.table({"timestamp_ns": np.arange(n), "q": np.arange(n) * 0.5})
    pq.write_table(table, path, row_group_size=100, compression="none")
    whole = path.read_bytes()
    # Everything except row groups 4200 to 4399 is overwritten: it must not be read.
    metadata = pq.ParquetFile(path).metadata
    kept = [metadata.row_group(g).column(c) for g in (42, 43) for c in (0, 1)]
    damaged = bytearray(whole)
    first = min(column.dictionary_page_offset or column.data_page_offset for column in kept)
    last = max(
        (column.dictionary_page_offset or column.data_page_offset) + column.total_compressed_size
        for column in kept
    )
    footer = len(whole) - int.from_bytes(whole[-8:-4], "little") - 8
    damaged[4:first] = b"\xff" * (first - 4)
    damaged[last:footer] = b"\xff" * (footer - last)
    path.write_bytes(bytes(damaged))
    part = read_table(str(path), rows=(4250, 4320))
    np.testing.assert_array_equal(part.stamps(), np.arange(4250, 4320))
    assert part.where(3) == "row 4253"


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_table_that_ends_before_its_rows_is_told(form: str, tmp_path: Path) -> None:
    path = tmp_path / f"t.{form}"
    if form == "csv":
        path.write_text("timestamp_ns,q\n" + "".join(f"{k},{k}\n" for k in range(5)))
    else:
        pq.write_table(pa.table({"timestamp_ns": range(5), "q": range(5)}), path)
    stream = signals(StateSpec(uri=str(path), rows=[3, 9]), tmp_path)
    assert stream.time_ns.tolist() == [3, 4]
    [finding] = stream.findings
    assert finding.code == "length_mismatch"
    assert "has 5 rows, but the clip is rows 3 to 8" in finding.message


def test_lines_are_counted_from_the_start_of_the_file(put: Put, tmp_path: Path) -> None:
    path = put("t.csv", "timestamp_ns,q\n1,1\n2,2\n3,x\n")
    with pytest.raises(StreamReadError, match=r"line 4: 'q' is 'x'"):
        signals(StateSpec(uri=path, rows=[1, 3], columns={"q": ["q"]}), tmp_path)


def test_seconds_are_read_only_where_the_manifest_names_them(put: Put, tmp_path: Path) -> None:
    path = put("t.csv", "timestamp_ns,t,q\n1.5,0.25,1\n2.5,0.75,2\n")
    spec = StateSpec(uri=path, stamps="t", columns={"q": ["q"]})
    assert signals(spec, tmp_path).time_ns.tolist() == [250_000_000, 750_000_000]
    with pytest.raises(StreamReadError, match="expected integer nanoseconds"):
        signals(StateSpec(uri=path, columns={"q": ["q"]}), tmp_path)


def test_integers_named_by_the_manifest_are_nanoseconds(put: Put, tmp_path: Path) -> None:
    path = put("t.csv", "clock,q\n1767225600000000001,1\n1767225600000000003,2\n")
    spec = StateSpec(uri=path, stamps="clock")
    stream = signals(spec, tmp_path)
    assert stream.time_ns.tolist() == [1767225600000000001, 1767225600000000003]
    assert [channel.name for channel in stream.channels] == ["q"]


@pytest.mark.parametrize(
    ("cell", "pattern"),
    [
        ("nan", r"line 3: 't' is nan, expected seconds"),
        ("1767225600.5", "are not seconds since a start"),
    ],
)
def test_seconds_that_cannot_be_are_refused(
    put: Put, tmp_path: Path, cell: str, pattern: str
) -> None:
    path = put("t.csv", f"t,q\n0.5,1\n{cell},2\n")
    with pytest.raises(StreamReadError, match=pattern):
        signals(StateSpec(uri=path, stamps="t"), tmp_path)


def test_stamps_of_seconds_refuses_what_is_no_time() -> None:
    assert stamps_of_seconds([0.1, -2.5]).tolist() == [100_000_000, -2_500_000_000]
    with pytest.raises(ValueError, match="time 1 is not finite"):
        stamps_of_seconds([0.0, np.inf])
    with pytest.raises(OverflowError, match="30 days"):
        stamps_of_seconds([1e9])


def test_an_element_that_is_not_there_is_told(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"timestamp_ns": [1, 2], "v": [[1.0], [2.0]], "w": [1, 2]}), path)
    for column, pattern in (("v[1]", "lists of 1, so there is no 'v"), ("w[0]", "single numbers")):
        with pytest.raises(StreamReadError, match=pattern):
            signals(CanSpec(uri=str(path), signals={"speed": column}), tmp_path)


def test_columns_that_were_not_read_are_suggested(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"timestamp_ns": [1], "speed_kmh": [1.0]}), path)
    with pytest.raises(StreamReadError, match=r"found: timestamp_ns, speed_kmh.*'speed_kmh'\?"):
        signals(CanSpec(uri=str(path), signals={"speed": "speed_kmph"}), tmp_path)


def test_raw_logs_have_no_rows(samples: Mapping[str, Any], tmp_path: Path) -> None:
    sample = samples["can .log"].changed(rows=[0, 3])
    with pytest.raises(StreamReadError, match="are for tables, and this is a raw log"):
        read_source("it", sample.put(tmp_path), str(tmp_path))


@pytest.mark.parametrize("suffix", ["", ".npy"])
def test_a_folder_of_arrays_is_a_table(suffix: str, tmp_path: Path) -> None:
    for name, array in {
        "t": np.array([5.0, 5.01]),
        "value": np.array([[1, 2, 3], [4, 5, 6]], dtype=">f4"),
        "other": np.zeros(9),  # not requested, so its length does not matter
    }.items():
        with (tmp_path / f"{name}{suffix}").open("wb") as file:
            np.save(file, array)
    columns = {f"gyro_{axis}": f"value[{k}]" for k, axis in enumerate("xyz")}
    stream = signals(ImuSpec(uri=".", stamps="t", columns=columns), tmp_path)
    assert stream.time_ns.tolist() == [5_000_000_000, 5_010_000_000]
    assert stream.channels[0].values.tolist() == [[1, 2, 3], [4, 5, 6]]


def test_one_array_is_a_table_of_one_column(tmp_path: Path) -> None:
    np.save(tmp_path / "pulses.npy", np.array([1, 5, 9]))
    stream = read_source("it", EventsSpec(uri="pulses.npy", stamps="pulses"), str(tmp_path))
    assert stream.time_ns.tolist() == [1, 5, 9]


@pytest.mark.parametrize(
    ("array", "pattern"),
    [
        (np.zeros((2, 2, 2)), "3 dimensions"),
        (np.array(["a", "b"]), "not an array of numbers"),
        (np.array([{}, {}]), "not an intact NumPy array.*without Python objects"),
    ],
)
def test_arrays_that_are_no_columns_are_refused(
    tmp_path: Path, array: np.ndarray[Any, Any], pattern: str
) -> None:
    np.save(tmp_path / "t.npy", array)
    with pytest.raises(StreamReadError, match=pattern):
        read_source("it", EventsSpec(uri="t.npy", stamps="t"), str(tmp_path))


def test_frames_of_a_span_are_those_of_the_clip(samples: Mapping[str, Any], tmp_path: Path) -> None:
    stream = read_source("it", samples["camera part"].put(tmp_path), str(tmp_path))
    assert isinstance(stream, CameraStream)
    assert stream.n_frames_container == stream.time_ns.size == 5
    assert stream.findings == ()


def test_container_stamps_of_a_span_count_from_presentation_time_0(
    samples: Mapping[str, Any], tmp_path: Path
) -> None:
    samples["camera a.mp4"].put(tmp_path)
    spec = CameraSpec(uri="a.mp4", start_ns=-100_000_000, pts_ns=[90_000_000, 250_000_000])
    stream = read_source("it", spec, str(tmp_path))
    np.testing.assert_allclose(stream.time_ns, np.arange(5) * 1e9 / 30, rtol=0, atol=1)
    assert stream.findings == ()


def test_images_are_taken_in_the_order_of_the_table(
    samples: Mapping[str, Any], tmp_path: Path
) -> None:
    stream = read_source("it", samples["camera named"].put(tmp_path), str(tmp_path))
    assert isinstance(stream, CameraStream)
    assert [Path(path).name for path in stream.files.paths] == [f"f{k}.jpg" for k in (7, 2, 1, 0)]


@pytest.mark.parametrize(
    ("names", "pattern"), [([None, "a.jpg"], "blank or not text"), ([], "names no image")]
)
def test_tables_without_names_of_images_are_refused(
    names: list[str | None], pattern: str, tmp_path: Path
) -> None:
    table = pa.table(
        {
            "timestamp_ns": pa.array(range(len(names)), pa.int64()),
            "file": pa.array(names, pa.string()),
        }
    )
    pq.write_table(table, tmp_path / "s.parquet")
    with pytest.raises(StreamReadError, match=pattern):
        read_source("it", CameraSpec(uri=".", timestamps="s.parquet"), str(tmp_path))


def test_a_column_of_lists_is_no_axis(tmp_path: Path) -> None:
    for name, array in (("timestamp_ns", np.arange(5)), ("gyro_x", np.zeros(5))):
        np.save(tmp_path / f"{name}.npy", array)
    np.save(tmp_path / "gyro_y.npy", np.zeros((5, 2)))
    np.save(tmp_path / "gyro_z.npy", np.zeros(5))
    with pytest.raises(StreamReadError, match="'gyro_y' holds lists, expected one number per row"):
        read_source("imu", ImuSpec(uri="."), base_uri=str(tmp_path))


def test_an_array_whose_header_never_closes_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "timestamp_ns.npy", np.arange(5))
    data = (tmp_path / "timestamp_ns.npy").read_bytes()
    (tmp_path / "timestamp_ns.npy").write_bytes(data.replace(b"}   ", b"} ( ", 1))
    with pytest.raises(StreamReadError, match="not an intact NumPy array"):
        read_source("imu", ImuSpec(uri="."), base_uri=str(tmp_path))


def test_element_of_an_empty_column_of_lists_is_empty(tmp_path: Path) -> None:
    lists = pa.array([], pa.list_(pa.float64()))
    pq.write_table(pa.table({"timestamp_ns": [], "gyro": lists}), tmp_path / "t.parquet")
    table = read_table(str(tmp_path / "t.parquet"), columns=("timestamp_ns", "gyro[1]"))
    assert table.numbers("gyro[1]").shape == (0,)
