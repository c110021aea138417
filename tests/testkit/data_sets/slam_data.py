"""Sequences of cameras and inertial sensors in the folders of EuRoC, KITTI and Argoverse 2."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pyarrow as pa
from pyarrow import feather
from scipy.spatial.transform import Rotation

START_NS = 1_403_636_579_763_555_584
PERIOD_NS = 50_000_000
N_FRAMES = 12
IMU_HEADER = (
    "#timestamp [ns],w_RS_S_x [rad s^-1],w_RS_S_y [rad s^-1],w_RS_S_z [rad s^-1],"
    "a_RS_S_x [m s^-2],a_RS_S_y [m s^-2],a_RS_S_z [m s^-2]"
)
SENSOR = """%YAML:1.0
sensor_type: camera
T_BS:
  cols: 4
  rows: 4
  data: [1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0,
         0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0]
intrinsics: [458.654, 457.296, 367.215, 248.375] #fu, fv, cu, cv
distortion_model: radial-tangential
distortion_coefficients: [-0.28340811, 0.07395907, 0.00019359, 1.76187114e-05]
"""
CALIBRATION = """calib_time: 09-Jan-2012 13:57:47
K_02: 9.597910e+02 0.000000e+00 6.960217e+02 0 9.569251e+02 2.241806e+02 0 0 1
D_02: -3.691481e-01 1.968681e-01 1.353473e-03 5.677587e-04 -6.770705e-02
P_rect_02: 7.215377e+02 0 6.095593e+02 4.485728e+01 0 7.215377e+02 1.728540e+02 0 0 0 1 0
"""


def write_image(path: Path, seed: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    cv2.imwrite(str(path), np.random.default_rng(seed).integers(0, 255, (48, 64), dtype=np.uint8))


def stamps(n: int = N_FRAMES, period_ns: int = PERIOD_NS) -> list[int]:
    return [START_NS + k * period_ns for k in range(n)]


def write_euroc(folder: Path, n_clips: int) -> Path:
    """Write sequences of two cameras at 20 Hz and an IMU at 200 Hz."""
    root = folder / "machine_hall"
    for number in range(n_clips):
        rig = root / f"MH_{number:02d}" / "mav0"
        for camera in ("cam0", "cam1"):
            for seed, stamp in enumerate(stamps()):
                write_image(rig / camera / "data" / f"{stamp}.png", seed)
            rows = [f"{stamp},{stamp}.png" for stamp in stamps()]
            (rig / camera / "data.csv").write_text(
                "\r\n".join(["#timestamp [ns],filename", *rows]) + "\r\n"
            )
            (rig / camera / "sensor.yaml").write_text(SENSOR)
        (rig / "imu0").mkdir()
        rows = [f"{t},0.1,0.2,0.{t % 7},9.8,0.1,0.2" for t in stamps(120, 5_000_000)]
        (rig / "imu0" / "data.csv").write_text("\n".join([IMU_HEADER, *rows]) + "\n")
        (rig / "leica0").mkdir()
    return root


def _dates(time_ns: list[int]) -> str:
    return "".join(f"{np.datetime64(t, 'ns')}\n".replace("T", " ") for t in time_ns)


def write_kitti(folder: Path, n_clips: int) -> Path:
    """Write synced drives of one day, each with one camera and navigation data at 20 Hz."""
    root = folder / "2011_09_26"
    root.mkdir(parents=True)
    (root / "calib_cam_to_cam.txt").write_text(CALIBRATION)
    for number in range(n_clips):
        drive = root / f"2011_09_26_drive_{number:04d}_sync"
        for name in ("image_02", "oxts", "velodyne_points"):
            (drive / name / "data").mkdir(parents=True)
            (drive / name / "timestamps.txt").write_text(_dates(stamps()))
        for k in range(N_FRAMES):
            write_image(drive / "image_02" / "data" / f"{k:010d}.png", k)
            row = " ".join(f"{column + k / 100:g}" for column in range(30))
            (drive / "oxts" / "data" / f"{k:010d}.txt").write_text(row + "\n")
    return root


def write_argoverse2(folder: Path, n_clips: int) -> Path:
    """Write logs with one camera; the vehicle turns left at 0.5 rad/s."""
    root = folder / "sensor"
    for number in range(n_clips):
        log = root / "val" / f"{number:08d}-6ce9-3bc3-a060-6006e9893a1a"
        for seed, stamp in enumerate(stamps()):
            write_image(log / "sensors/cameras/ring_front_center" / f"{stamp}.jpg", seed)
        turns = 0.5 * PERIOD_NS * 1e-9 * np.arange(N_FRAMES)
        quaternions = Rotation.from_rotvec(np.outer(turns, [0, 0, 1])).as_quat()
        poses = dict(zip(("qx", "qy", "qz", "qw"), quaternions.T, strict=True))
        poses |= {"timestamp_ns": np.array(stamps()), "tx_m": np.zeros(N_FRAMES)}
        feather.write_feather(pa.table(poses), str(log / "city_SE3_egovehicle.feather"))
        (log / "calibration").mkdir()
        lens = pa.table({"sensor_name": ["ring_front_center"], "fx_px": [1685.5]})
        feather.write_feather(lens, str(log / "calibration" / "intrinsics.feather"))
    return root
