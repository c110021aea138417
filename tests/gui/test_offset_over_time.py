"""Offsets that change are drawn over time, with their tolerance beside them."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from syncaudit_gui.audits import AuditResult
from syncaudit_gui.viewmodel.collection import open_collection
from syncaudit_gui.viewmodel.comparing import course_of
from syncaudit_gui.viewmodel.judgement import Judgement, SourceEstimate

from syncaudit.model import AgreementCurve, Finding, PairMeasurement, ReasonCode, Verdict


def curve(middle_s: float) -> AgreementCurve:
    offsets_s = np.arange(-500, 501) / 1000.0
    agreement = np.exp(-0.5 * ((offsets_s - middle_s) / 0.02) ** 2)
    found = AgreementCurve.around(offsets_s, agreement, middle_s, near_s=0.5)
    assert found is not None
    return found


@pytest.fixture
def judged(window):
    """Return the window with an audit that found cam1 20 ms early and its imu 5 ms late."""
    model = window.session.model
    pair = PairMeasurement(
        source="cam1",
        target="imu",
        method="rotation",
        at_ns=model.epoch_ns,
        offset_s=0.025,
        offset_std_s=0.001,
        accepted=True,
        evidence=curve(0.025),
    )
    offsets = {"cam1": 0.020, "imu": -0.005}
    sources = {
        name: SourceEstimate(
            clock=name,
            verdict=Verdict.REJECT if name == "cam1" else Verdict.PASS,
            is_observable=True,
            offset_s=offsets.get(name, 0.0),
            offset_std_s=0.001,
        )
        for name in model.selectable
    }
    reason = Finding(code=ReasonCode.OFFSET, message="cam1 is early", source="cam1", limit=0.01)
    judgement = Judgement(
        verdict=Verdict.REJECT,
        reference="cam0",
        at_ns=model.epoch_ns,
        sources=sources,
        pairs=(pair,),
        reasons=(reason,),
        limits_s={"cam1": 0.01},
    )
    row = {"clip_id": "first", "verdict": "reject", "reasons": []}
    window.audits.take(AuditResult(judgement=judgement, row=row))
    return window


def with_estimate(window, **fields) -> None:
    model = window.session.model
    sources = dict(model.judgement.sources)
    sources["cam1"] = replace(sources["cam1"], **fields)
    model.judgement = replace(model.judgement, sources=sources)
    window.display.show_panels()


def label(window) -> str:
    return window.panels.evidence.plot.getAxis("bottom").labelText


def test_what_is_tolerated_lies_about_the_offset_of_the_other_side(judged):
    shown = judged.session.model.judgement
    (pair,) = shown.pairs
    assert shown.tolerated(pair, "cam1") == pytest.approx((-0.005, 0.015))
    turned = pair.turned()
    assert shown.tolerated(turned, "cam1") == pytest.approx((-0.015, 0.005))
    assert shown.tolerated(pair, "imu") is None


def test_agreement_is_seen_within_three_limits(judged):
    low, high = judged.panels.evidence.plot.viewRange()[0]
    reach = 5e3 * curve(0.025).step_s  # of such a coarse curve: five of its steps
    assert (low, high) == pytest.approx((5.0 - reach, 5.0 + reach), abs=0.1)
    assert "tolerance" in label(judged)


def test_drift_is_drawn_over_time(judged):
    model = judged.session.model
    assert course_of(model, "cam1") is None
    with_estimate(judged, drift_ppm=20_000.0, drift_std_ppm=100.0)
    course = course_of(model, "cam1")
    since_s = course.times_s[-1]
    assert course.offset_s[-1] == pytest.approx(0.020 + 0.02 * since_s, abs=1e-9)
    assert course.std_s[-1] == pytest.approx(np.hypot(0.001, 1e-4 * since_s), abs=1e-9)
    assert course.limit_s == 0.01
    assert label(judged).startswith("offset in ms, over s")
    assert "Agreement" not in judged.panels.evidence.words.text()


def test_drift_within_its_error_is_no_course(judged):
    with_estimate(judged, drift_ppm=500.0, drift_std_ppm=400.0)
    assert course_of(judged.session.model, "cam1") is None
    assert label(judged).startswith("agreement")


def test_step_is_drawn_over_time(judged):
    model = judged.session.model
    with_estimate(judged, step_s=0.06, step_at_ns=model.epoch_ns + 1_000_000_000)
    course = course_of(model, "cam1")
    assert course.offset_s[0] == pytest.approx(0.020, abs=1e-9)
    assert course.offset_s[-1] == pytest.approx(0.080, abs=1e-9)


def test_limits_of_a_run_are_those_of_its_summary(barcode_folder, tmp_path):
    row = {"clip_id": "first", "verdict": "pass", "sources": {}, "reasons": []}
    (tmp_path / "verdicts.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    manifest = str(barcode_folder / "manifest.jsonl")
    assert open_collection(manifest, verdicts=tmp_path).limits_s == {}
    summary = tmp_path / "summary.json"
    summary.write_text('{"tolerances_s": {"cam1": 0.01}}', encoding="utf-8")
    assert open_collection(manifest, verdicts=tmp_path).limits_s == {"cam1": 0.01}
    summary.write_text('{"tolerances_s": 3}', encoding="utf-8")
    assert open_collection(manifest, verdicts=tmp_path).limits_s == {}
