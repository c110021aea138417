"""The viewer shows the figures of `validate`, from its row and from an audit of its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from syncaudit_gui.audits.run import run_audit
from syncaudit_gui.viewmodel.judgement import Judgement

from syncaudit.datasets import load_manifest
from syncaudit.pipeline import audit

MANIFEST = Path(__file__).parents[2] / "sample_data" / "manifest.jsonl"


@pytest.fixture(scope="module")
def clip():
    if not MANIFEST.exists():
        pytest.skip("sample_data is not there")
    return next(c for c in load_manifest(str(MANIFEST)) if c.clip_id == "dropped_frames")


@pytest.fixture(scope="module")
def live(clip):
    return run_audit(clip, None, 0, 1, lambda _: None)


def test_an_audit_of_the_viewer_finds_what_validate_finds(clip, live):
    verdict = audit(clip)
    row, own = verdict.to_json(), dict(live.row)
    for timed in ("seconds", "stages"):
        del row[timed], own[timed]
    assert json.loads(json.dumps(own)) == json.loads(json.dumps(row))
    # Of a run: what its row says.
    shown = Judgement.of_row(json.loads(json.dumps(verdict.to_json())), clip)
    assert shown is not None
    for name, source in verdict.sources.items():
        for found in (shown.sources[name], live.judgement.sources[name]):
            assert (found.offset_s, found.offset_std_s) == (source.offset_s, source.offset_std_s)
            assert (found.drift_ppm, found.drift_std_ppm) == (
                source.drift_ppm,
                source.drift_std_ppm,
            )


def test_what_a_camera_saw_is_drawn_throughout(clip, live):
    """Validation tracks the telling frames of a camera; a lane with holes would say little."""
    n_frames = live.row["sources"]["cam_front"]["timing"]["samples"]
    assert live.rotations["cam_front"].start_s.size > 0.9 * n_frames
