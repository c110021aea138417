"""Donkeycar tubs as written by its parts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from testkit.data_sets.stills import frame, jpeg

N_RECORDS = 6
BEGIN_MS = 1_600_000_000_123
PERIOD_MS = 50


def write_tubs(folder: Path, n_clips: int) -> Path:
    """Write a version 2 tub with the given number of sessions, four of them in one catalog."""
    root = folder / "mycar"
    tub = root / "tub_1"
    (tub / "images").mkdir(parents=True)
    lines = []
    for number in range(n_clips * N_RECORDS):
        name = f"{number}_cam_image_array_.jpg"
        (tub / "images" / name).write_bytes(jpeg(frame(number)))
        record = values(number, name) | {
            "_index": number,
            "_session_id": f"21-06-25_{number // N_RECORDS}",
            "_timestamp_ms": BEGIN_MS + number * PERIOD_MS,
        }
        lines.append(json.dumps(record, sort_keys=True) + "\r\n")
    catalogs = []
    for begin in range(0, len(lines), 4 * N_RECORDS):
        catalogs.append(f"catalog_{len(catalogs)}.catalog")
        (tub / catalogs[-1]).write_text("".join(lines[begin : begin + 4 * N_RECORDS]), newline="")
    about = [[], [], {}, {}, {"paths": catalogs, "deleted_indexes": [2]}]
    (tub / "manifest.json").write_text("\r\n".join(map(json.dumps, about)))
    return root


def write_old_tub(folder: Path, **more: list[Any]) -> Path:
    """Write a version 1 tub, one file per record; `more` maps keys to one value per record."""
    tub = folder / "tub_2_19-08-01"
    tub.mkdir(parents=True)
    (tub / "meta.json").write_text(json.dumps({"inputs": [], "types": []}))
    for number in range(N_RECORDS):
        name = f"{number}_cam-image_array_.jpg"
        (tub / name).write_bytes(jpeg(frame(number)))
        record = values(number, name) | {key: items[number] for key, items in more.items()}
        (tub / f"record_{number}.json").write_text(json.dumps(record))
    return tub


def values(number: int, name: str) -> dict[str, Any]:
    """Return the records of a car with an IMU and an encoder."""
    turn = (number % 5 - 2) / 4
    return {
        "cam/image_array": name,
        "user/angle": turn,
        "user/throttle": 0.3,
        "user/mode": "user",
        "imu/acl_x": 0.1,
        "imu/acl_y": turn,
        "imu/acl_z": 9.8,
        "imu/gyr_x": 0.0,
        "imu/gyr_y": 0.0,
        "imu/gyr_z": 90.0 * turn,
        "enc/speed": 1.5 + turn,
    }
