"""The recordings of ../shared/realdata with cameras and robots, car loggers, and speech.

Their known properties and the sources of these are in the README of that folder.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
from recordings import EPOCH_NS, REALDATA, clip_of, gopro_samples, write_csv, write_gyro

from syncaudit.datasets import load_manifest
from syncaudit.datasets.importing import import_dataset
from syncaudit.model import Clip

# From the tests published with the recording: video time + 407.58 = log time.
RACEBOX_S = 407.58
BRIDGE_HZ = 5.0


def decoded_drive_clip(folder: Path) -> Clip:
    """Return the drive with every signal of its bus as a table, each on a separate clock."""
    source = REALDATA / "drive_can_imu"
    sources: dict[str, dict[str, Any]] = {"imu": {"kind": "imu", "uri": str(source / "imu.csv")}}
    for role in ("yaw_rate", "lateral_accel", "speed", "steering_angle"):
        path = source / f"{role}.csv"
        sources[role] = {"kind": "can", "uri": str(path), "signals": {role: role}}
    return clip_of(folder, sources)


def knocks_clip(folder: Path) -> Clip:
    """Return the drone's microphone and its accelerometer: one device, no impact."""
    path = REALDATA / "drone_gimbal" / "karma.mp4"
    times_s, forces = gopro_samples(path, "accel")
    folder.mkdir(parents=True, exist_ok=True)
    _write_triples(folder / "accel.csv", times_s, forces, "accel")
    return clip_of(
        folder,
        {
            "mic": {"kind": "audio", "uri": str(path), "start_ns": EPOCH_NS},
            "accel": {"kind": "imu", "uri": "accel.csv"},
        },
    )


def racing_clip(folder: Path, *, span_s: tuple[float, float] = (0.0, 1e4)) -> Clip:
    """Return the camera's gyroscope and the car's logger: as an IMU, and as a bus.

    The logger's times are converted to video time with the offset that is known to 0.1 s.
    """
    source = REALDATA / "hero8_racebox"
    times_s, rates = gopro_samples(source / "gopro-hero8-black.mp4")
    log = np.genfromtxt(source / "racebox.csv", delimiter=",", names=True)
    log_s = log["Time"] - RACEBOX_S
    turned = np.radians(np.stack([log["GyroX"], log["GyroY"], log["GyroZ"]], axis=1))
    folder.mkdir(parents=True, exist_ok=True)
    keep = (times_s >= span_s[0]) & (times_s < span_s[1])
    write_gyro(folder / "gopro.csv", times_s[keep], rates[keep])
    keep = (log_s >= max(span_s[0], times_s[0])) & (log_s < min(span_s[1], times_s[-1]))
    write_gyro(folder / "logger.csv", log_s[keep], turned[keep])
    stamps = (EPOCH_NS + np.rint(1e9 * log_s[keep]).astype(np.int64)).tolist()
    rows = zip(stamps, log["KPH"][keep], log["GyroZ"][keep], strict=True)
    write_csv(
        folder / "bus.csv",
        ["timestamp_ns", "speed", "yaw_rate"],
        [
            [str(stamp), f"{speed / 3.6:.6g}", f"{np.radians(yaw):.6g}"]
            for stamp, speed, yaw in rows
        ],
    )
    return clip_of(
        folder,
        {
            "gopro": {"kind": "imu", "uri": "gopro.csv"},
            "logger": {"kind": "imu", "uri": "logger.csv"},
            "bus": {
                "kind": "can",
                "uri": "bus.csv",
                "signals": {"speed": "speed", "yaw_rate": "yaw_rate"},
            },
        },
    )


def cabin_clip(folder: Path) -> Clip:
    """Return the video of a cabin, which turns with its camera, and the camera's gyroscope."""
    path = REALDATA / "hero8_racebox" / "gopro-hero8-black.mp4"
    times_s, rates = gopro_samples(path)
    folder.mkdir(parents=True, exist_ok=True)
    write_gyro(folder / "imu.csv", times_s, rates)
    return clip_of(
        folder,
        {
            "cam": {"kind": "camera", "uri": str(path), "start_ns": EPOCH_NS},
            "imu": {"kind": "imu", "uri": "imu.csv"},
        },
    )


def fixed_cameras_clip(folder: Path) -> Clip:
    """Return four cameras that stand still around one walking person."""
    return clip_of(
        folder,
        {
            f"cam{k}": {
                "kind": "camera",
                "uri": str(REALDATA / "fixed_cameras" / f"cam0{k}.mp4"),
                "start_ns": EPOCH_NS,
            }
            for k in range(1, 5)
        },
    )


def humanoid_clips(folder: Path) -> list[Clip]:
    """Return the four episodes of a humanoid as imported."""
    import_dataset(str(REALDATA / "lerobot_g1"), folder / "m.jsonl", format_name="lerobot")
    return list(load_manifest(str(folder / "m.jsonl")))


def bridge_clips(folder: Path) -> list[Clip]:
    """Return the short episodes of the bridge data set, at the robot's control rate of 5 Hz."""
    manifest, rules = folder / "m.jsonl", {"rate_hz": BRIDGE_HZ}
    import_dataset(str(REALDATA / "rlds_bridge"), manifest, format_name="rlds", rules=rules)
    return list(load_manifest(str(manifest)))


def speech_clip(folder: Path, sound: str, tiers: dict[str, tuple[str, str]]) -> Clip:
    """Return a sound and tiers of transcripts, by name: (path in ../shared/realdata, tier)."""
    sources: dict[str, dict[str, Any]] = {
        "mic": {"kind": "audio", "uri": str(REALDATA / sound), "start_ns": EPOCH_NS}
    }
    for name, (uri, tier) in tiers.items():
        sources[name] = {
            "kind": "transcript",
            "uri": str(REALDATA / uri),
            "tier": tier,
            "audio": "mic",
        }
    return clip_of(folder, sources)


def _write_triples(path: Path, times_s: Any, values: Any, name: str) -> None:
    stamps = (EPOCH_NS + np.rint(1e9 * times_s).astype(np.int64)).tolist()
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["timestamp_ns", *(f"{name}_{axis}" for axis in "xyz")])
        writer.writerows([stamp, *row] for stamp, row in zip(stamps, values.tolist(), strict=True))
