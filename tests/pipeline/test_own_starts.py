"""Logs that count from their own start are found wherever they overlap, and never pass."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from syncaudit.datasets import load_manifest
from syncaudit.model import ClipVerdict, Verdict
from syncaudit.pipeline import audit
from testkit.moving_body import TILTED, shaking

HEADER = "timestamp_ns,gyro_x,gyro_y,gyro_z"
# The log starts with the camera; 30 us is what gyros with 3 mrad/s of noise give in 20 s.
BEGAN_S = 61.234
TOLERANCE_S = 1e-3


def write_gyro(path: Path, times_s: np.ndarray, rates: np.ndarray) -> None:
    rows = [
        f"{round(1e9 * time)}," + ",".join(f"{value:.7g}" for value in rate)
        for time, rate in zip(times_s, rates, strict=True)
    ]
    path.write_text("\n".join([HEADER, *rows]) + "\n")


def audited(folder: Path, *, moves: bool = True, **fields: object) -> ClipVerdict:
    rng, motion = np.random.default_rng(24), shaking(24)
    times_s, log_s = np.arange(0.0, 20.0, 0.01), np.arange(0.0, 120.0, 0.02)
    for name, own_s, seen in (
        ("camera", times_s, motion.rate(times_s)),
        ("log", log_s, motion.mixed(TILTED).rate(log_s - BEGAN_S) * moves),
    ):
        write_gyro(folder / f"{name}.csv", own_s, seen + rng.normal(0.0, 3e-3, seen.shape))
    row = {
        "clip_id": "clip",
        "sources": {
            "camera": {"kind": "imu", "uri": "camera.csv"},
            "log": {"kind": "imu", "uri": "log.csv", **fields},
        },
    }
    (folder / "m.jsonl").write_text(json.dumps(row) + "\n")
    return audit(load_manifest(str(folder / "m.jsonl"))[0])


def test_a_log_is_found_wherever_it_began(tmp_path):
    verdict = audited(tmp_path, is_start_assumed=True)
    (pair,) = verdict.pairs
    assert pair.offset_s == pytest.approx(BEGAN_S, abs=TOLERANCE_S)
    assert verdict.verdict is Verdict.UNVERIFIED
    (said,) = [each.message for each in verdict.reasons if "own" in each.message]
    assert "log counts from its own start: its timestamps are 61.23" in said
    assert "s late against camera (angular rate)" in said


def test_a_log_with_a_stated_start_is_sought_near_it(tmp_path):
    """Only a fault would put it a minute off, and the policy limits the search range."""
    (pair,) = audited(tmp_path).pairs
    assert not pair.accepted


def test_a_log_of_another_drive_is_told(tmp_path):
    verdict = audited(tmp_path, moves=False, is_start_assumed=True)
    (said,) = [each.message for each in verdict.reasons if "own" in each.message]
    assert "nothing in the clip states when that is" in said
