"""Import nuScenes: scene and sample tables, images of six cameras, the CAN bus expansion.

The expansion holds JSON messages per scene, which become tables. Every message has `utime`, Unix
microseconds of the measurement; for ``zoesensors`` and ``zoe_veh_info`` it is the time of reception
instead (README of the expansion).
"""

from __future__ import annotations

import math
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syncaudit.datasets.protocol import Import
from syncaudit.datasets.source import Source, iter_json_list
from syncaudit.datasets.wording import describe
from syncaudit.errors import ManifestError
from syncaudit.model import CameraSpec, CanSpec, Clip, ImuSpec, SourceSpec, StateSpec
from syncaudit.readers.access import is_url

_TABLES = ("scene", "sample", "sample_data", "calibrated_sensor", "sensor")
# Of several versions in one folder, the one with most scenes; mini is a part of trainval.
_PREFERRED = ("v1.0-trainval", "v1.0-test", "v1.0-mini")
# Keys with values other than text; their types are checked where they are used.
_ANY = frozenset({"camera_intrinsic", "timestamp", "filename"})

_KMH = 1 / 3.6
_DEGREES = math.pi / 180
_G = 9.80665
_XYZ = ("x", "y", "z")
_WHEELS = ("fl", "fr", "rl", "rr")

_POSE = ("pos", "orientation", "vel", "accel", "rotation_rate")


class NuScenesFormat:
    """One clip per scene: every image of every camera, and the vehicle's bus.

    The cameras (Basler acA1600-60gc) have a global shutter unless configured otherwise, which is
    not published. An image's timestamp is the time at which its exposure was triggered (Caesar et
    al., nuScenes: A multimodal dataset for autonomous driving, CVPR 2020): the start of the frame.
    The cameras fire in turn, when the lidar's beam passes the middle of their view. Their
    timestamps differ by exactly that, and each is right: no correction is needed, so
    `expected_offset_s` stays 0.
    """

    name = "nuscenes"
    summary = "nuScenes v1.0-*: tables, samples/, sweeps/ and can_bus/"
    takes_rules = False

    def probe(self, source: Source) -> str | None:
        """Accept a folder with a ``v1.0-*`` folder of tables, or that folder."""
        found = _find(source)
        if found is None:
            return "no folder v1.0-* with the tables scene.json, sample_data.json ..."
        missing = [name for name in _TABLES if not found[0].has(f"{found[1]}/{name}.json")]
        return f"{found[1]} lacks {', '.join(missing)} (.json)" if missing else None

    def clips(self, source: Source, job: Import) -> Iterator[Clip]:
        """Yield the scenes in the order of their table."""
        found = _find(source)
        if found is None:
            raise ManifestError("holds no tables v1.0-*", path=source.uri, hint="Unpack them.")
        root, version = found
        others = [name for name in _versions(root) if name != version]
        if others and source.base_uri == root.base_uri:
            job.note(f"took {version}; to take another, name its folder: {', '.join(others)}")
        logs = _logs(root, version)
        with _SceneIndex() as index:
            index.fill(root, version)
            for channel, modality in index.other_channels:
                job.note(f"ignored {channel}: {modality} is not read")
            for scene in iter_json_list(root, f"{version}/scene.json"):
                clip = _clip(root, scene, logs, index, job)
                if clip is not None:
                    yield clip


def _clip(
    root: Source,
    scene: Mapping[str, Any],
    logs: Mapping[str, str],
    index: _SceneIndex,
    job: Import,
) -> Clip | None:
    name, token = scene.get("name"), scene.get("token")
    if not isinstance(name, str) or not isinstance(token, str) or not name:
        raise ManifestError("a scene has no name or token", path=root.uri, hint="Copy it again.")
    sources: dict[str, SourceSpec] = {
        channel: _camera(name, channel, frames, job) for channel, frames in index.cameras_of(token)
    }
    sources |= _bus_sources(root, name, job)
    if not sources:
        job.note("left out a scene without images or CAN bus")
        return None
    # Scenes of one log were recorded in one session: they share their clocks.
    log = logs.get(str(scene.get("log_token")), name)
    return root.clip(name, sources, recording_id=log)


def _camera(scene: str, channel: str, frames: list[_Frame], job: Import) -> CameraSpec:
    # Images of all scenes are in two folders: a table names those of this scene.
    uri = job.sidecars.write_table(
        f"{scene}/{channel}.parquet",
        {
            "timestamp_ns": [frame.time_us * 1000 for frame in frames],
            "file": [frame.file for frame in frames],
        },
    )
    job.note(f"{channel} -> camera, samples and sweeps")
    return CameraSpec(
        uri=".",
        timestamps=uri,
        stamp_at="start_of_frame",
        line_delay_s=0.0,
        focal_px=frames[0].focal_px,
    )


def _find(source: Source) -> tuple[Source, str] | None:
    """Return (root, name of the version folder)."""
    if source.file is not None:
        return None
    name = PurePosixPath(source.base_uri.split("::")[0]).name
    if name.startswith("v1.0-") and source.has("scene.json"):
        return Source(source.parent_uri), name
    versions = _versions(source)
    if not versions:
        return None
    return source, next((name for name in _PREFERRED if name in versions), versions[0])


def _versions(root: Source) -> list[str]:
    return [name for name in root.folders(pattern="v1.0-*") if root.has(f"{name}/scene.json")]


def _logs(root: Source, version: str) -> dict[str, str]:
    """Return log names by token; there are few of them."""
    name = f"{version}/log.json"
    if not root.has(name):
        return {}
    return {
        str(log.get("token")): str(log["logfile"])
        for log in iter_json_list(root, name)
        if log.get("logfile")
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Frame:
    """One image: timestamp in Unix microseconds, file below the root, focal length."""

    time_us: int
    file: str
    focal_px: float | None


class _SceneIndex:
    """Tables of one version in a temporary SQLite file that lasts as long as the context.

    `other_channels` lists (channel, modality) of the sensors that are not cameras.
    """

    def __init__(self) -> None:
        self.other_channels: list[tuple[str, str]] = []

    def __enter__(self) -> _SceneIndex:
        """Create the file."""
        self._folder = tempfile.TemporaryDirectory(prefix="syncaudit-")
        self._base = sqlite3.connect(Path(self._folder.name) / "scenes.sqlite")
        self._base.executescript(
            "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
            "CREATE TABLE sample (token TEXT PRIMARY KEY, scene TEXT) WITHOUT ROWID;"
            "CREATE TABLE mount (token TEXT PRIMARY KEY, channel TEXT, focal_px REAL)"
            " WITHOUT ROWID;"
            "CREATE TABLE frame (sample TEXT, channel TEXT, time_us INTEGER, file TEXT,"
            " focal_px REAL);"
        )
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the file."""
        self._base.close()
        self._folder.cleanup()

    def fill(self, root: Source, version: str) -> None:
        """Read the tables of a version."""

        def rows(table: str, *keys: str) -> Iterator[tuple[Any, ...]]:
            name = f"{version}/{table}.json"
            for number, row in enumerate(iter_json_list(root, name)):
                missing = [key for key in keys if key not in _ANY and type(row.get(key)) is not str]
                missing += [key for key in _ANY.intersection(keys) if key not in row]
                if missing:
                    raise ManifestError(
                        f"item {number} has no text '{missing[0]}'",
                        path=root.uri_of(name),
                        hint="Copy the tables again.",
                    )
                yield tuple(row[key] for key in keys)

        cameras: dict[str, str] = {}
        for token, channel, modality in rows("sensor", "token", "channel", "modality"):
            if modality == "camera":
                cameras[token] = channel
            else:
                self.other_channels.append((str(channel), str(modality)))
        with self._base as base:
            base.executemany(
                "INSERT OR REPLACE INTO mount VALUES (?, ?, ?)",
                (
                    (token, cameras[sensor], _focal_px(matrix))
                    for token, sensor, matrix in rows(
                        "calibrated_sensor", "token", "sensor_token", "camera_intrinsic"
                    )
                    if sensor in cameras
                ),
            )
            base.executemany(
                "INSERT OR REPLACE INTO sample VALUES (?, ?)",
                rows("sample", "token", "scene_token"),
            )
            keys = ("calibrated_sensor_token", "sample_token", "timestamp", "filename")
            find = "SELECT channel, focal_px FROM mount WHERE token = ?"
            for mount, sample, time_us, file in rows("sample_data", *keys):
                found = base.execute(find, (mount,)).fetchone()
                if found is not None:
                    _check(root, version, time_us, file)
                    base.execute(
                        "INSERT INTO frame VALUES (?, ?, ?, ?, ?)",
                        (sample, found[0], time_us, file, found[1]),
                    )
            base.executescript(
                "CREATE INDEX of_scene ON sample (scene);CREATE INDEX of_sample ON frame (sample);"
            )

    def cameras_of(self, scene: str) -> Iterator[tuple[str, list[_Frame]]]:
        """Yield (channel, its images in time order) for the scene with that token."""
        rows = self._base.execute(
            "SELECT channel, time_us, file, frame.focal_px FROM sample JOIN frame"
            " ON frame.sample = sample.token WHERE sample.scene = ?"
            " ORDER BY channel, time_us, file",
            (scene,),
        )
        for channel, group in groupby(rows, key=lambda row: str(row[0])):
            yield channel, [_Frame(time_us=t, file=file, focal_px=f) for _, t, file, f in group]


def _check(root: Source, version: str, time_us: object, file: object) -> None:
    # Millisecond or nanosecond timestamps would not be from nuScenes.
    is_time = isinstance(time_us, int) and 0 < time_us < 2**63 // 1000
    is_name = isinstance(file, str) and not (
        file.startswith("/") or ".." in file.split("/") or is_url(file) or not file.isprintable()
    )
    if not is_time or not is_name:
        raise ManifestError(
            f"timestamp {describe(time_us)} or filename {describe(file)} is not valid in nuScenes",
            path=root.uri_of(f"{version}/sample_data.json"),
            hint="Expected unix microseconds and a path below the data set.",
        )


def _focal_px(matrix: object) -> float | None:
    try:
        focal_px = float(matrix[0][0])  # type: ignore[index]  # untrusted: caught below
    except (TypeError, ValueError, LookupError):
        return None
    return focal_px if math.isfinite(focal_px) and focal_px > 0 else None


@dataclass(frozen=True, slots=True)
class _Message:
    """Rule that turns a message into a source."""

    kind: str
    # table column to (message key, factor to SI units); vectors are spread over columns
    columns: Mapping[str, tuple[str, float]]
    is_received: bool = False  # timestamps are reception times


_MESSAGES: Mapping[str, _Message] = {
    "ms_imu": _Message("imu", {"gyro": ("rotation_rate", 1.0), "accel": ("linear_accel", 1.0)}),
    "pose": _Message("state", {name: (name, 1.0) for name in _POSE}),
    "steeranglefeedback": _Message("can", {"steering_angle": ("value", 1.0)}),
    "vehicle_monitor": _Message(
        "can",
        {
            "speed": ("vehicle_speed", _KMH),
            "yaw_rate": ("yaw_rate", _DEGREES),
            "steering_angle": ("steering", _DEGREES),
            "brake": ("brake", 1.0),
        },
    ),
    "zoesensors": _Message(
        "can",
        {"brake": ("brake_sensor", 1.0), "steering_angle": ("steering_sensor", 1.0)},
        is_received=True,
    ),
    "zoe_veh_info": _Message(
        "can",
        {
            "speed": ("odom_speed", _KMH),
            **{f"wheel_speed_{w}": (f"{w.upper()}_wheel_speed", 1.0) for w in _WHEELS},
            "long_accel": ("longitudinal_accel", 1.0),
            "lateral_accel": ("transversal_accel", _G),
            "steering_angle": ("steer_corrected", _DEGREES),
        },
        is_received=True,
    ),
}


def _bus_sources(root: Source, scene: str, job: Import) -> dict[str, SourceSpec]:
    """Return the sources of a scene in the expansion; {} without the expansion."""
    sources: dict[str, SourceSpec] = {}
    for message, rule in _MESSAGES.items():
        name = f"can_bus/{scene}_{message}.json"
        if not root.has(name):
            continue
        try:
            columns = _table(root, name, rule)
        except ManifestError as error:
            job.note(f"cannot convert {error}")
            # Named unconverted, so that the audit of this clip reports the fault.
            columns, uri = {}, name
        else:
            uri = job.sidecars.write_table(f"{scene}/{message}.parquet", columns)
        sources[message] = _spec(rule, uri, columns)
        times = "times of reception" if rule.is_received else "times of measurement"
        job.note(f"{message} -> {rule.kind}, {times}")
    if not sources:
        job.note("a scene has no CAN bus data (can_bus/scene-0001_ms_imu.json ...)")
    return sources


def _spec(rule: _Message, uri: str, columns: Mapping[str, object]) -> SourceSpec:
    stamp_kind: Any = "receive" if rule.is_received else "capture"
    if rule.kind == "imu":
        return ImuSpec(uri=uri, stamp_kind=stamp_kind)
    if rule.kind == "state":
        groups = {
            group: [name for name in columns if name.startswith(f"{group}_")]
            for group in rule.columns
        }
        kept = {group: names for group, names in groups.items() if names}
        return StateSpec(uri=uri, stamp_kind=stamp_kind, columns=kept or None)
    roles = [role for role in rule.columns if role in columns] or list(rule.columns)
    return CanSpec(uri=uri, stamp_kind=stamp_kind, signals={role: role for role in roles})


def _table(root: Source, name: str, rule: _Message) -> dict[str, NDArray[np.generic]]:
    """Return the columns of a message; keys missing from all rows are left out."""
    rows = root.read_json(name)
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ManifestError("is not a list of messages", path=root.uri_of(name))
    times_us = [row.get("utime") for row in rows]
    if not all(isinstance(time, int) and abs(time) < 2**63 // 1000 for time in times_us):
        raise ManifestError(
            "a message has no 'utime' in whole microseconds", path=root.uri_of(name)
        )
    columns: dict[str, NDArray[np.generic]] = {
        "timestamp_ns": np.array(times_us, dtype=np.int64) * 1000
    }
    for column, (key, factor) in rule.columns.items():
        if rows and not any(key in row for row in rows):
            continue
        try:
            values = np.array([row.get(key, math.nan) for row in rows], dtype=np.float64) * factor
        except (TypeError, ValueError) as error:
            raise ManifestError(
                f"'{key}' does not have the same number of values in every message",
                path=root.uri_of(name),
            ) from error
        if values.ndim == 1:
            columns[column] = values
            continue
        parts = _XYZ if values.shape[1] == 3 else tuple(map(str, range(values.shape[1])))
        for place, part in enumerate(parts):
            columns[f"{column}_{part}"] = values[:, place]
    return columns
