"""Faults injected into bags of six cameras and an IMU: which are detected, and how reported."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import tests_on_path  # noqa: F401  # before testkit

from testkit.bags.drive import drive, rules
from testkit.bags.stamped import judged, stamped, told
from testkit.bags.writing import Messages, write_bag

OFFSET_S, DRIFT_PPM, LATE_S = 0.05, 200.0, 0.12

Change = Callable[[np.ndarray], np.ndarray]


def _back_step(times: np.ndarray) -> np.ndarray:
    return times - 300_000_000 * (np.arange(times.size) >= times.size // 2)


def _repeated(times: np.ndarray) -> np.ndarray:
    times = times.copy()
    times[20::40] = times[19::40]
    return times


def _drifting(times: np.ndarray) -> np.ndarray:
    since = times - times[times.size // 2]
    return times - np.round(since * DRIFT_PPM * 1e-6).astype(np.int64)


# What is done to the timestamps of camera 2, and the finding that must be reported.
FAULTS: Mapping[str, tuple[dict[str, Callable[..., Any]], str]] = {
    "12 messages lost": ({"keep": lambda n: np.r_[: n // 2, n // 2 + 12 : n]}, "gap"),
    "300 ms back": ({"capture": _back_step}, "backwards"),
    "duplicate stamps": ({"capture": _repeated}, "duplicate"),
    "header +50 ms": ({"capture": lambda t: t + round(OFFSET_S * 1e9)}, "offset"),
    "header 200 ppm": ({"capture": _drifting}, "drift"),
}


def bag_faults(folder: Path, *, seeds: range) -> list[dict[str, Any]]:
    """Audit clean and faulty bags; return the findings for every fault and their accuracy."""
    rows = [_judge("clean stamps", folder, seeds, {}, None)]
    rows += [_judge(name, folder, seeds, changes, code) for name, (changes, code) in FAULTS.items()]
    return [*rows, _pictures(folder, 0.0), _pictures(folder, LATE_S)]


def _judge(
    name: str, folder: Path, seeds: range, changes: dict[str, Any], code: str | None
) -> dict[str, Any]:
    found, others, values = 0, 0, []
    for seed in seeds:
        place = folder / f"{name}{seed}"
        place.mkdir()
        said = told(stamped(place, seed=1000 * seed, **changes))
        found += ("cam2", code) in said if code else said == {}
        others += sum(source != "cam2" for source, _ in said)
        if code in ("offset", "drift") and ("cam2", code) in said:
            values.append(said["cam2", code])
    return {
        "fault": name,
        "bags": len(seeds),
        "found": found,
        "of_others": others,
        "code": code,
        "value_lowest": min(values, default=None),
        "value_highest": max(values, default=None),
    }


def _pictures(folder: Path, late_s: float) -> dict[str, Any]:
    """Audit a bag with the frames of a drive; those of one camera may be late."""
    place = folder / f"pictures{late_s}"
    place.mkdir()
    messages = Messages(is_ros1=False)
    sent = drive(messages, late_ns={"cam_rear": round(late_s * 1e9)})
    write_bag(place / "a.mcap", sent, messages)
    verdict = judged(place / "a.mcap", place, **rules())
    said = told(verdict)
    is_clean = verdict.reasons == verdict.warnings == ()
    return {
        "fault": "images 120 ms late" if late_s else "clean, with images",
        "bags": 1,
        "found": int(("cam_rear", "offset") in said if late_s else is_clean),
        "of_others": sum(source != "cam_rear" for source, _ in said),
        "code": "offset" if late_s else None,
        "value_lowest": verdict.sources["cam_rear"].offset_s,
        "value_highest": verdict.sources["cam_rear"].offset_s,
    }
