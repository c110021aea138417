"""Find the images of a nuScenes scene without holding a table of millions of rows."""

from __future__ import annotations

import math
import sqlite3
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from syncaudit.datasets.json_lines import iter_json_list
from syncaudit.datasets.source import Source
from syncaudit.datasets.wording import describe
from syncaudit.errors import ManifestError
from syncaudit.readers.uris import is_url

__all__ = ["Frame", "SceneIndex"]


# Keys with values other than text; their types are checked where they are used.
_ANY = frozenset({"camera_intrinsic", "timestamp", "filename"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One image: timestamp in Unix microseconds, file below the root, focal length."""

    time_us: int
    file: str
    focal_px: float | None


class SceneIndex:
    """Tables of one version in a temporary SQLite file that lasts as long as the context.

    Attributes
    ----------
    other_channels : list of (channel, modality)
        Sensors that are not cameras.
    """

    def __init__(self) -> None:
        self.other_channels: list[tuple[str, str]] = []

    def __enter__(self) -> SceneIndex:
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

    def cameras_of(self, scene: str) -> Iterator[tuple[str, list[Frame]]]:
        """Yield (channel, its images in time order) for the scene with that token."""
        rows = self._base.execute(
            "SELECT channel, time_us, file, frame.focal_px FROM sample JOIN frame"
            " ON frame.sample = sample.token WHERE sample.scene = ?"
            " ORDER BY channel, time_us, file",
            (scene,),
        )
        for channel, group in groupby(rows, key=lambda row: str(row[0])):
            yield channel, [Frame(time_us=t, file=file, focal_px=f) for _, t, file, f in group]


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
    """Return the horizontal focal length from an intrinsic matrix."""
    try:
        focal_px = float(matrix[0][0])  # type: ignore[index]  # untrusted: caught below
    except (TypeError, ValueError, LookupError):
        return None
    return focal_px if math.isfinite(focal_px) and focal_px > 0 else None
