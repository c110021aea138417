"""Import EuRoC MAV, TUM-VI and other recordings in the ASL folder layout."""

from __future__ import annotations

import re
from collections.abc import Iterator

from syncaudit.datasets.formats.nested import NestedFormat, name_of
from syncaudit.datasets.protocol import Import
from syncaudit.datasets.source import Source
from syncaudit.datasets.starter_rules import columns_of
from syncaudit.errors import ManifestError
from syncaudit.model import CameraSpec, Clip, Distortion, ImuSpec, SourceSpec

_SENSOR = re.compile(r"^(cam|imu)\d+$")
_TRIPLES = tuple(f"{triple}_{axis}" for triple in ("gyro", "accel") for axis in "xyz")
# In sensor.yaml, where each list is on one line.
_NUMBERS = re.compile(r"^(intrinsics|distortion_coefficients)\s*:\s*\[([^\]]*)\]", re.MULTILINE)
_MODEL = re.compile(r"^distortion_model\s*:\s*([\w-]+)", re.MULTILINE)
_MODELS = {
    "radial-tangential": ("radtan", 4),
    "radtan": ("radtan", 4),
    "equidistant": ("fisheye", 4),
}


class EurocFormat(NestedFormat):
    """One clip per sequence: a folder with ``mav0/cam0/data.csv`` and ``mav0/imu0/data.csv``.

    Timestamps are nanoseconds on one clock; those of images are at mid-exposure.
    """

    name = "euroc"
    summary = "EuRoC MAV, TUM-VI, ASL folders: mav0/cam0/data.csv, mav0/imu0/data.csv"
    _depth = 3  # machine_hall/MH_01_easy/mav0
    _marks = ("cam0/data.csv", "imu0/data.csv")
    _expected = " or ".join(_marks)

    def clips(self, source: Source, job: Import) -> Iterator[Clip]:
        """Yield the sequences in the order of their names."""
        for folder in self._folders(source):
            sources: dict[str, SourceSpec] = {}
            for place in source.folders(folder):
                name = place.rpartition("/")[2]
                if not _SENSOR.match(name) or not source.has(f"{place}/data.csv"):
                    job.note(f"ignored {name}")
                    continue
                sources[name] = _camera(source, place) if name[0] == "c" else _imu(source, place)
                job.note(f"{name} -> {sources[name].kind}")
            clip_id = name_of(source, folder.removesuffix("mav0").rstrip("/"))
            yield source.clip(clip_id, sources)


def _stamps(source: Source, table: str) -> str:
    """Return the timestamp column, which comes first; a number means that the header is missing."""
    first = next(iter(columns_of(source, table)), "0")
    return "#timestamp [ns]" if first.isdigit() else first


def _camera(source: Source, place: str) -> CameraSpec:
    """Return a camera; all in these data sets have a global shutter."""
    table = f"{place}/data.csv"
    focal_px, distortion = _lens(source, f"{place}/sensor.yaml")
    return CameraSpec(
        uri=f"{place}/data",
        timestamps=table,
        stamps=_stamps(source, table),
        line_delay_s=0.0,
        focal_px=focal_px,
        distortion=distortion,
    )


def _lens(source: Source, name: str) -> tuple[float | None, Distortion | None]:
    """Return focal length and distortion, as far as a camera's file states them."""
    if not source.has(name):
        return None, None
    try:
        text = source.read(name).decode("utf-8", "replace")
        lists = {
            key: [float(cell) for cell in cells.split(",")] for key, cells in _NUMBERS.findall(text)
        }
    except (ManifestError, ValueError):
        return None, None
    focal_px = next(iter(lists.get("intrinsics", [])), None)
    found = _MODEL.search(text)
    model, n = _MODELS.get(found[1] if found else "", ("", 0))
    k = lists.get("distortion_coefficients", [])
    if focal_px is None or not model or len(k) != n:
        return focal_px, None
    return focal_px, Distortion(model="radtan" if model == "radtan" else "fisheye", k=k)


def _imu(source: Source, place: str) -> ImuSpec:
    table = f"{place}/data.csv"
    names = columns_of(source, table)[1 : 1 + len(_TRIPLES)]
    return ImuSpec(
        uri=table,
        stamps=_stamps(source, table),
        columns=dict(zip(_TRIPLES, names, strict=False)),
    )
