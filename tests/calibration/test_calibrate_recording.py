"""What a calibration reports about its input data."""

import json
from dataclasses import replace

import numpy as np
import pytest
from syncaudit_calibration import CalibrationError, calibrate, calibrate_events
from syncaudit_calibration.calibrate_recording import with_findings

from syncaudit import load_manifest
from syncaudit.errors import UsageError
from testkit.event_rig import camera, irregular_onsets
from testkit.places import SAMPLE_DATA


def test_a_camera_that_is_calibrated_is_not_refused_for_a_damaged_frame():
    rng = np.random.default_rng(3)
    onsets_s = irregular_onsets(rng, 60)
    cameras = [
        camera(rng, onsets_s, name=f"cam_{k}", rate_hz=rate) for k, rate in ((0, 12), (1, 25))
    ]
    found = with_findings(
        calibrate_events(cameras),
        {"cam_2": "no flash was found"},
        {"cam_1": "2 frames are grey", "cam_3": "it cannot be read"},
    )
    assert set(found.refused) == {"cam_2", "cam_3"}
    assert "2 frames are grey" in found.warnings
    assert "cam_1" in found.sources


def test_an_unknown_reference_is_reported_before_anything_is_read(tmp_path):
    path = tmp_path / "manifest.jsonl"
    spec = {"kind": "events", "uri": "none.csv"}
    path.write_text(json.dumps({"clip_id": "a", "sources": {"log": spec}}), encoding="utf-8")
    (clip,) = load_manifest(path)
    with pytest.raises(UsageError, match="'lgo' is not one of the sources"):
        calibrate(clip, reference="lgo")


def test_a_reference_without_a_flash_is_not_called_unknown():
    (clip,) = (c for c in load_manifest(SAMPLE_DATA / "manifest.jsonl") if c.clip_id == "flashes")
    parked = next(c for c in load_manifest(SAMPLE_DATA / "manifest.jsonl") if c.clip_id == "parked")
    sources = {"trigger": clip.sources["trigger"], "can": clip.sources["can"]}
    dark = {"cam_front": parked.sources["cam_front"]}
    with pytest.raises(CalibrationError, match="the reference, cam_front, did not"):
        calibrate(replace(clip, sources=sources | dark), reference="cam_front")
