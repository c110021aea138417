"""Find the recording to calibrate: a clip of a manifest, or the files of a folder without one."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from syncaudit.cli.inputs import load_clips, pick_clip
from syncaudit.datasets.manifest import clip_from_row
from syncaudit.errors import UsageError
from syncaudit.model import Clip

VIDEOS = (".mp4", ".mkv", ".avi", ".mov", ".h264", ".hevc", ".mjpeg")
TABLES = (".csv", ".parquet")
BUS_LOGS = (".log", ".asc", ".blf", ".mf4")
SOUNDS = (".wav", ".flac", ".ogg", ".mp3")
MANIFESTS = ("manifest.jsonl", "manifest.parquet")
# A signal in a DBC, and names of flash counters.
SIGNAL = re.compile(r"^\s*SG_\s+(\w+)", re.MULTILINE)
STROBE = re.compile(r"strobe|flash", re.IGNORECASE)


def find_recording(place: str, clip_id: str | None = None) -> Clip:
    """Return the clip to calibrate.

    In a folder without a manifest, sources are recognised by file names: ``cam.mp4`` with its
    timestamps in ``cam.csv`` or ``cam_timestamps.csv`` (otherwise those of the container), tables
    with gyroscope or accelerometer columns as IMUs, tables with timestamps only as event logs, and
    bus logs if there is a single ``.dbc`` with a single signal named after a strobe or flash.

    `place`: a manifest (file or URL) or a folder. `clip_id`: needed if the manifest holds several
    clips. ManifestError, UsageError if there is no such clip, or the folder holds nothing that can
    be calibrated.
    """
    folder = Path(place)
    is_bare = "://" not in place and folder.is_dir()
    if not is_bare or any((folder / name).exists() for name in MANIFESTS):
        return pick_clip(load_clips(place), clip_id)
    sources = _sources(folder)
    if not sources:
        raise UsageError(
            f"{place} holds no manifest and nothing to calibrate",
            hint=f"Expected {' or '.join(MANIFESTS)}, or videos ({', '.join(VIDEOS)}) with "
            "timestamps in a CSV of the same name.",
        )
    row = {"clip_id": folder.resolve().name or "recording", "sources": sources}
    return clip_from_row(row, base_uri=str(folder), path=place, where="folder")


def _sources(folder: Path) -> dict[str, Any]:
    files = sorted(path for path in folder.iterdir() if path.is_file())
    sources: dict[str, Any] = {}
    taken: set[Path] = set()
    for video in _ending(files, VIDEOS):
        spec: dict[str, Any] = {"kind": "camera", "uri": video.name}
        stamps = _beside(video, files)
        if stamps is not None:
            spec["timestamps"] = stamps.name
            taken.add(stamps)
        else:
            spec["start_ns"] = 0
        sources[video.stem] = spec
    for sound in _ending(files, SOUNDS):
        stamps = _beside(sound, files)
        if stamps is not None:  # audio without timestamps cannot be tied to any clock
            sources[sound.stem] = {"kind": "audio", "uri": sound.name, "timestamps": stamps.name}
            taken.add(stamps)
    for table in _ending(files, TABLES):
        columns = _columns(table)
        if table in taken or "timestamp_ns" not in columns:
            continue
        if {"gyro_x", "accel_x"} & columns:
            sources[table.stem] = {"kind": "imu", "uri": table.name}
        elif columns == {"timestamp_ns"}:
            sources[table.stem] = {"kind": "events", "uri": table.name}
    sources.update(_bus(files))
    return sources


def _ending(files: Iterable[Path], suffixes: tuple[str, ...]) -> list[Path]:
    return [path for path in files if path.suffix.lower() in suffixes]


def _beside(payload: Path, files: list[Path]) -> Path | None:
    """Return the table of timestamps that is named after a video or audio file."""
    names = [f"{payload.stem}{part}{end}" for part in ("", "_timestamps") for end in TABLES]
    return next((path for path in files if path.name in names), None)


def _columns(table: Path) -> set[str]:
    """Return the column names of a table; empty if it cannot be read."""
    if table.suffix.lower() == ".parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            return set(pq.read_schema(table).names)
        except (OSError, pa.ArrowException):
            return set()
    try:
        with table.open(encoding="utf-8-sig", newline="") as file:
            return {name.strip() for name in next(csv.reader(file), [])}
    except (OSError, UnicodeDecodeError, csv.Error):
        return set()


def _bus(files: list[Path]) -> dict[str, Any]:
    """Return the bus logs, if their strobe counter is unambiguous."""
    databases = _ending(files, (".dbc",))
    logs = _ending(files, BUS_LOGS)
    if len(databases) != 1:
        return {}
    text = databases[0].read_text(encoding="latin-1")
    strobes = [name for name in SIGNAL.findall(text) if STROBE.search(name)]
    if len(strobes) != 1:
        return {}
    return {
        log.stem: {
            "kind": "can",
            "uri": log.name,
            "dbc": databases[0].name,
            "signals": {"strobe": strobes[0]},
        }
        for log in logs
    }
