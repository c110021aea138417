"""What a starter rules file takes from the headers of tables."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from syncaudit.datasets.source import Source
from syncaudit.datasets.starter_rules import starter_rules


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (
            "time_us,gyro_x_dps,gyro_y_dps,gyro_z_dps,acc_x (g),acc_y (g),acc_z (g)",
            {"kind": "imu", "units": {"stamps": "us", "gyro": "dps", "accel": "g"}},
        ),
        ("t,wx,wy,wz", {"kind": "imu", "stamps": "t"}),
        (
            "Timestamp [ms],VehicleSpeed_kmh,YawRate",
            {"kind": "can", "units": {"stamps": "ms", "speed": "kmh"}},
        ),
        ("time (s),accel_x,accel_y,accel_z", {"kind": "imu", "units": {"stamps": "s"}}),
    ],
)
def test_units_in_headers_are_stated(header: str, expected: dict, tmp_path: Path) -> None:
    (tmp_path / "odd.csv").write_text(header + "\n")
    (source,) = tomllib.loads(starter_rules(Source(str(tmp_path)), "", [], ["odd.csv"]))["source"]
    assert expected.items() <= source.items()
    assert source.get("units") == expected.get("units")
