"""Ask which faults excerpts of videos (`--sparse`) clear, of many more than can be decoded.

All frames of distinct simulated city clips are tracked once. Then the stamps of each camera are
moved by faults of one to two limits, an excerpt is chosen by them, and its part of what was tracked
is held against the gyroscope. A fault is missed where the excerpt clears the camera; and by all
frames, where these are not apart, uneven, stepping or drifting either.
"""

from __future__ import annotations

import one_thread  # noqa: F401  # before numpy

# isort: split
import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from base_clips import DURATION_S, OUT
from gop_clips import gop_clip
from numpy.typing import NDArray
from tables import print_table, write_json

from syncaudit.datasets import load_manifest
from syncaudit.detectors.rotation.detector import frame_times_s
from syncaudit.estimators import measure_camera_gyro
from syncaudit.model import (
    CameraStream,
    ClipEvidence,
    PairMeasurement,
    PictureAudit,
    Quantity,
    RotationIncrements,
)
from syncaudit.pipeline import Examination, examine
from syncaudit.pipeline.excerpts import choose_excerpt, not_cleared
from syncaudit.pipeline.pairing import is_odd

LIMIT_S, Z = 0.010, 1.96
FAULTS = ("none", "small", "offset", "step", "drift")
Floats = NDArray[np.float64]


def main() -> int:
    """Print the table and return 0: it never gates."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clips", type=int, default=40, help="city clips, of 3 cameras")
    parser.add_argument("--variants", type=int, default=12, help="of each camera")
    parser.add_argument("--seed", type=int, default=31000)
    parser.add_argument("--out", type=Path, default=OUT / "cascade_measured.json")
    options = parser.parse_args()
    cv2.setNumThreads(1)
    found: list[dict[str, Any]] = []
    for number in range(options.clips):
        base = gop_clip(2 * number, seed=options.seed, gop=(12, 24)[number % 2])
        (clip,) = load_manifest(str(base.folder / "manifest.jsonl"))
        rng = np.random.default_rng([base.seed, 26])
        seen = examine(clip, is_thorough=True)
        for name in seen.evidence.rotations:
            found += [
                {"clip": 2 * number, "camera": name, **_tried(seen, name, kind, rng)}
                for kind in (*FAULTS[:2], *rng.choice(FAULTS[2:], options.variants - 2))
            ]
    rows = []
    for kind in FAULTS:
        own = [one for one in found if one["fault"] == kind]
        excerpts = [one for one in own if one["share"] < 1.0]
        rows.append(
            (
                kind,
                len(own),
                len(excerpts),
                float(np.mean([one["share"] for one in excerpts])),
                sum(one["cleared"] for one in excerpts),
                sum(one["clear"] for one in excerpts),
                sum(one["cleared"] and not one["clear"] for one in excerpts),
            )
        )
    header = ("fault", "n", "excerpts", "share", "cleared", "clear by all", "by excerpt alone")
    print_table("cameras", header, rows)
    write_json(options.out, {"rows": rows, "found": found})
    return 0


def _tried(seen: Examination, name: str, kind: str, rng: np.random.Generator) -> dict[str, Any]:
    camera, tracked = seen.streams[name], seen.evidence.rotations[name]
    assert isinstance(camera, CameraStream)
    rate = seen.evidence.motion["imu"][Quantity.ANGULAR_RATE]
    size_s = float(rng.choice((-1.0, 1.0)) * rng.uniform(1.0, 2.0) * LIMIT_S)
    size_s *= 0.25 if kind == "small" else 1.0
    at_s = float(rng.uniform(0.05, 0.95)) * DURATION_S

    def late_s(times_s: Floats) -> Floats:
        if kind == "none":
            return np.zeros_like(times_s)
        if kind == "step":
            return size_s * (times_s > at_s)
        if kind == "drift":
            return size_s * (times_s / (0.5 * DURATION_S) - 1.0)
        return np.full_like(times_s, size_s)

    frames_s, _, _ = frame_times_s(camera)
    late_ns = np.rint(late_s(frames_s) * 1e9).astype(np.int64)
    ends = np.searchsorted(frames_s, tracked.stop_s - 1e-6)
    moved = replace(
        tracked,
        start_s=tracked.start_s + late_s(tracked.start_s),
        stop_s=tracked.stop_s + late_s(tracked.stop_s),
    )
    whole = measure_camera_gyro(moved, rate, max_offset_s=2.0)
    excerpt = choose_excerpt(replace(camera, time_ns=camera.time_ns + late_ns), rate)
    told = {"fault": kind, "size_s": size_s, "at_s": at_s, "clear": _is_clear(whole)}
    if excerpt is None:
        return {**told, "share": 1.0, "cleared": False}
    part = _rows(moved, excerpt[ends] & excerpt[ends - 1])
    evidence = ClipEvidence(
        rotations={name: part},
        motion={"imu": {Quantity.ANGULAR_RATE: rate}},
        pictures={name: PictureAudit(frames=int(excerpt.sum()))},
        excerpts={name: excerpt},
    )
    measured = measure_camera_gyro(part, rate, max_offset_s=2.0)
    cleared = not not_cleared(evidence, [measured], {})
    return {**told, "share": float(excerpt.mean()), "cleared": cleared}


def _is_clear(pair: PairMeasurement) -> bool:
    """Tell whether a camera is within its limit by all of its frames."""
    if not pair.accepted or pair.offset_s is None or pair.offset_std_s is None:
        return False
    return not is_odd(pair) and abs(pair.offset_s) + Z * pair.offset_std_s <= LIMIT_S


def _rows(tracked: RotationIncrements, keep: NDArray[np.bool_]) -> RotationIncrements:
    names = ("start_s", "stop_s", "angles_rad", "std_rad", "row_moments_px", "row_moves_px")
    kept = {name: getattr(tracked, name)[keep] for name in names}
    return replace(tracked, **kept, regular_start_s=None, regular_stop_s=None)


if __name__ == "__main__":
    sys.exit(main())
