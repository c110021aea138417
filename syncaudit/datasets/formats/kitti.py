"""Import KITTI raw data: drives with four cameras and an INS, with timestamps as text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from posixpath import join
from typing import Any

import numpy as np

from syncaudit.datasets.formats.nested import NestedFormat, name_of
from syncaudit.datasets.protocol import Import
from syncaudit.datasets.source import Source
from syncaudit.errors import ManifestError, one_line
from syncaudit.model import CameraSpec, CanSpec, Clip, Distortion, ImuSpec, SourceSpec
from syncaudit.model.arrays import Ints

_CAMERA = re.compile(r"^image_(\d\d)$")
_STAMPS = "timestamps.txt"
_CALIBRATION = "calib_cam_to_cam.txt"
# Columns of oxts/data/*.txt (oxts/dataformat.txt): forward velocity, body accelerations and rates.
_N_OXTS = 30
_SPEED = 8
_TRIPLES = {"gyro": 17, "accel": 11}
_LOST = np.iinfo(np.int64).min  # what NumPy makes of a date that is blank


class KittiFormat(NestedFormat):
    """One clip per drive: folders ``image_0x`` and ``oxts``, each with ``timestamps.txt``.

    Images stay in place; the navigation data, one file per sample, are converted to a table.
    """

    name = "kitti"
    summary = "KITTI raw: date_drive_0001_sync/ or _extract/ with image_0x/, oxts/, timestamps.txt"
    _depth = 2  # 2011_09_26/2011_09_26_drive_0001_sync
    _expected = "image_00/timestamps.txt ..."
    _marks = tuple(f"image_{number:02d}/{_STAMPS}" for number in range(4))

    def clips(self, source: Source, job: Import) -> Iterator[Clip]:
        """Yield the drives in the order of their names; drives of one day share a calibration."""
        for folder in self._folders(source):
            clip_id = name_of(source, folder)
            lenses = _lenses(source, folder, is_rectified=not clip_id.endswith("_extract"))
            sources: dict[str, SourceSpec] = {}
            for place in source.folders(folder):
                name = place.rpartition("/")[2]
                if _CAMERA.match(name):
                    sources[name] = _camera(source, place, clip_id, lenses.get(name[-2:], {}), job)
                    job.note(f"{name} -> camera")
                elif name == "oxts":
                    sources |= _navigation(source, place, clip_id, job)
                    job.note("oxts -> imu, and can with the speed")
                else:
                    job.note(f"ignored {name}")
            yield source.clip(clip_id, sources)


def _stamps(source: Source, place: str) -> Ints:
    """Convert ``timestamps.txt``, dates in one time zone, to nanoseconds since 1970.

    A blank line, where a sample was lost, becomes `_LOST`.
    """
    name = f"{place}/{_STAMPS}"
    lines = source.read(name).decode("ascii", "replace").rstrip().split("\n")
    stamps = []
    for number, line in enumerate(lines, start=1):
        try:
            stamps.append(np.datetime64(line.strip(), "ns").astype(np.int64))
        except ValueError as error:
            raise ManifestError(
                f"line {number} is '{line.strip()[:40]}', expected 2011-09-26 13:02:25.964389445",
                path=source.uri_of(name),
                hint="Copy the file again.",
            ) from error
    return np.array(stamps, dtype=np.int64)


def _camera(
    source: Source, place: str, clip_id: str, lens: dict[str, Any], job: Import
) -> CameraSpec:
    """Return a camera; all four have a global shutter and were triggered by the lidar."""
    name = place.rpartition("/")[2]
    try:
        stamps = _stamps(source, place)
        table = {"timestamp_ns": stamps[stamps != _LOST]}
        timestamps = job.sidecars.write_table(f"{clip_id}/{name}.parquet", table)
    except ManifestError as error:
        job.note(str(error))
        timestamps = f"{place}/{_STAMPS}"  # the audit rejects it
    return CameraSpec(uri=f"{place}/data", timestamps=timestamps, line_delay_s=0.0, **lens)


def _lenses(source: Source, folder: str, *, is_rectified: bool) -> dict[str, dict[str, Any]]:
    """Return the known lens parameters of each camera, by number."""
    name = join(folder, f"../{_CALIBRATION}")  # calibration of the day
    if not source.has(name):
        return {}
    lists: dict[str, list[float]] = {}
    for line in source.read(name).decode("ascii", "replace").split("\n"):
        key, _, cells = line.partition(":")
        try:
            lists[key.strip()] = [float(cell) for cell in cells.split()]
        except ValueError:
            continue  # its date
    lenses: dict[str, dict[str, Any]] = {}
    for number in ("00", "01", "02", "03"):
        focal = lists.get(f"P_rect_{number}" if is_rectified else f"K_{number}", [])
        k = [0.0] * 4 if is_rectified else lists.get(f"D_{number}", [])
        if focal and len(k) in (4, 5):
            lens = Distortion(model="radtan", k=k)
            lenses[number] = {"focal_px": focal[0], "distortion": lens}
    return lenses


def _navigation(source: Source, place: str, clip_id: str, job: Import) -> dict[str, SourceSpec]:
    """Return the inertial sensors and the speed, written as one table."""
    try:
        stamps = _stamps(source, place)
    except ManifestError as error:
        job.note(str(error))
        return {"oxts": ImuSpec(uri=f"{place}/{_STAMPS}")}  # the audit rejects it
    kept: list[int] = []
    rows: list[list[float]] = []
    faults: list[str] = []
    for name in source.files("*.txt", f"{place}/data"):
        try:
            row = [float(cell) for cell in source.read(name).split()]
            number = int(name.rpartition("/")[2].partition(".")[0])
            if len(row) != _N_OXTS or number >= stamps.size or stamps[number] == _LOST:
                raise ValueError(f"{len(row)} numbers of sample {number}")
        except (ManifestError, ValueError) as error:
            faults.append(f"corrupt: {name}: expected {_N_OXTS} numbers ({one_line(error)})")
            continue
        kept.append(number)
        rows.append(row)
    values = np.array(rows, dtype=np.float64).reshape(-1, _N_OXTS)
    table = {
        "timestamp_ns": stamps[np.array(kept, dtype=np.intp)],
        "speed": values[:, _SPEED],
        **{
            f"{triple}_{axis}": values[:, first + at]
            for triple, first in _TRIPLES.items()
            for at, axis in enumerate("xyz")
        },
    }
    uri = job.sidecars.write_table(f"{clip_id}/oxts.parquet", table)
    found = faults[:1] + [f"corrupt: {len(faults)} files of {place} are faulty"] * bool(faults[1:])
    return {
        "oxts": ImuSpec(uri=uri, clock="oxts", findings=found),
        "oxts_speed": CanSpec(uri=uri, clock="oxts", signals={"speed": "speed"}),
    }
