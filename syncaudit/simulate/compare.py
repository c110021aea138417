"""Compare two renderings of a clip: timestamps to the nanosecond, images within a tolerance."""

import json
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray

from .manifests import MANIFEST_NAME

LUMA_TOLERANCE = 4.0  # mean absolute difference of a frame, as from other x264 versions
VALUE_TOLERANCE = 2e-2  # for table values: two steps of the coarsest rounding


def compare_clips(expected: str | Path, found: str | Path) -> list[str]:
    """Describe how two clip folders differ; an empty list means that they are equal.

    Other versions of the video library give other bytes, so videos count as equal if they have the
    same number of frames and each frame's luma differs by at most `LUMA_TOLERANCE` on average.
    Manifests and timestamps must agree exactly, table values within `VALUE_TOLERANCE`.
    """
    expected, found = Path(expected), Path(found)
    row, other = (
        json.loads((folder / MANIFEST_NAME).read_text(encoding="utf-8"))
        for folder in (expected, found)
    )
    if row != other:
        return [f"{MANIFEST_NAME}: rows differ"]
    differences: list[str] = []
    for name, source in row["sources"].items():
        for key in ("timestamps", "uri"):
            if key not in source:
                continue
            paths = expected / source[key], found / source[key]
            missing = [str(path) for path in paths if not path.exists()]
            if len(missing) == 1:
                differences.append(f"{name}: {missing[0]} is missing")
            if not missing:
                differences += [f"{name}: {words}" for words in _compare_files(*paths)]
    return differences


def read_luma(path: str | Path) -> NDArray[np.uint8]:
    """Decode the luma of a video, shape (n_frames, height, width)."""
    frames = []
    with av.open(str(path)) as file:
        for frame in file.decode(video=0):
            plane = frame.planes[0]
            rows = np.frombuffer(memoryview(plane), np.uint8).reshape(plane.height, plane.line_size)
            frames.append(rows[:, : plane.width].copy())
    return np.array(frames, dtype=np.uint8)


def _compare_files(path: Path, other: Path) -> list[str]:
    if path.read_bytes() == other.read_bytes():
        return []
    if path.suffix == ".mp4":
        return _compare_videos(path, other)
    if path.suffix == ".csv":
        return _compare_tables(path, other)
    return [f"{path.name} differs"]


def _compare_videos(path: Path, other: Path) -> list[str]:
    frames, others = read_luma(path).astype(np.int16), read_luma(other).astype(np.int16)
    if frames.shape != others.shape:
        return [f"{path.name} decodes to shape {others.shape}, expected {frames.shape}"]
    apart = np.abs(frames - others).mean(axis=(1, 2))
    if apart.max() > LUMA_TOLERANCE:
        return [f"{path.name}: frame {int(apart.argmax())} differs by {apart.max():.1f} levels"]
    return []


def _compare_tables(path: Path, other: Path) -> list[str]:
    lines, others = path.read_text().splitlines(), other.read_text().splitlines()
    if lines[:1] != others[:1] or len(lines) != len(others):
        return [f"{path.name}: columns or number of rows differ"]
    fields, other_fields = ([line.split(",") for line in table[1:]] for table in (lines, others))
    if [row[0] for row in fields] != [row[0] for row in other_fields]:
        return [f"{path.name}: stamps differ"]
    values, other_values = (
        np.array([row[1:] for row in table], dtype=float) for table in (fields, other_fields)
    )
    is_close = np.isclose(values, other_values, rtol=0, atol=VALUE_TOLERANCE, equal_nan=True)
    return [] if is_close.all() else [f"{path.name}: values differ"]
