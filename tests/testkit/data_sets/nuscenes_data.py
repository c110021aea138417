"""A nuScenes data set in the published schema: tables, images and the CAN bus expansion."""

from __future__ import annotations

import json
from pathlib import Path

import cv2
import numpy as np

CAMERAS = ("CAM_FRONT", "CAM_BACK")
N_SAMPLES = 2
SWEEPS_PER_SAMPLE = 3
PERIOD_US = 83_333
# The second camera fires half a lidar revolution later.
PHASE_US = {"CAM_FRONT": 0, "CAM_BACK": 25_000}
START_US = 1_532_402_927_647_951
FOCAL_PX = 1266.4


def write_nuscenes(folder: Path, n_clips: int, version: str = "v1.0-mini") -> Path:
    """Write the scenes of one log; the images of all scenes share the same folders."""
    root = folder / "nuscenes"
    tables: dict[str, list[dict[str, object]]] = {
        "sensor": [
            *({"token": f"s-{name}", "channel": name, "modality": "camera"} for name in CAMERAS),
            {"token": "s-lidar", "channel": "LIDAR_TOP", "modality": "lidar"},
        ],
        "calibrated_sensor": [
            *(
                {
                    "token": f"c-{name}",
                    "sensor_token": f"s-{name}",
                    "camera_intrinsic": [[FOCAL_PX, 0, 816.2], [0, FOCAL_PX, 491.5], [0, 0, 1]],
                }
                for name in CAMERAS
            ),
            {"token": "c-lidar", "sensor_token": "s-lidar", "camera_intrinsic": []},
        ],
        "log": [{"token": "log", "logfile": "n015-2018-07-24-11-22-45+0800"}],
        "scene": [],
        "sample": [],
        "sample_data": [],
    }
    frame = cv2.imencode(".jpg", np.full((90, 160), 128, np.uint8))[1].tobytes()
    for kind in ("samples", "sweeps"):
        for name in CAMERAS:
            (root / kind / name).mkdir(parents=True)
    (root / "can_bus").mkdir()
    for number in range(n_clips):
        scene = f"scene-{number + 1:04d}"
        begin_us = START_US + number * 20_000_000
        tables["scene"].append({"token": f"t-{scene}", "name": scene, "log_token": "log"})
        _write_bus(root / "can_bus", scene, begin_us)
        for sample in range(N_SAMPLES):
            token = f"{scene}-{sample}"
            tables["sample"].append({"token": token, "scene_token": f"t-{scene}"})
            tables["sample_data"].append(_row(token, "lidar", begin_us, "samples/LIDAR_TOP/a.bin"))
            for name in CAMERAS:
                for sweep in range(SWEEPS_PER_SAMPLE):
                    index = sample * SWEEPS_PER_SAMPLE + sweep
                    time_us = begin_us + index * PERIOD_US + PHASE_US[name]
                    kind = "samples" if sweep == 0 else "sweeps"
                    file = f"{kind}/{name}/n015__{name}__{time_us}.jpg"
                    (root / file).write_bytes(frame)
                    tables["sample_data"].append(_row(token, name, time_us, file))
    # Table rows are unordered.
    tables["sample_data"] = tables["sample_data"][::-1]
    (root / version).mkdir()
    for name, rows in tables.items():
        (root / version / f"{name}.json").write_text(json.dumps(rows, indent=0))
    return root


def _row(sample: str, mount: str, time_us: int, file: str) -> dict[str, object]:
    return {
        "token": f"{mount}-{time_us}",
        "sample_token": sample,
        "ego_pose_token": "p",
        "calibrated_sensor_token": f"c-{mount}",
        "timestamp": time_us,
        "filename": file,
        "is_key_frame": file.startswith("samples"),
    }


def _write_bus(folder: Path, scene: str, begin_us: int) -> None:
    def write(message: str, period_us: int, **values: object) -> None:
        rows = [{"utime": begin_us + k * period_us, **values} for k in range(8)]
        (folder / f"{scene}_{message}.json").write_text(json.dumps(rows))

    write("ms_imu", 10_000, linear_accel=[0.1, 0.2, 9.8], q=[1, 0, 0, 0], rotation_rate=[0, 0, 0.3])
    write("pose", 20_000, pos=[1, 2, 3], vel=[7, 0, 0], orientation=[1, 0, 0, 0])
    write("steeranglefeedback", 10_000, value=-0.5)
    write("vehicle_monitor", 500_000, vehicle_speed=36.0, yaw_rate=90.0, steering=180.0, brake=3)
    write("zoesensors", 1_000, brake_sensor=0.39, steering_sensor=1.0, throttle_sensor=2.0)
    write("zoe_veh_info", 10_000, FL_wheel_speed=60.0, odom_speed=18.0, transversal_accel=0.5)
