"""Import DROID as recorded: ``trajectory.h5`` with times of all steps, and a video per camera."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from posixpath import join
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from syncaudit.datasets.formats.nested import NestedFormat, name_of
from syncaudit.datasets.protocol import Import
from syncaudit.datasets.source import Source
from syncaudit.datasets.steps.arrays import READ_ERRORS
from syncaudit.datasets.steps.episode import broken_clip
from syncaudit.datasets.steps.hdf5_file import child_of, open_hdf5, require_h5py
from syncaudit.decode.container import list_frames
from syncaudit.errors import ManifestError, StreamReadError, one_line
from syncaudit.model import CameraSpec, Clip, SourceSpec, StateSpec
from syncaudit.model.arrays import Ints
from syncaudit.readers.uris import local_path

if TYPE_CHECKING:
    import h5py

_FILE = "trajectory.h5"
_VIDEOS = "recordings/MP4"
_TIMES = "observation/timestamp"
_STATE = ("joint_positions", "joint_velocities", "cartesian_position", "gripper_position")
_ACTION = ("joint_position", "cartesian_position", "gripper_position")
_NS_PER_MS = 1_000_000
# DROID's converter from SVO (svo2mp4.py) stops one frame before the end (droid, issue 54), and its
# own readers pair rows and frames from the start.
_ONE_SHORT = "its video holds one frame less than there are steps; the last is taken as missing"


class DroidFormat(NestedFormat):
    """One clip per episode: cameras, robot state, and commands.

    All have milliseconds on one computer's clock: capture times for cameras, arrival times for the
    robot's state, sending times for commands.
    """

    name = "droid"
    summary = "DROID, raw: folders with trajectory.h5 and recordings/MP4"
    _depth = 5  # laboratory, success or failure, day, episode
    _expected = _FILE
    _marks = (_FILE,)

    def clips(self, source: Source, job: Import) -> Iterator[Clip]:
        """Yield the episodes in the order of their folders."""
        require_h5py(self.name)
        for folder in self._folders(source):
            clip_id = name_of(source, folder)
            name = join(folder, _FILE)
            try:
                with open_hdf5(source, name) as file:
                    sources = _sources(source, folder, file, clip_id, job)
            except ManifestError as error:
                fault = f"corrupt: {name} {error.message}. {error.hint}"
                yield broken_clip(clip_id, [fault], job, source)
                continue
            yield source.clip(clip_id, sources)


def _sources(
    source: Source, folder: str, file: h5py.File, clip_id: str, job: Import
) -> dict[str, SourceSpec]:
    sources: dict[str, SourceSpec] = {}
    videos = {
        name.rpartition("/")[2].removesuffix(".mp4"): name
        for name in source.files("*.mp4", join(folder, _VIDEOS))
    }
    for serial, uri in videos.items():
        if serial.endswith("-stereo"):
            job.note("ignored *-stereo.mp4: both eyes of a camera whose left one is read")
            continue
        captured = _milliseconds(file, f"{_TIMES}/cameras/{serial}_estimated_capture")
        received = _milliseconds(file, f"{_TIMES}/cameras/{serial}_read_end")
        findings = []
        if _n_frames(source, uri) == captured.size - 1:
            captured, received = captured[:-1], received[:-1]
            findings.append(f"length_mismatch: {_ONE_SHORT}")
        columns = {"timestamp_ns": captured, "receive_ns": received}
        table = job.sidecars.write_table(f"{clip_id}/cam_{serial}.parquet", columns)
        sources[f"cam_{serial}"] = CameraSpec(
            uri=uri, timestamps=table, arrivals=table, findings=findings
        )
        job.note(f"{_VIDEOS}/SERIAL.mp4 -> camera, stamps SERIAL_estimated_capture")
    for name in source.files("*.svo*", join(folder, "recordings/SVO")):
        if name.rpartition("/")[2].partition(".")[0] not in videos:
            job.note("ignored recordings/SVO: only the camera's own SDK reads them; convert to MP4")
    job.note("ignored robot_timestamp: nothing ties the robot's own clock to the computer's")
    sources["state"] = _vectors(
        file,
        "observation/robot_state",
        _STATE,
        job,
        f"{clip_id}/state.parquet",
        f"{_TIMES}/robot_state/read_end",
        stamp_kind="receive",
    )
    sources["action"] = _vectors(
        file,
        "action",
        _ACTION,
        job,
        f"{clip_id}/action.parquet",
        f"{_TIMES}/control/control_start",
        is_command=True,
    )
    return sources


def _n_frames(source: Source, name: str) -> int | None:
    """Return the number of frames of a local video; None if unknown."""
    path = local_path(source.uri_of(name))
    with suppress(StreamReadError):  # the audit reports the fault
        return None if path is None else list_frames(str(path)).n_frames
    return None


def _vectors(
    file: h5py.File,
    group: str,
    names: Sequence[str],
    job: Import,
    path: str,
    stamps: str,
    **said: Any,
) -> StateSpec:
    """Write the existing arrays of a group, and return their source."""
    columns: dict[str, Any] = {"timestamp_ns": _milliseconds(file, stamps)}
    for name in names:
        with suppress(ManifestError):
            values = _array(file, f"{group}/{name}").astype(np.float64)
            columns[name] = values if values.ndim == 1 else list(values.reshape(len(values), -1))
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1 or len(lengths) == 1:
        listed = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise ManifestError(
            f"its arrays of {group} differ in length ({listed} rows)", hint="Copy it again."
        )
    table = job.sidecars.write_table(path, columns)
    job.note(f"{group} -> state {path.rpartition('/')[2].partition('.')[0]}")
    groups = {name: [name] for name in names if name in columns}
    return StateSpec(uri=table, columns=groups, **said)


def _milliseconds(file: h5py.File, name: str) -> Ints:
    return _array(file, name).astype(np.int64) * _NS_PER_MS


def _array(file: h5py.File, name: str) -> NDArray[Any]:
    array = child_of(file, name)
    problem = f"has no numeric array '{name}'"
    try:
        if array is not None and array.shape and array.dtype.kind in "fiu":
            return np.asarray(array[:])
    except (*READ_ERRORS, AttributeError) as error:
        problem = f"holds '{name}', which cannot be read ({one_line(error)})"
    raise ManifestError(problem, hint="Copy it again.")
