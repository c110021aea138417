"""The tables of the flash benchmark, and its figures compared with the targets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from flash_calibration import Calibrated, SourceError
from flash_recordings import ISSUE_SCENARIOS
from tables import print_table

Z_95 = 1.96
TARGETS = {
    "flash_rms_s": 20e-6,
    "flash_worst_s": 60e-6,
    "offset_rmse_s": 50e-6,
    "drift_rmse_ppm": 1.0,
    "exposure_spread_s": 50e-6,
    "coverage": (0.90, 0.98),
    "matching_wrong": 0,
    "matching_s": 0.2,
    "detection_over_decoding": 2.0,
}
"""From issue 3; 'dominated by decoding' is read as: at most the same again."""
REFUSED = ("periodic",)  # scenarios that must be refused
PUBLISHED = (
    "The only published tool for this job, by the issue: off by 0.7-3 ms on the clean scenario,",
    "by 13 ms with unequal exposures, and by seconds when the first flash is missed.",
)


def print_detections(detections: Mapping[str, Any]) -> dict[str, Any]:
    """Print the timing accuracy of single flashes; return the figures that have targets."""
    print_table(
        "single flashes against the truth (us), true line delay and exposure",
        ("recording", "flash rms", "worst", "edge rms", "flashes", "|z|<1.96", "found", "false",
         "in intervals", "detect/decode"),
        [
            (
                key,
                _us(d["flash_rms_s"]),
                _us(d["flash_worst_s"]),
                _us(d["edge_rms_s"]),
                d["n_flashes"],
                _percent(d["z_coverage"]),
                _share(d["n_found"], d["n_expected"]),
                d["n_false"],
                _share(d["n_intervals_held"], d["n_intervals"]),
                f"{d['detect_s'] / d['decode_s']:.2f}",
            )
            for key, d in detections.items()
        ],
    )  # fmt: skip
    known = [
        d
        for d in detections.values()
        if d["scenario"] in ISSUE_SCENARIOS and d["flash_rms_s"] is not None
    ]
    if not known:
        return {}
    return {
        "flash_rms_s": max(d["flash_rms_s"] for d in known),
        "flash_worst_s": max(d["flash_worst_s"] for d in known),
        "detection_over_decoding": float(
            np.median([d["detect_s"] / d["decode_s"] for d in detections.values()])
        ),
    }


def print_calibrations(calibrations: Mapping[str, list[Calibrated]]) -> dict[str, Any]:
    """Print the accuracy of the clocks; return the figures that have targets."""
    rows = []
    for name, runs in calibrations.items():
        every = [error for run in runs for error in run.errors]
        errors = [error for error in every if error.kind == "camera"]
        others = [error.offset_s for error in every if error.kind != "camera"]
        rows.append(
            (
                name,
                _us(rms([e.offset_s for e in errors])),
                _us(max((abs(e.offset_s) for e in errors), default=None)),
                rms(_there(e.drift_ppm for e in errors)),
                _us(rms(_there(e.line_delay_s for e in errors)), 1e9),
                _us(rms(_there(e.exposure_s for e in errors))),
                _us(max(map(abs, others), default=None)),
                _percent(_coverage(every)),
                sum(run.refused is not None for run in runs),
                float(np.mean([run.seconds for run in runs])),
            )
        )
    print_table(
        "calibrations against the true clocks (cameras; worst of the other sources)",
        ("scenario", "offset rmse us", "worst us", "drift rmse ppm", "line delay ns",
         "exposure us", "other sources us", "|z|<1.96", "refused", "seconds"),
        rows,
    )  # fmt: skip
    for name, runs in calibrations.items():
        for words in {run.refused for run in runs if run.refused}:
            print(f"  {name} refused: {words}")
    judged = [
        error
        for name, runs in calibrations.items()
        if name in ISSUE_SCENARIOS and name not in REFUSED
        for run in runs
        for error in run.errors
        if error.kind == "camera"
    ]
    figures: dict[str, Any] = {
        "refused": sorted(
            name for name, runs in calibrations.items() if any(run.refused for run in runs)
        )
    }
    if judged:
        figures |= {
            "offset_rmse_s": rms([e.offset_s for e in judged]),
            "drift_rmse_ppm": rms(_there(e.drift_ppm for e in judged)),
            "coverage": _coverage(judged),
        }
    unequal = [error for run in calibrations.get("exposures", []) for error in run.errors]
    if unequal:
        by_exposure = defaultdict(list)
        for error in unequal:
            by_exposure[error.true_exposure_s].append(error.offset_s)
        means = [float(np.mean(offsets)) for offsets in by_exposure.values()]
        figures["exposure_spread_s"] = max(means) - min(means)
    return figures


def print_matching(matching: Mapping[str, Any]) -> dict[str, Any]:
    """Print the outcomes of random problems; return the figures that have targets."""
    problems = matching["problems"]
    print_table(
        "matching random pairs of event trains",
        ("train", "problems", "accepted", "accepted and wrong"),
        [(p["train"], p["n"], p["n_accepted"], p["n_wrong"]) for p in problems],
    )
    print(f"  six sources of 80 events, all pairs: {matching['seconds']:.3f} s")
    if not problems:
        return {"matching_s": matching["seconds"]}
    return {
        "matching_wrong": sum(p["n_wrong"] for p in problems),
        "matching_accepted": sum(p["n_accepted"] for p in problems),
        "matching_s": matching["seconds"],
    }


def print_targets(figures: Mapping[str, Any]) -> None:
    """Print which targets are met, and the figures of the published tool."""
    print("\n" + "\n".join(PUBLISHED))
    print()
    for name, target in TARGETS.items():
        found = figures.get(name)
        if found is None:
            print(f"  not measured  {name}: target {target}")
            continue
        if isinstance(target, tuple):
            is_reached = target[0] <= found <= target[1]
        else:
            is_reached = abs(found) <= target
        print(f"  {'reached ' if is_reached else 'MISSED  '} {name}: {found:.3g}, target {target}")


def _coverage(errors: Sequence[SourceError]) -> float | None:
    z = [e.offset_s / e.offset_std_s for e in errors]
    z += [
        e.drift_ppm / e.drift_std_ppm for e in errors if e.drift_ppm is not None and e.drift_std_ppm
    ]
    return float((np.abs(z) < Z_95).mean()) if z else None


def _there(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def rms(values: Any) -> float | None:
    """Return the root mean square; None if there are no values."""
    values = np.asarray(values, dtype=float)
    return float(np.sqrt(np.mean(values**2))) if values.size else None


def _us(seconds: float | None, unit: float = 1e6) -> str | None:
    return None if seconds is None else f"{unit * seconds:.1f}"


def _percent(share: float | None) -> str | None:
    return None if share is None else f"{100 * share:.0f} %"


def _share(part: int, whole: int) -> str | None:
    return f"{part}/{whole}" if whole else None
