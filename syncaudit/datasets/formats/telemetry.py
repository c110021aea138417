"""Import action camera videos: frames, sound and the camera's own motion in one file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from syncaudit.datasets.formats.nested import files_below, first_below
from syncaudit.datasets.loggers import logger_sources
from syncaudit.datasets.manifest import clip_from_row
from syncaudit.datasets.naming import DEFAULT_RULES, name_sources, stem_of
from syncaudit.datasets.protocol import Import
from syncaudit.datasets.source import Source
from syncaudit.datasets.tracks import tracks_in
from syncaudit.errors import StreamReadError
from syncaudit.model import Clip
from syncaudit.readers.access import is_url
from syncaudit.readers.telemetry import Telemetry, holds_telemetry, read_telemetry

_VIDEOS = (".mp4", ".mov", ".insv", ".360")
_DEPTH = 2  # DCIM/100GOPRO
_TRIPLES = ("gyro", "accel")


class TelemetryFormat:
    """One clip per video; its camera, gyroscope, accelerometer, GPS and sound are sources.

    All are timed by the container, from presentation time 0. Logs of car loggers in the same folder
    belong to each of its videos.
    """

    name = "telemetry"
    summary = "videos of GoPro, DJI, Insta360 and Sony cameras with telemetry, and logs beside them"
    takes_rules = False

    def probe(self, source: Source) -> str | None:
        """Accept videos with embedded telemetry, except those with a timestamp table."""
        if is_url(source.base_uri):
            return "telemetry inside remote videos is not looked for"
        for name in first_below(source, _VIDEOS, depth=_DEPTH):
            if holds_telemetry(source.uri_of(name)):
                if _has_stamps(source, name):
                    return f"{name} has telemetry, but a table stamps its frames"
                return None
        return f"no video with telemetry inside ({', '.join(_VIDEOS)}), up to {_DEPTH} levels down"

    def clips(self, source: Source, job: Import) -> Iterator[Clip]:
        """Yield the videos that hold telemetry, in the order of their names."""
        for name in files_below(source, _VIDEOS, depth=_DEPTH):
            rows = _sources(source, name, job)
            if rows is None:
                job.note("left out a video without telemetry inside")
                continue
            for log in source.files("*.csv", name.rpartition("/")[0]):
                logged = logger_sources(source, log, job.sidecars, job.note)
                for title, row in logged.items():  # even if dated, since the video is not
                    rows.setdefault(title, row | {"is_start_assumed": True})
            yield clip_from_row(
                {"clip_id": stem_of(name), "sources": rows}, base_uri=source.base_uri, where=name
            )


def _has_stamps(source: Source, video: str) -> bool:
    """Return whether the rules for plain folders find a timestamp table for a video."""
    found = name_sources(source.files(folder=video.rpartition("/")[0]), DEFAULT_RULES).sources
    table = next((row.get("timestamps") for row in found.values() if row["uri"] == video), None)
    return table is not None


def _sources(source: Source, name: str, job: Import) -> dict[str, dict[str, Any]] | None:
    """Return the sources of one video; None if it holds no telemetry."""
    camera: dict[str, Any] = {"kind": "camera", "uri": name, "start_ns": 0}
    try:
        found = read_telemetry(source.uri_of(name))
    except StreamReadError:
        return {"camera": camera}  # the audit reports the fault
    if found is None:
        return None
    if found.stabilised is not None:
        job.note(f"stabilised video: {found.stabilised}")
        camera["findings"] = [
            f"unobservable: {name}: its video is stabilised ({found.stabilised}), so the image "
            "does not turn as the camera does. Record with stabilisation switched off."
        ]
    rows = {"camera": camera} | _motion(found, name, job)
    tracks = tracks_in(source, job.note)(name)
    if tracks.sound_start_s is not None and not tracks.is_silent:
        row = {"kind": "audio", "uri": name, "start_ns": 0, "start_at": "presentation_zero"}
        rows["sound"] = row
    job.note(f"{found.camera}: {', '.join(rows)}")
    return rows


def _motion(found: Telemetry, name: str, job: Import) -> dict[str, dict[str, Any]]:
    """Write the sensors' samples to tables; return their sources."""
    rows: dict[str, dict[str, Any]] = {}
    for sensor, samples in found.sensors.items():
        columns = [f"{sensor}_{axis}" for axis in "xyz"] if sensor in _TRIPLES else [sensor]
        table = dict(zip(columns, samples.values.T, strict=True))
        table["timestamp_ns"] = np.rint(1e9 * samples.times_s).astype(np.int64)
        uri = job.sidecars.write_table(f"{stem_of(name)}/{sensor}.parquet", table)
        row: dict[str, Any] = {"uri": uri}
        if samples.std_s:
            row["stamp_std_s"] = round(samples.std_s, 6)
        if sensor in _TRIPLES:
            rows[sensor] = {"kind": "imu", "clock": "imu", **row}
        else:
            signals = {"signals": {sensor: sensor}, "stamp_kind": "receive"}
            rows[sensor] = {"kind": "can", **signals, **row}
    return rows
