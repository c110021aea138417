"""Replay buffers of diffusion policy and UMI, written with zarr itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
import zarr
from zarr.storage import ZipStore

from testkit.data_sets.hdf5_data import N_STEPS, pictures, vectors


def write_zarr(folder: Path, n_clips: int) -> Path:
    """Write a buffer as a folder in version 3 of the format."""
    path = folder / "replay_buffer.zarr"
    _fill(zarr.open_group(str(path), mode="w"), n_clips)
    return path


def write_buffer(
    folder: Path, n_clips: int, *, version: Literal[2, 3], is_packed: bool, **more: np.ndarray
) -> Path:
    """Write a buffer with additional arrays from the caller; return the folder."""
    root = folder / "task"
    root.mkdir(parents=True)
    if not is_packed:
        group = zarr.open_group(str(root / "b.zarr"), mode="w", zarr_format=version)
        _fill(group, n_clips, **more)
        return root
    with ZipStore(root / "b.zarr.zip", mode="w") as store:
        _fill(zarr.open_group(store, mode="w", zarr_format=version), n_clips, **more)
    return root


def _fill(group: zarr.Group, n_clips: int, **more: Any) -> None:
    numbers = range(n_clips)
    arrays = {
        "camera0_rgb": np.concatenate([pictures(number) for number in numbers]),
        "robot0_eef_pos": np.concatenate([vectors(number, 3) for number in numbers]),
        "action": np.concatenate([vectors(number, 7) for number in numbers]).astype(np.float32),
        **more,
    }
    data, meta = group.create_group("data"), group.create_group("meta")
    for name, values in arrays.items():
        # Four rows per chunk: episodes of six rows begin and end inside chunks.
        data.create_array(name, data=values, chunks=(4, *values.shape[1:]))
    meta.create_array("episode_ends", data=np.arange(1, n_clips + 1) * N_STEPS)
