"""The drawing of an offset: as wide as the offset, and gone once corrected."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from pyqtgraph.Qt import QtGui
from syncaudit_gui.audits import AuditResult
from syncaudit_gui.viewmodel.comparing import compare
from syncaudit_gui.viewmodel.judgement import Judgement, SourceEstimate
from syncaudit_gui.widgets.comparison_view import HEAD_PX, SIDE_PX

from syncaudit.model import (
    EventResiduals,
    Finding,
    PairMeasurement,
    ReasonCode,
    SignalExcerpt,
    Verdict,
)
from testkit.viewer_keys import WAIT_MS, key

OFFSET_S = 0.04
TIMES_S = np.arange(0.0, 1.6, 0.01)
BUMP = np.exp(-0.5 * ((TIMES_S - 0.8) / 0.05) ** 2)


def pair(epoch_ns: int, *, target: str = "imu", offset_s: float = OFFSET_S) -> PairMeasurement:
    excerpt = SignalExcerpt.of(
        TIMES_S, BUMP, BUMP, epoch_ns=epoch_ns, apart_s=offset_s, tells_s=(0.3, 1.3)
    )
    return PairMeasurement(
        source="cam1",
        target=target,
        method="rotation",
        at_ns=epoch_ns,
        offset_s=offset_s,
        offset_std_s=0.001 if target == "imu" else 0.0001,
        accepted=True,
        excerpt=excerpt,
    )


def judgement(model, *pairs: PairMeasurement, offset_s: float = OFFSET_S) -> Judgement:
    sources = {
        name: SourceEstimate(
            clock=name,
            verdict=Verdict.REJECT if name == "cam1" else Verdict.PASS,
            is_observable=True,
            offset_s=offset_s if name == "cam1" else 0.0,
            offset_std_s=0.001,
        )
        for name in model.selectable
    }
    reason = Finding(
        code=ReasonCode.OFFSET, message="cam1 is 40 ms early", source="cam1", limit=0.01
    )
    return Judgement(
        verdict=Verdict.REJECT,
        reference="imu",
        at_ns=model.epoch_ns,
        sources=sources,
        pairs=pairs or (pair(model.epoch_ns),),
        reasons=(reason,),
    )


@pytest.fixture
def judged(window):
    model = window.session.model
    row = {
        "clip_id": "first",
        "verdict": "reject",
        "sources": {},
        "reasons": [{"message": "cam1 is 40 ms early; limit 10 ms"}],
    }
    window.audits.take(AuditResult(judgement=judgement(model), row=row))
    return window


def arrow_px(window) -> int:
    """Return how many pixels in the arrow's row have its colour."""
    view = window.panels.comparison
    image = view.grab().toImage()
    y = HEAD_PX + 12
    wanted = QtGui.QColor(window.theme.accent).rgb()
    xs = [x for x in range(SIDE_PX, image.width()) if image.pixel(x, y) == wanted]
    breaks = [a for a, b in pairwise(xs) if b - a > 3]
    assert breaks, "no words beside the arrow"
    return breaks[0] - xs[0]


def test_rejected_source_is_compared_at_once_with_an_arrow_as_wide_as_its_offset(judged):
    view = judged.panels.comparison
    assert view.isVisible()
    assert view.shown.source == "cam1"
    assert view.words() == "cam1 against imu (turn rate): 40.0 ± 1.0 ms early"
    px_per_s = (view.width() - 2 * SIDE_PX) / float(np.diff(view.shown.visible_s)[0])
    # The arrow's head and the ends of its line are antialiased.
    assert arrow_px(judged) == pytest.approx(OFFSET_S * px_per_s, abs=4)


def test_corrected_curve_slides_to_where_it_belongs(qtbot, judged):
    view = judged.panels.comparison
    assert view.place == 0.0
    key(judged, "C")
    qtbot.waitUntil(lambda: view.place == 1.0, timeout=WAIT_MS)
    key(judged, "C")
    view.end_slide()
    assert view.place == 0.0


def test_headline_names_clip_and_reason_and_hides_them_from_the_blind(judged):
    assert judged.panels.headline.text() == "✕ first: cam1 is 40 ms early; limit 10 ms"
    key(judged, "B")
    assert judged.panels.headline.text() == "first"
    assert not judged.panels.comparison.isVisible()


def test_reference_is_compared_with_rather_than_the_sharpest(judged):
    model = judged.session.model
    near, sharp = pair(model.epoch_ns), pair(model.epoch_ns, target="cam2")
    model.judgement = judgement(model, sharp, near)
    assert compare(model, "cam1")[0].target == "imu"
    turned = compare(model, "cam2")[0]
    assert (turned.source, turned.target) == ("cam2", "cam1")
    assert turned.offset_s == pytest.approx(-OFFSET_S, abs=1e-9)
    assert compare(model, "cam3")[0] is None


def test_offset_is_that_of_the_table_with_the_nudge(judged):
    model = judged.session.model
    assert compare(model, "cam1")[1] is not None
    model.nudges_s["cam1"] = 0.003
    found, std_s = compare(model, "cam1")
    assert std_s is None  # a hand is no measurement
    assert found.offset_s == pytest.approx(OFFSET_S + 0.003, abs=1e-9)
    # The bump is at 0.8 s by the camera's own timestamps.
    assert found.peak_s == pytest.approx(0.8 + OFFSET_S, abs=0.02)
    start_s, stop_s = found.visible_s
    assert start_s < found.peak_s - found.offset_s < found.peak_s < stop_s


def test_clocks_of_other_epochs_are_shown_corrected_only(judged):
    model = judged.session.model
    far = pair(model.epoch_ns, offset_s=86_400.0)
    model.judgement = judgement(model, far, offset_s=86_400.0)
    found = compare(model, "cam1")[0]
    assert not found.is_seen_raw
    view = judged.panels.comparison
    view.show_comparison(None, is_corrected=False)
    view.show_comparison(found, is_corrected=False)
    assert view.place == 1.0
    assert view.grab().toImage().height() > 0


def test_events_are_compared_where_there_are_no_curves(judged):
    model = judged.session.model
    events = EventResiduals.of(np.array([0.5, 1.0, 1.5]), np.array([0.0, 2e-4, 0.0]))
    flash = replace(pair(model.epoch_ns), method="flash", excerpt=None, evidence=events)
    model.judgement = judgement(model, flash)
    found = compare(model, "cam1")[0]
    assert found.quantity == "flashes"
    assert found.values is None
    np.testing.assert_allclose(found.target_s - found.source_s, [0.04, 0.0402, 0.04], atol=1e-7)
    assert found.peak_s == pytest.approx(1.0402, abs=1e-6)
