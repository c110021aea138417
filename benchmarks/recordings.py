"""The real recordings of ../shared/realdata as clips: whole, thinned out, cut, or shifted.

Their known properties and the sources of these are in the README of that folder. Used by
`benchmarks/realdata.py` and by `tests/realdata`.
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syncaudit.datasets import load_manifest
from syncaudit.model import Clip
from syncaudit.readers.telemetry import read_telemetry

REALDATA = Path(
    os.environ.get("SYNCAUDIT_REALDATA", Path(__file__).resolve().parents[2] / "shared/realdata")
)
EPOCH_NS = 1_767_225_600_000_000_000

Floats = NDArray[np.float64]


def phone_clip(
    folder: Path,
    *,
    every: int = 1,
    first: int = 0,
    stop: int | None = None,
    imu: str = "imu.csv",
) -> Clip:
    """Return the phone's camera and gyro: frames ``first:stop:every``.

    Known: camera -> gyro 9.98 +- 0.5 ms with the timestamps unchanged.
    """
    source = REALDATA / "phone_gyro"
    with (source / "frames.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))[first:stop:every]
    pictures = folder / "frames"
    pictures.mkdir(parents=True, exist_ok=True)
    for row in rows:
        name = f"{int(row['frame']):06d}.jpg"
        if not (pictures / name).exists():
            (pictures / name).symlink_to((source / "frames" / name).resolve())
    write_csv(folder / "frames.csv", ["timestamp_ns"], [[row["timestamp_ns"]] for row in rows])
    camera = {
        "kind": "camera",
        "uri": "frames/*.jpg",
        "timestamps": "frames.csv",
        "focal_px": 574.4,
    }
    return clip_of(folder, {"cam": camera, "imu": {"kind": "imu", "uri": str(source / imu)}})


def two_imus_clip(folder: Path, *, sixteenths: int = 0, skip: int = 0) -> tuple[Clip, float]:
    """Return two gyroscopes on one board, the phone's timestamps moved by sixteenths of its period.

    The phone's first `skip` samples are left out, so that any resampling grid of an estimator moves
    relative to the signal as well. Known: phone -> mcu -947848.6384 s within 100 us, less the move.

    Returns
    -------
    clip : Clip
    moved_s : float
        What was added to the timestamps of the phone.
    """
    source = REALDATA / "two_imus"
    folder.mkdir(parents=True, exist_ok=True)
    with (source / "phone.csv").open(encoding="utf-8", newline="") as file:
        header, *rows = list(csv.reader(file))
    stamps = np.array([int(row[0]) for row in rows], dtype=np.int64)
    moved_ns = round(float(np.median(np.diff(stamps))) * sixteenths / 16)
    moved = [[str(int(row[0]) + moved_ns), *row[1:]] for row in rows[skip:]]
    write_csv(folder / "phone.csv", header, moved)
    mcu = {"kind": "imu", "uri": str(source / "mcu.csv")}
    return clip_of(
        folder, {"mcu": mcu, "phone": {"kind": "imu", "uri": "phone.csv"}}
    ), 1e-9 * moved_ns


def mocap_clip(folder: Path, *, start_s: float = 0.0, stop_s: float | None = None) -> Clip:
    """Return an IMU and the angular rate of an optically tracked marker frame fixed to it.

    Times are in seconds after the movement begins. Known: motion capture -> gyro 4.15 +- 0.1 ms.
    """
    import h5py

    (path,) = (REALDATA / "imu_mocap").glob("*.hdf5")
    with h5py.File(path) as file:
        gyro = np.asarray(file["imu_gyr"])
        quaternions = np.asarray(file["opt_quat"])
        moving = np.flatnonzero(np.asarray(file["movement"]))
        rate_hz = float(file.attrs["sampling_rate"])
    times_s = (np.arange(len(gyro)) - moving[0]) / rate_hz
    last_s = times_s[moving[-1]] if stop_s is None else stop_s
    keep = (times_s >= start_s) & (times_s < last_s)
    imu_times_s, gyro = times_s[keep], gyro[keep]
    mid_s, rates = rate_of_orientation(times_s[keep], quaternions[keep])
    folder.mkdir(parents=True, exist_ok=True)
    write_gyro(folder / "imu.csv", imu_times_s, gyro)
    write_gyro(folder / "mocap.csv", mid_s, rates)
    return clip_of(
        folder,
        {
            "imu": {"kind": "imu", "uri": "imu.csv"},
            "mocap": {"kind": "imu", "uri": "mocap.csv"},
        },
    )


def drive_clip() -> Clip:
    """Return 30 s of a real drive: CAN log and IMU."""
    (clip,) = load_manifest(str(REALDATA / "drive_can_imu" / "manifest.jsonl"))
    return clip


def pose_clip(folder: Path) -> Clip:
    """Return the drive's pose at 20 Hz, as angular rate, together with its IMU."""
    source = REALDATA / "drive_can_imu"
    with (source / "pose.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    time_ns = np.array([int(row["timestamp_ns"]) for row in rows], dtype=np.int64)
    quaternions = np.array([[float(row[key]) for key in ("qw", "qx", "qy", "qz")] for row in rows])
    mid_s, rates = rate_of_orientation(1e-9 * (time_ns - time_ns[0]), quaternions)
    folder.mkdir(parents=True, exist_ok=True)
    write_gyro(folder / "pose.csv", mid_s, rates, epoch_ns=int(time_ns[0]))
    return clip_of(
        folder,
        {
            "imu": {"kind": "imu", "uri": str(source / "imu.csv")},
            "pose": {"kind": "imu", "uri": "pose.csv"},
        },
    )


def gimbal_clip(folder: Path, *, fov_deg: float | None = None) -> Clip:
    """Return the drone's video and the gyro of its body, which the camera does not follow."""
    path = REALDATA / "drone_gimbal" / "karma.mp4"
    times_s, gyro = gopro_samples(path)
    folder.mkdir(parents=True, exist_ok=True)
    write_gyro(folder / "imu.csv", times_s, gyro)
    camera: dict[str, Any] = {"kind": "camera", "uri": str(path), "start_ns": EPOCH_NS}
    if fov_deg is not None:
        camera["fov_deg"] = fov_deg
    return clip_of(folder, {"cam": camera, "imu": {"kind": "imu", "uri": "imu.csv"}})


def rate_of_orientation(times_s: Floats, quaternions: Floats) -> tuple[Floats, Floats]:
    """Return the angular rate in the body between successive orientations.

    Parameters
    ----------
    times_s : ndarray, shape (n,)
    quaternions : ndarray, shape (n, 4)
        World from body, w first; rows that are not finite are skipped.

    Returns
    -------
    mid_s : ndarray, shape (m,)
        Middle of each pair.
    rates : ndarray, shape (m, 3)
        Rotation vector from one to the next divided by the time between them, rad/s.
    """
    valid = np.all(np.isfinite(quaternions), axis=1)
    q, times_s = quaternions[valid], times_s[valid]
    w0, v0 = q[:-1, 0], -q[:-1, 1:]
    w1, v1 = q[1:, 0], q[1:, 1:]
    scalar = w0 * w1 - np.sum(v0 * v1, axis=1)
    vector = w0[:, None] * v1 + w1[:, None] * v0 + np.cross(v0, v1)
    vector = np.where(scalar[:, None] < 0, -vector, vector)
    norm = np.linalg.norm(vector, axis=1)
    angle = 2 * np.arctan2(norm, np.abs(scalar))
    factor = np.where(norm > 1e-12, angle / np.maximum(norm, 1e-12), 2.0)
    step_s = np.diff(times_s)
    return 0.5 * (times_s[1:] + times_s[:-1]), vector * (factor / step_s)[:, None]


def gopro_samples(path: Path, sensor: str = "gyro") -> tuple[Floats, Floats]:
    """Return the telemetry of a GoPro as read by the product.

    Returns
    -------
    times_s : ndarray, shape (n,)
        Container time in seconds.
    values : ndarray, shape (n, 3)
        In rad/s for ``gyro``, m/s^2 for ``accel``.
    """
    telemetry = read_telemetry(str(path))
    assert telemetry is not None, path
    samples = telemetry.sensors[sensor]
    return samples.times_s, samples.values


def write_gyro(path: Path, times_s: Floats, rates: Floats, *, epoch_ns: int = EPOCH_NS) -> None:
    """Write angular rates as an IMU table."""
    stamps = np.rint(times_s * 1e9).astype(np.int64) + epoch_ns
    rows = [
        [str(stamp), *(f"{value:.9g}" for value in rate)]
        for stamp, rate in zip(stamps.tolist(), rates.tolist(), strict=True)
    ]
    write_csv(path, ["timestamp_ns", "gyro_x", "gyro_y", "gyro_z"], rows)


def write_csv(path: Path, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Write a text table."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)


def clip_of(folder: Path, sources: dict[str, dict[str, Any]]) -> Clip:
    """Return the clip of a manifest row, which is written into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    row = {"clip_id": folder.name, "sources": sources}
    (folder / "manifest.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    (clip,) = load_manifest(str(folder / "manifest.jsonl"))
    return clip
