"""DROID episodes in the published layout: milliseconds for every step, one video per camera."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np

from testkit.data_sets.hdf5_data import N_STEPS, vectors
from testkit.data_sets.stills import frame
from testkit.videos import grey_frame, write_video

SERIAL = "24400334"
BEGIN_MS = 1_688_748_143_000
STEPS_MS = BEGIN_MS + np.arange(N_STEPS) * 67


def write_droid(folder: Path, n_clips: int) -> Path:
    """Write episodes of one day, each with a second video that shows both eyes of its camera."""
    root = folder / "droid_raw"
    video = None
    for number in range(n_clips):
        episode = root / f"LAB/success/2023-07-07/Fri_Jul__7_09:{number:02d}:23_2023"
        (episode / "recordings/MP4").mkdir(parents=True)
        path = episode / f"recordings/MP4/{SERIAL}.mp4"
        if video is None:
            frames = [grey_frame(frame(step)[..., 0]) for step in range(N_STEPS)]
            write_video(path, frames, rate=15)
            video = path.read_bytes()
        path.write_bytes(video)
        path.with_name(f"{SERIAL}-stereo.mp4").write_bytes(video)
        with h5py.File(episode / "trajectory.h5", "w") as file:
            _fill(file, number)
    return root


def _fill(file: h5py.File, number: int) -> None:
    file["observation/robot_state/joint_positions"] = vectors(number, 7)
    file["observation/robot_state/gripper_position"] = vectors(number, 1)[:, 0]
    file["observation/robot_state/joint_torques_computed"] = vectors(number, 7)
    file["action/joint_position"] = vectors(number + 1, 7)
    times = file.create_group("observation/timestamp")
    times[f"cameras/{SERIAL}_estimated_capture"] = STEPS_MS - 41
    times[f"cameras/{SERIAL}_read_end"] = STEPS_MS + 9
    times["control/control_start"] = STEPS_MS + 20
    times["robot_state/read_end"] = STEPS_MS + 2
