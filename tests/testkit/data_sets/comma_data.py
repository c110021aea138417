"""comma2k19 segments in the published layout: arrays without a suffix, and a raw HEVC stream."""

from __future__ import annotations

from pathlib import Path

import numpy as np

ROUTE = "b0c9d2329ad1606b|2018-08-02--08-34-47"
BOOT_S = 2413.125
VIDEO = b"not looked at"


def save(path: Path, array: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:  # numpy.save would add .npy
        np.save(file, array)


def write_comma2k19(folder: Path, n_clips: int) -> Path:
    root = folder / "Chunk_1"
    for number in range(n_clips):
        segment = root / ROUTE / str(number)
        begin_s = BOOT_S + 60 * number
        log = segment / "processed_log"
        for name, rate_hz, width in (
            ("IMU/gyro", 100, 3),
            ("IMU/accelerometer", 100, 3),
            ("IMU/magnetometer", 10, 3),
            ("CAN/speed", 50, 1),
            ("CAN/wheel_speed", 50, 4),
            ("CAN/steering_angle", 50, 0),
            ("GNSS/live_gnss_qcom", 10, 6),
        ):
            t = begin_s + np.arange(2 * rate_hz) / rate_hz
            value = np.outer(np.arange(len(t)), np.arange(1, width + 1)) if width else t * 2
            save(log / name / "t", t)
            save(log / name / "value", value.astype(np.float64))
        frame_times = begin_s + np.arange(40) / 20
        save(segment / "global_pose/frame_times", frame_times)
        save(segment / "global_pose/frame_velocities", np.ones((40, 3)))
        save(segment / "global_pose/frame_positions", np.zeros((40, 3)))
        (segment / "video.hevc").write_bytes(VIDEO)
    return root
