"""Import comma2k19: one-minute segments of video, NumPy arrays of IMU, CAN and pose."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from tokenize import TokenError

from syncaudit.datasets.formats.nested import NestedFormat
from syncaudit.datasets.protocol import Import
from syncaudit.datasets.source import Source
from syncaudit.errors import ManifestError
from syncaudit.model import CameraSpec, CanSpec, Clip, ImuSpec, SourceSpec, StateSpec
from syncaudit.readers.arrays import array_header

_LOG = "processed_log"
# For the camera of the comma EON, 1164 x 874 px (utils/camera.py of the data set).
_FOCAL_PX = 910.0
_POSES = ("global_pose", "global_pos")
_WHEELS = ("wheel_speed_fl", "wheel_speed_fr", "wheel_speed_rl", "wheel_speed_rr")


class Comma2k19Format(NestedFormat):
    """One clip per segment; a route is the recording.

    All timestamps are seconds since the device booted, in float64: those of frames and of the IMU
    are the device's own, those of the bus are arrival times over USB.
    """

    name = "comma2k19"
    summary = "comma2k19: route/segment folders with video.hevc, processed_log/ and global_pose/"
    _depth = 3  # chunk, route, segment
    _marks = (f"{_LOG}/IMU", f"{_LOG}/CAN")
    _expected = " or ".join(_marks)

    def clips(self, source: Source, job: Import) -> Iterator[Clip]:
        """Yield the segments, routes in the order of their names."""
        for segment in self._folders(source):
            sources = _sources(source, segment, job)
            if not sources:
                job.note("left out a segment without any known file")
                continue
            path = source.uri_of(segment).split("::")[0]
            route, _, number = path.rstrip("/").rpartition("/")
            route = route.rpartition("/")[2]
            yield source.clip(f"{route}/{number}", sources, recording_id=route)


def _sources(source: Source, segment: str, job: Import) -> dict[str, SourceSpec]:
    prefix = f"{segment}/" if segment else ""
    sources: dict[str, SourceSpec] = {}
    pose = next((f"{prefix}{name}" for name in _POSES if source.has(f"{prefix}{name}")), None)
    if source.has(f"{prefix}video.hevc"):
        stamps = f"{pose}/frame_times" if pose else None
        sources["camera"] = CameraSpec(
            uri=f"{prefix}video.hevc",
            timestamps=stamps,
            stamps=stamps and "frame_times",
            focal_px=_FOCAL_PX,
        )
        job.note("video.hevc -> camera, stamps of global_pose/frame_times")
    for name, folder, triple in (("gyro", "gyro", "gyro"), ("accel", "accelerometer", "accel")):
        place = f"{prefix}{_LOG}/IMU/{folder}"
        if source.has(place):
            columns = {f"{triple}_{axis}": f"value[{k}]" for k, axis in enumerate("xyz")}
            sources[name] = ImuSpec(uri=place, stamps="t", columns=columns, clock="imu")
            job.note(f"IMU/{folder} -> imu {name}")
    for role in ("speed", "steering_angle", "wheel_speed"):
        place = f"{prefix}{_LOG}/CAN/{role}"
        if source.has(place):
            signals = {role: _column(source, f"{place}/value")}
            if role == "wheel_speed":
                signals = {wheel: f"value[{k}]" for k, wheel in enumerate(_WHEELS)}
            sources[role] = CanSpec(
                uri=place, stamps="t", signals=signals, clock="can", stamp_kind="receive"
            )
            job.note(f"CAN/{role} -> can, times of reception")
    if pose and source.has(f"{pose}/frame_velocities"):
        groups = {
            group: [f"frame_{group}"]
            for group in ("positions", "velocities", "orientations")
            if source.has(f"{pose}/frame_{group}")
        }
        sources["pose"] = StateSpec(uri=pose, stamps="frame_times", columns=groups)
        job.note("global_pose -> state pose (computed from all sensors afterwards)")
    for folder in ("IMU", "CAN", "GNSS"):
        for place in source.folders(f"{prefix}{_LOG}/{folder}"):
            if not any(getattr(spec, "uri", None) == place for spec in sources.values()):
                job.note(f"ignored {folder}/{place.rpartition('/')[2]}")
    return sources


# Exceptions that NumPy raises for damaged headers; the reader reports the fault.
_NO_ARRAY = (
    *(ManifestError, ValueError, OSError, EOFError, TypeError, SyntaxError, TokenError),
    *(MemoryError, RecursionError),
)


def _column(source: Source, name: str) -> str:
    """Return the column of an array with one number per row: speeds are lists of one number."""
    with suppress(*_NO_ARRAY), source.open(name) as file:
        return "value[0]" if len(array_header(file)[0]) == 2 else "value"
    return "value"
