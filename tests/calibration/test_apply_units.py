"""`apply` to tables that are neither in nanoseconds nor in SI units."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from testkit.apply_clips import T0, S, calibration, corrected, manifest, stream_of

TIME_US = (T0 + np.arange(40) * S // 10) // 1000
ROWS = "".join(f"{t},1,2,3\n" for t in TIME_US)


@pytest.mark.parametrize(
    ("header", "spec"),
    [
        ("timestamp_ns,gyro_x,gyro_y,gyro_z", {}),
        ("t,gyro_x,gyro_y,gyro_z", {"stamps": "t"}),
        ("t,gyro_x,gyro_y,gyro_z", {"columns": {"timestamp_ns": "t"}}),
    ],
)
def test_stamps_of_another_unit_become_nanoseconds(
    header: str, spec: dict[str, object], tmp_path: Path
) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "imu.csv").write_text(f"{header}\n{ROWS}")
    units = {"stamps": "us", "gyro": "deg/s"}
    sources = {"imu": {"kind": "imu", "uri": "imu.csv", "units": units, **spec}}
    path = manifest(data, {"clip_id": "a", "sources": sources})
    corrected(calibration(tmp_path, imu={"offset_s": 0.0351}), path, tmp_path / "out")
    stream = stream_of(tmp_path / "out", "imu")
    np.testing.assert_array_equal(stream.time_ns, TIME_US * 1000 + 35_100_000)
    assert stream.channels[0].unit == "deg/s"
    row = json.loads((tmp_path / "out" / "manifest.jsonl").read_text())
    assert row["sources"]["imu"]["units"] == {"gyro": "deg/s"}


def test_a_bus_that_is_written_in_si_states_no_unit(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "can.csv").write_text("timestamp_ns,v\n" + "".join(f"{1000 * t},36\n" for t in TIME_US))
    units = {"speed": "km/h", "stamps": "ns"}
    sources = {"can": {"kind": "can", "uri": "can.csv", "signals": {"speed": "v"}, "units": units}}
    path = manifest(data, {"clip_id": "a", "sources": sources})
    corrected(calibration(tmp_path, can={"offset_s": 0.01}), path, tmp_path / "out")
    (speed,) = stream_of(tmp_path / "out", "can").channels
    scale = {"km/h": 1.0 / 3.6}.get(speed.unit, 1.0)
    np.testing.assert_allclose(scale * speed.values, 10.0)
