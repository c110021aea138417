"""Accuracy and speed of the calibration by flashes, on simulated H.264 recordings of 480 lines.

Single flashes are compared with their true instants using the true line delay and exposure, so that
the figures are the detector's own; calibrations are compared with the true clocks; matching runs on
random problems. Parts that are not available are skipped and reported as such.
"""

from __future__ import annotations

import one_thread  # noqa: F401  # before numpy

# isort: split
import argparse
import sys
from collections import defaultdict
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from flash_calibration import Calibrated, calibrate_recording
from flash_detection import (
    Score,
    camera_streams,
    decode_only_s,
    detect,
    score_edges,
    score_intervals,
)
from flash_matching import matching_time_s, random_problems
from flash_recordings import OUT, SCENARIOS, FlashRecording, recording
from flash_report import (
    TARGETS,
    Z_95,
    print_calibrations,
    print_detections,
    print_matching,
    print_targets,
    rms,
)
from tables import write_json

from syncaudit.model import FlashEdges, FlashIntervals


def main() -> int:
    """Run the benchmark and always return 0: it does not gate anything."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scenarios", default=",".join(SCENARIOS))
    parser.add_argument("--seeds", default="0", help="recordings per scenario, like 0,1,2")
    parser.add_argument("--duration", type=float, help="seconds; default: the scenario's 45")
    parser.add_argument("--cameras", type=int, default=6)
    parser.add_argument("--problems", type=int, default=1000, help="random matching problems")
    parser.add_argument("--out", type=Path, default=OUT / "flash.json")
    options = parser.parse_args()
    cv2.setNumThreads(1)
    names = [name for name in options.scenarios.split(",") if name]
    unknown = set(names) - set(SCENARIOS)
    if unknown:
        parser.error(f"unknown scenarios {sorted(unknown)}; known: {', '.join(SCENARIOS)}")
    seeds = [int(seed) for seed in options.seeds.split(",")]
    detections: dict[str, Any] = {}
    calibrations: dict[str, list[Calibrated]] = defaultdict(list)
    for name in names:
        for seed in seeds:
            print(f"  {name}, seed {seed} ...", file=sys.stderr, flush=True)
            made = recording(name, seed=seed, duration_s=options.duration, cameras=options.cameras)
            found = _tried(f"detection of {name}", _detected, made)
            if found is not None:
                detections[f"{name}/{seed}"] = found
            done = _tried(f"calibration of {name}", calibrate_recording, made)
            if done is not None:
                calibrations[name].append(done)
    matching = _tried("matching", _matched, options.problems)
    figures: dict[str, Any] = {}
    for part, show in (
        (detections, print_detections),
        (calibrations, print_calibrations),
        (matching, print_matching),
    ):
        if part:
            figures |= show(part)
    print_targets(figures)
    result = {
        "targets": TARGETS,
        "figures": figures,
        "detections": detections,
        "calibrations": {name: [asdict(c) for c in runs] for name, runs in calibrations.items()},
        "matching": matching,
    }
    write_json(options.out, result)
    return 0


def _tried(words: str, do: Callable[[Any], Any], argument: object) -> Any:
    """Return the result of a part, or None if it is missing or fails: the rest still counts."""
    try:
        return do(argument)
    except Exception as error:  # noqa: BLE001  # a benchmark of several parts reports each
        print(f"  left out: {words}: {type(error).__name__}: {error}", file=sys.stderr)
        return None


def _detected(made: FlashRecording) -> dict[str, Any]:
    """Run the detector on every camera and pool the errors."""
    scores: list[Score] = []
    decode_s = detect_s = 0.0
    held = intervals = nothing = 0
    for stream in camera_streams(made).values():
        decode_s += decode_only_s(stream)
        found = detect(stream)
        detect_s += found.cpu_s
        if isinstance(found.evidence, FlashEdges):
            scores.append(score_edges(found.evidence, made.truth))
        elif isinstance(found.evidence, FlashIntervals):
            more, n = score_intervals(found.evidence, made.truth)
            held, intervals = held + more, intervals + n
        else:
            nothing += 1
    flashes = np.concatenate([score.flash_errors_s for score in scores] or [np.empty(0)])
    edges = np.concatenate([score.edge_errors_s for score in scores] or [np.empty(0)])
    std = np.concatenate([score.edge_std_s for score in scores] or [np.empty(0)])
    return {
        "scenario": made.name,
        "flash_rms_s": rms(flashes),
        "flash_worst_s": float(np.abs(flashes).max()) if flashes.size else None,
        "edge_rms_s": rms(edges),
        "edge_median_s": float(np.median(edges)) if edges.size else None,
        "n_flashes": int(flashes.size),
        "n_edges": int(edges.size),
        "z_coverage": float((np.abs(edges / std) < Z_95).mean()) if edges.size else None,
        "n_false": sum(score.n_false for score in scores),
        "n_expected": sum(score.n_expected for score in scores),
        "n_found": sum(score.n_found for score in scores),
        "n_intervals": intervals,
        "n_intervals_held": held,
        "n_cameras_without": nothing,
        "decode_s": decode_s,
        "detect_s": detect_s,
    }


def _matched(n: int) -> dict[str, Any]:
    tallies = random_problems(n, seed=1)
    return {"problems": [asdict(tally) for tally in tallies], "seconds": matching_time_s()}


if __name__ == "__main__":
    sys.exit(main())
