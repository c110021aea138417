"""Units stated by a manifest: timestamps, inertial triples, signals of a bus."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

from syncaudit.detectors import detect_motion
from syncaudit.errors import ClipInputError, StreamReadError
from syncaudit.model import CameraSpec, CanSpec, EventsSpec, ImuSpec, SignalStream, StateSpec
from syncaudit.readers import read_source
from syncaudit.readers.camera import FrameStamps

N = 200
START_NS = 1_700_000_000_123_456_000
TIME_NS = START_NS + np.arange(N) * 10_000_000
FACTORS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}


def write(folder: Path, name: str, columns: dict[str, np.ndarray]) -> str:
    table = pa.table(columns)
    if name.endswith(".csv"):
        csv.write_csv(table, folder / name)
    else:
        pq.write_table(table, folder / name)
    return name


def motion(seed: int = 1) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        f"{triple}_{axis}": rng.normal(size=N) + (9.8 if (triple, axis) == ("accel", "z") else 0.0)
        for triple in ("gyro", "accel")
        for axis in "xyz"
    }


def read(spec, folder: Path) -> SignalStream:
    return read_source("it", spec, str(folder))


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
@pytest.mark.parametrize("unit", ["us", "ms"])
def test_integer_stamps_of_another_unit_are_exact(unit: str, name: str, tmp_path: Path) -> None:
    stamps = TIME_NS // FACTORS[unit]
    uri = write(tmp_path, name, {"t": stamps, **motion()})
    stream = read(ImuSpec(uri=uri, stamps="t", units={"stamps": unit}), tmp_path)
    np.testing.assert_array_equal(stream.time_ns, stamps * FACTORS[unit])


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_unix_seconds_as_floats_are_read_where_they_are_stated(name: str, tmp_path: Path) -> None:
    uri = write(tmp_path, name, {"t": TIME_NS * 1e-9, **motion()})
    with pytest.raises(StreamReadError, match=r"'units': \{'stamps': 's'\}"):
        read(ImuSpec(uri=uri, stamps="t"), tmp_path)
    stream = read(ImuSpec(uri=uri, stamps="t", units={"stamps": "s"}), tmp_path)
    # Half a float64 step of unix seconds, and the test's own rounding.
    assert np.abs(stream.time_ns - TIME_NS).max() < 500


def test_floats_of_32_bits_are_refused_where_they_hold_no_time(tmp_path: Path) -> None:
    stamps = (TIME_NS * 1e-9).astype(np.float32)
    uri = write(tmp_path, "t.parquet", {"t": stamps, **motion()})
    with pytest.raises(StreamReadError, match="floats of 32 bits"):
        read(ImuSpec(uri=uri, stamps="t", units={"stamps": "s"}), tmp_path)
    uri = write(tmp_path, "u.parquet", {"t": np.arange(N, dtype=np.float32) / 64.0, **motion()})
    stream = read(ImuSpec(uri=uri, stamps="t", units={"stamps": "s"}), tmp_path)
    np.testing.assert_array_equal(stream.time_ns, np.arange(N) * 15_625_000)


@pytest.mark.parametrize("cells", [np.full(N, 2**62), np.r_[np.arange(N - 1), np.inf]])
def test_times_that_nanoseconds_cannot_hold_are_told(cells: np.ndarray, tmp_path: Path) -> None:
    uri = write(tmp_path, "t.parquet", {"t": cells, **motion()})
    with pytest.raises(StreamReadError, match="out of range for int64 nanoseconds"):
        read(ImuSpec(uri=uri, stamps="t", units={"stamps": "s"}), tmp_path)


def test_every_kind_of_table_takes_the_unit_of_its_stamps(tmp_path: Path) -> None:
    stamps = TIME_NS // 1000
    uri = write(tmp_path, "t.csv", {"timestamp_ns": stamps, "v": np.arange(N) * 1.0})
    units = {"stamps": "us"}
    frames = FrameStamps.read(CameraSpec(uri="c.mp4", timestamps=uri, units=units), str(tmp_path))
    streams = [
        frames,
        read(EventsSpec(uri=uri, units=units), tmp_path),
        read(StateSpec(uri=uri, units=units), tmp_path),
        read(CanSpec(uri=uri, signals={"speed": "v"}, units=units), tmp_path),
    ]
    for stream in streams:
        np.testing.assert_array_equal(stream.time_ns, stamps * 1000)


def test_rows_near_a_window_are_found_in_their_unit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from syncaudit.readers import parquet

    monkeypatch.setattr(parquet, "_MANY_BYTES", 10)
    monkeypatch.setattr(parquet, "_MANY_ROWS", 20)
    uri = write(tmp_path, "t.parquet", {"timestamp_ns": TIME_NS // 1000, **motion()})
    spec = ImuSpec(uri=uri, units={"stamps": "us"})
    near = (int(TIME_NS[50]), int(TIME_NS[80]))
    stream = read_source("it", spec, str(tmp_path), near_ns=near)
    assert stream.time_ns[[0, -1]].tolist() == [int(TIME_NS[50]), int(TIME_NS[79])]


def test_signals_of_another_unit_become_si(tmp_path: Path) -> None:
    values = motion()
    stated = {name: column * (180.0 / np.pi) for name, column in values.items() if "gyro" in name}
    stated |= {name: column / 9.80665 for name, column in values.items() if "accel" in name}
    uri = write(tmp_path, "t.csv", {"timestamp_ns": TIME_NS, **stated})
    stream = read(ImuSpec(uri=uri, units={"gyro": "deg/s", "accel": "g"}), tmp_path)
    assert not stream.findings
    for found, triple in zip(detect_motion(stream), ("gyro", "accel"), strict=True):
        expected = np.stack([values[f"{triple}_{axis}"] for axis in "xyz"], axis=1)
        np.testing.assert_allclose(found.values, expected, rtol=1e-9)
        assert found.is_si


def test_roles_of_a_bus_take_their_unit(tmp_path: Path) -> None:
    uri = write(tmp_path, "t.csv", {"timestamp_ns": TIME_NS, "v": np.full(N, 36.0)})
    spec = CanSpec(uri=uri, signals={"speed": "v"}, units={"speed": "km/h"})
    (speed,) = detect_motion(read(spec, tmp_path))
    np.testing.assert_allclose(speed.values, 10.0)


@pytest.mark.parametrize(
    ("units", "message"),
    [
        ({"gyroscope": "deg/s"}, "names 'gyroscope', which it does not have.*'gyro'"),
        ({"gyro": "km/h"}, "gives 'km/h' as the unit of gyro, which is not a known unit"),
        ({"stamps": "seconds"}, "gives 'seconds' as the unit of stamps"),
    ],
)
def test_wrong_units_are_told(units: dict[str, str], message: str, tmp_path: Path) -> None:
    uri = write(tmp_path, "t.csv", {"timestamp_ns": TIME_NS, **motion()})
    with pytest.raises(ClipInputError, match=message) as caught:
        read(ImuSpec(uri=uri, units=units), tmp_path)
    assert caught.value.code == "manifest"


def test_an_accelerometer_that_shows_one_g_is_told_with_the_cure(tmp_path: Path) -> None:
    values = {name: 0.05 * column for name, column in motion().items()}
    values["accel_z"] = values["accel_z"] + 0.5
    uri = write(tmp_path, "t.csv", {"timestamp_ns": TIME_NS, **values})
    (finding,) = read(ImuSpec(uri=uri), tmp_path).findings
    assert '"units": {"accel": "g"}' in finding.message
    assert not read(ImuSpec(uri=uri, units={"accel": "g"}), tmp_path).findings


def test_accelerations_without_gravity_are_not_taken_for_g(tmp_path: Path) -> None:
    values = {name: 0.6 * column for name, column in motion().items()}
    values["accel_z"] = values["accel_z"] - 0.6 * 9.8
    uri = write(tmp_path, "t.csv", {"timestamp_ns": TIME_NS, **values})
    assert not read(ImuSpec(uri=uri), tmp_path).findings
