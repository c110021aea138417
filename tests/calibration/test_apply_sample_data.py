"""A wrong clock is found, corrected, and then found right, on clips of the sample data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from syncaudit.datasets import load_manifest
from syncaudit.model import Clip, ClipVerdict, Verdict
from syncaudit.pipeline import audit
from testkit.apply_clips import calibration, clips_of, corrected, manifest, verdicts
from testkit.places import SAMPLE_DATA

pytestmark = pytest.mark.skipif(not SAMPLE_DATA.is_dir(), reason="sample_data is not here")

# The remaining error may be twice that of one measurement, as another one corrected it.
LEFT_S = 0.0025


def part_of(folder: Path, clip_id: str) -> str:
    """Write a manifest with one camera, the IMU and the bus of a sample clip."""
    row = json.loads((SAMPLE_DATA / clip_id / "manifest.jsonl").read_text())
    sources = {name: row["sources"][name] for name in ("cam_rear", "imu", "can")}
    for source in sources.values():
        for key in {"uri", "timestamps", "dbc"} & source.keys():
            source[key] = str(SAMPLE_DATA / clip_id / source[key])
    return manifest(folder, row | {"sources": sources})


def only(path: str) -> Clip:
    (clip,) = load_manifest(path)
    return clip


def check(out: Path, before: ClipVerdict) -> None:
    """Audit the output: the clip passes and the rear camera has no offset left."""
    assert before.verdict is Verdict.REJECT
    after = audit(clips_of(out)[0])
    assert after.verdict is Verdict.PASS, after.reasons
    offset_s = after.sources["cam_rear"].offset_s
    assert offset_s is not None
    assert abs(offset_s) < LEFT_S


def test_an_early_camera_is_mended_by_its_verdict(tmp_path: Path) -> None:
    path = part_of(tmp_path / "m", "cam_rear_early")
    before = audit(only(path))
    row: dict[str, Any] = before.to_json()
    result = corrected(verdicts(tmp_path, row), path, tmp_path / "out")
    assert "ms later" in result.stdout
    check(tmp_path / "out", before)


def test_a_drifting_camera_is_mended_by_a_calibration(tmp_path: Path) -> None:
    path = part_of(tmp_path / "m", "drifting_camera")
    truth = json.loads((SAMPLE_DATA / "drifting_camera" / "truth.json").read_text())
    clip = truth["clips"]["drifting_camera"]
    source = {key: clip["sources"]["cam_rear"][key] for key in ("offset_s", "drift_ppm")}
    known = calibration(tmp_path, at_ns=clip["at_ns"], cam_rear=source, imu=0.0)
    result = corrected(known, path, tmp_path / "out")
    assert "ppm taken out" in result.stdout
    check(tmp_path / "out", audit(only(path)))
