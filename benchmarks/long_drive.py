"""A simulated 75-minute drive as video: clips that share clocks which drift apart.

Each clip shows a scene of its own, but the clocks continue from clip to clip: one camera drifts by
3 ms/h, another wanders, and the IMU reboots in minute 40 and is 30 ms late afterwards. No clip
alone can show the drift.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from base_clips import OUT
from tables import print_table

from syncaudit.batch import run_batch
from syncaudit.datasets import load_manifest
from syncaudit.policy import load_policy
from syncaudit.simulate import (
    EPOCH_NS,
    SIX_CAMERAS,
    CanConfig,
    ClockFault,
    ImuConfig,
    RigConfig,
    simulate_manifest,
)

CLIP_S = 9.0
EVERY_S = 360.0
DRIFT_MS_PER_H = 3.0
REBOOT_AT_S, REBOOT_BY_S = 2400.0, 0.030
WANDER_S = 2e-5  # per square root of a second: 1.2 ms in an hour
_CAMERAS = ("cam_front", "cam_front_left", "cam_rear")
_STYLES = ("city", "highway")


def clocks(n_clips: int, seed: int) -> Mapping[str, np.ndarray]:
    """Return the correction of every clock in the middle of every clip, seconds, shape (n,)."""
    at_s = EVERY_S * np.arange(n_clips)
    steps_s = np.random.default_rng([seed, 77]).normal(0.0, WANDER_S * math.sqrt(EVERY_S), n_clips)
    return {
        "cam_front": np.zeros(n_clips),
        "cam_front_left": DRIFT_MS_PER_H * 1e-3 * at_s / 3600.0,
        "cam_rear": np.cumsum(steps_s) - steps_s[0],
        "imu": np.where(at_s >= REBOOT_AT_S, -REBOOT_BY_S, 0.0),
        "can": np.zeros(n_clips),
    }


def configs(
    n_clips: int, seed: int, *, size_px: tuple[int, int] = (428, 240)
) -> tuple[RigConfig, ...]:
    """Return the configurations of the clips of the drive; styles alternate."""
    course = clocks(n_clips, seed)
    drift = {"cam_front_left": DRIFT_MS_PER_H / 3.6}

    def clock(name: str, k: int) -> ClockFault:
        return ClockFault(offset_s=float(course[name][k]), drift_ppm=drift.get(name, 0.0))

    return tuple(
        RigConfig(
            clip_id=f"clip{k:02d}",
            recording_id="long_drive",
            style=_STYLES[k % len(_STYLES)],
            duration_s=CLIP_S,
            start_ns=EPOCH_NS + round(k * EVERY_S * 1e9),
            cameras={
                name: replace(
                    SIX_CAMERAS[name],
                    size_px=size_px,
                    line_delay_s=5e-5 * 240 / size_px[1],
                    clock=clock(name, k),
                )
                for name in _CAMERAS
            },
            imu=ImuConfig(clock=clock("imu", k)),
            can=CanConfig(clock=clock("can", k)),
        )
        for k in range(n_clips)
    )


def audit_drive(n_clips: int, seed: int) -> dict[str, Any]:
    """Render the long drive, validate it, and compare pooled clocks and verdicts with the truth."""
    folder = OUT / f"long_drive-{n_clips}-{seed}"
    if not (folder / "manifest.jsonl").exists():
        simulate_manifest(configs(n_clips, seed), folder, seed)
    clips = load_manifest(str(folder / "manifest.jsonl"))
    run_batch(clips, load_policy(), out=folder / "out", workers=1)
    line = (folder / "out" / "recordings.jsonl").read_text(encoding="utf-8").splitlines()[0]
    recording = json.loads(line)
    verdicts = {}
    rows = []
    truth = clocks(n_clips, seed)
    for text in (folder / "out" / "verdicts.jsonl").read_text(encoding="utf-8").splitlines():
        verdict = json.loads(text)
        k = int(verdict["clip_id"].removeprefix("clip"))
        verdicts[k] = verdict["verdict"]
        for name, source in verdict["sources"].items():
            pooled = source["recording"]
            if pooled is None or name == recording["reference"]:
                continue
            known_s = float(truth[name][k] - truth[recording["reference"]][k])
            rows.append(
                {
                    "clip": k,
                    "source": name,
                    "truth_ms": 1e3 * known_s,
                    "error_ms": 1e3 * (pooled["offset_s"] - known_s),
                    "std_ms": 1e3 * pooled["offset_std_s"],
                    "own_std_ms": None
                    if source["offset_std_s"] is None
                    else 1e3 * source["offset_std_s"],
                }
            )
    return {
        "recording": recording,
        "verdicts": [verdicts[k] for k in sorted(verdicts)],
        "rows": rows,
    }


def print_drive(result: dict[str, Any]) -> None:
    """Print the verdicts in order, and every pooled clock with the truth."""
    print("\nThe long drive, clip by clip:", " ".join(result["verdicts"]))
    rows = []
    for name, clock in result["recording"]["clocks"].items():
        of = [row for row in result["rows"] if row["source"] == name]
        if not of:
            continue
        z = np.array([row["error_ms"] / row["std_ms"] for row in of])
        own = [row["own_std_ms"] for row in of if row["own_std_ms"]]
        rows.append(
            (
                name,
                float(np.sqrt(np.mean([row["error_ms"] ** 2 for row in of]))),
                float(np.median([row["std_ms"] for row in of])),
                float(np.median(own)) if own else None,
                float(np.mean(np.abs(z) < 1.96)),
                clock["drift_ms_per_h"],
                clock["drift_std_ms_per_h"],
                ", ".join(f"{1e3 * step['step_s']:.1f} ms" for step in clock["steps"]) or "-",
            )
        )
    print_table(
        f"Pooled clocks against the truth, read from {result['recording']['reference']}",
        ("clock", "rmse ms", "claimed ms", "clip's ms", "covered", "ms/h", "+-", "steps"),
        rows,
    )
