"""Import Argoverse 2 sensor logs: nine cameras with images named by timestamp, and poses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from posixpath import join
from typing import Any

import numpy as np

from syncaudit.datasets.formats.nested import NestedFormat, name_of
from syncaudit.datasets.protocol import Import
from syncaudit.datasets.source import Source
from syncaudit.dsp.attitude import rates_of_attitudes
from syncaudit.errors import ManifestError, one_line
from syncaudit.model import CameraSpec, Clip, ImuSpec, SourceSpec, seconds_since

_CAMERAS = "sensors/cameras"
_POSES = "city_SE3_egovehicle.feather"
_DATED = re.compile(r"^[0-9]{1,19}\.jpg$")
_MOST_TOLD = 5
_INTRINSICS = "calibration/intrinsics.feather"


class Argoverse2Format(NestedFormat):
    """One clip per log. Images stay in place; their names become timestamp tables.

    The angular rate of the vehicle comes from its poses, which were computed offline from all
    sensors.
    """

    name = "argoverse2"
    summary = "Argoverse 2 sensor logs: sensors/cameras/CAMERA/TIMESTAMP_NS.jpg, poses in feather"
    _depth = 2  # train/00a6ffc1-...
    _expected = f"{_CAMERAS} and {_POSES}"

    def _is_one(self, source: Source, folder: str) -> bool:
        return all(source.has(join(folder, name)) for name in (_CAMERAS, _POSES))

    def clips(self, source: Source, job: Import) -> Iterator[Clip]:
        """Yield the logs in the order of their names."""
        for folder in self._folders(source):
            clip_id = name_of(source, folder).rpartition("/")[2]
            focal_px = _focal_lengths(source, folder, job)
            sources: dict[str, SourceSpec] = {}
            for place in source.folders(join(folder, _CAMERAS)):
                name = place.rpartition("/")[2]
                sources[name] = _camera(source, place, clip_id, focal_px.get(name), job)
            sources["pose"] = _pose(source, folder, clip_id, job)
            job.note(f"{len(sources) - 1} cameras, and the angular rate of the poses -> imu")
            yield source.clip(clip_id, sources)


def _camera(
    source: Source, place: str, clip_id: str, focal_px: float | None, job: Import
) -> CameraSpec:
    names = [name.rpartition("/")[2] for name in source.files("*.jpg", place)]
    times = {name: int(name[:-4]) for name in names if _DATED.match(name)}
    dated = [name for name, time_ns in times.items() if time_ns < 2**63]
    stamps = np.array([times[name] for name in dated], dtype=np.int64)
    findings = [
        f"corrupt: {place}/{name}: its name is not a time (315966070549927209.jpg): left out"
        for name in names
        if name not in dated
    ]
    name = place.rpartition("/")[2]
    uri = job.sidecars.write_table(
        f"{clip_id}/{name}.parquet", {"timestamp_ns": stamps, "file": dated}
    )
    return CameraSpec(uri=place, timestamps=uri, focal_px=focal_px, findings=findings[:_MOST_TOLD])


def _focal_lengths(source: Source, folder: str, job: Import) -> dict[str, float]:
    """Return the known focal lengths by camera name."""
    name = join(folder, _INTRINSICS)
    if not source.has(name):
        return {}
    try:
        columns = _feather(source, name, ("sensor_name", "fx_px"))
        return dict(zip(columns["sensor_name"], map(float, columns["fx_px"]), strict=True))
    except (ManifestError, TypeError, ValueError) as error:
        job.note(str(error))
        return {}


def _pose(source: Source, folder: str, clip_id: str, job: Import) -> ImuSpec:
    """Return the angular rate of the vehicle, from one pose to the next."""
    name = join(folder, _POSES)
    try:
        found = _feather(source, name, ("timestamp_ns", "qx", "qy", "qz", "qw"))
        stamps = np.array(found.pop("timestamp_ns"), dtype=np.int64)
        times_s = seconds_since(stamps, int(stamps[0]))
        quaternions = np.stack([np.array(found[key], dtype=np.float64) for key in found], axis=1)
        is_later = np.diff(times_s, prepend=-1.0) > 0.0
        middle_s, rates = rates_of_attitudes(times_s[is_later], quaternions[is_later])
    except (ManifestError, IndexError, TypeError, ValueError) as error:
        job.note(str(error))
        return ImuSpec(uri=name)  # the audit rejects it
    table = {f"gyro_{axis}": rates[:, at] for at, axis in enumerate("xyz")}
    time_ns = stamps[0] + np.rint(1e9 * middle_s).astype(np.int64)
    uri = job.sidecars.write_table(f"{clip_id}/pose.parquet", {"timestamp_ns": time_ns, **table})
    return ImuSpec(uri=uri)


def _feather(source: Source, name: str, columns: tuple[str, ...]) -> dict[str, list[Any]]:
    import pyarrow as pa
    from pyarrow import feather

    try:
        with source.open(name) as file:
            found: dict[str, list[Any]] = feather.read_table(file, columns=columns).to_pydict()
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        raise ManifestError(
            f"is not an intact feather file with {', '.join(columns)} ({one_line(error)})",
            path=source.uri_of(name),
            hint="Download it again.",
        ) from error
    return found
