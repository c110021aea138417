"""The viewer shows the figures of `validate`, from its row and from its own audit."""

from __future__ import annotations

import json

import numpy as np
import pytest
from syncaudit_gui.audits import run_audit
from syncaudit_gui.viewmodel.judgement import Judgement

from syncaudit.model import AgreementCurve
from testkit.sample_audits import audited_sample, sample_clips


@pytest.fixture(scope="module")
def clip():
    return sample_clips()["dropped_frames"]


@pytest.fixture(scope="module")
def live(clip):
    return run_audit(clip, None, 0, 1, lambda _: None)


def test_an_audit_of_the_viewer_finds_what_validate_finds(clip, live):
    verdict = audited_sample("dropped_frames")
    row, own = verdict.to_json(), dict(live.row)
    for timed in ("seconds", "stages"):
        del row[timed], own[timed]
    assert json.loads(json.dumps(own)) == json.loads(json.dumps(row))
    # For a run: the content of its row.
    shown = Judgement.of_row(json.loads(json.dumps(verdict.to_json())), clip)
    assert shown is not None
    for name, source in verdict.sources.items():
        for found in (shown.sources[name], live.judgement.sources[name]):
            assert (found.offset_s, found.offset_std_s) == (source.offset_s, source.offset_std_s)
            assert (found.drift_ppm, found.drift_std_ppm) == (
                source.drift_ppm,
                source.drift_std_ppm,
            )


def test_a_row_holds_the_evidence_of_its_measurements(clip, live):
    row = json.loads(json.dumps(live.row))
    shown = Judgement.of_row(row, clip)
    assert shown is not None
    assert [p.evidence for p in shown.pairs] == [p.evidence for p in live.judgement.pairs]
    accepted = [p for p in shown.pairs if p.accepted and not p.is_baseline_only]
    assert len(accepted) > 3
    for pair in accepted:
        assert isinstance(pair.evidence, AgreementCurve)
        if pair.step_s is None:
            # Half a step of the coarsest search; a fit handles rows, gaps and single outliers.
            assert pair.evidence.peak_s == pytest.approx(pair.offset_s, abs=0.02)
        assert np.nanmax(pair.evidence.agreement) > 0.5
        assert len(json.dumps(pair.evidence.to_json())) < 300


def test_what_a_camera_saw_is_drawn_throughout(clip, live):
    """Validation tracks only the informative frames of a camera; gaps would make a lane useless."""
    n_frames = live.row["sources"]["cam_front"]["timing"]["samples"]
    assert live.rotations["cam_front"].start_s.size > 0.9 * n_frames
