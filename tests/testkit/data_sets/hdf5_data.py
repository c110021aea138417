"""Demonstrations in HDF5, as ACT, ALOHA, robomimic and LIBERO lay them out."""

from __future__ import annotations

import json
from pathlib import Path

import h5py
import numpy as np

from testkit.data_sets.stills import frame, jpeg

N_STEPS = 6


def pictures(number: int) -> np.ndarray:
    """Return the images of an episode, shape (6, 24, 32, 3), RGB."""
    return np.stack([frame(number + step) for step in range(N_STEPS)])


def vectors(number: int, width: int = 14) -> np.ndarray:
    """Return values that change over time, shape (6, width)."""
    return np.sin(np.arange(N_STEPS)[:, None] * 0.3 + np.arange(width) + number)


def padded(encoded: list[bytes]) -> np.ndarray:
    """Return encoded images as rows of equal length, zero-padded as in ALOHA."""
    rows = np.zeros((len(encoded), max(map(len, encoded)) + 5), np.uint8)
    for row, data in zip(rows, encoded, strict=True):
        row[: len(data)] = np.frombuffer(data, np.uint8)
    return rows


def write_aloha(folder: Path, n_clips: int, *, is_packed: bool = True) -> Path:
    """Write one file per episode, with images as padded JPEG or as arrays."""
    root = folder / "aloha_task"
    root.mkdir(parents=True)
    for number in range(n_clips):
        with h5py.File(root / f"episode_{number}.hdf5", "w") as file:
            file.attrs["sim"] = False
            file["observations/qpos"] = vectors(number)
            file["observations/qvel"] = vectors(number + 1)
            file["observations/effort"] = vectors(number + 2)
            file["action"] = vectors(number + 3)
            images = pictures(number)
            packed = padded([jpeg(image) for image in images])
            file["observations/images/cam_high"] = packed if is_packed else images
            file["observations/images/cam_grey"] = images[..., 0]
            file["observations/images/cam_depth"] = np.zeros((N_STEPS, 24, 32), np.uint16)
            file["compress_len"] = np.full((1, N_STEPS), float(packed.shape[1]))
    return root


def write_robomimic(folder: Path, n_clips: int, *, camera: str = "agentview_image") -> Path:
    """Write one file with one group per episode."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "lift.hdf5"
    with h5py.File(path, "w") as file:
        data = file.create_group("data")
        data.attrs["env_args"] = json.dumps({"env_kwargs": {"control_freq": 20}})
        for number in range(n_clips):
            demo = data.create_group(f"demo_{number}")
            demo["actions"] = vectors(number, 7)
            demo["states"] = vectors(number, 32)
            demo["rewards"] = np.zeros(N_STEPS)
            for group in ("obs", "next_obs"):
                demo[f"{group}/robot0_eef_pos"] = vectors(number, 3)
                demo[f"{group}/robot0_joint_vel"] = vectors(number, 7)
                demo[f"{group}/{camera}"] = pictures(number)
        file["mask/train"] = np.array([b"demo_0"])
    return path
