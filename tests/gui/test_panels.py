"""Side panels show the figures of a judgement and the curves behind them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyqtgraph as pg
import pytest
from pyqtgraph.Qt import QtGui
from syncaudit_gui.audits.curves import find_curves
from syncaudit_gui.viewmodel.bindings import BINDINGS
from syncaudit_gui.viewmodel.clip_model import build_clip
from syncaudit_gui.viewmodel.evidence_words import word_agreement
from syncaudit_gui.viewmodel.judgement import Judgement
from syncaudit_gui.widgets.covers import COLUMN_PX, KEYS_PX
from syncaudit_gui.widgets.evidence_panel import EvidencePanel
from syncaudit_gui.widgets.sources_panel import SourcesPanel
from syncaudit_gui.widgets.theme import DARK, ui_font

from syncaudit.estimators import estimate_microphones
from syncaudit.model import Clip, ImuSpec, PairMeasurement, Verdict
from syncaudit.pipeline import ClipEvidence, ReadClip
from testkit.jumping_clocks import opened
from testkit.two_microphones import EPOCH, microphones


@pytest.fixture
def panel(qtbot):
    shown = EvidencePanel()
    qtbot.addWidget(shown)
    shown.set_theme(DARK)
    shown.show()
    return shown


def show(panel, pair: PairMeasurement, evidence: ClipEvidence) -> None:
    sources = {name: ImuSpec(uri=f"{name}.csv") for name in (pair.source, pair.target)}
    model = build_clip(Clip(clip_id="x", recording_id="x", sources=sources), ReadClip(streams={}))
    model.judgement = Judgement(
        verdict=Verdict.PASS, reference=pair.target, at_ns=EPOCH, sources={}, pairs=(pair,)
    )
    curves = dict(find_curves((pair,), evidence, EPOCH))
    panel.show_source(model, pair.source, curves, is_hidden=False, can_audit=False)


def test_panel_plots_the_peak_and_the_interval_of_microphones(panel):
    evidence = microphones(0.1234)
    pair = estimate_microphones(evidence.sounds["a"], evidence.sounds["b"], max_offset_s=2.0)
    show(panel, pair, evidence)
    (curve,) = panel.plot.getPlotItem().listDataItems()
    offsets_ms, agreement = curve.getData()
    # A sample of the search.
    assert offsets_ms[np.nanargmax(agreement)] == pytest.approx(123.4, abs=0.13)
    (band,) = [x for x in panel.plot.getPlotItem().items if isinstance(x, pg.LinearRegionItem)]
    half_ms = 1e3 * pair.offset_std_s  # as in the words beside it
    expected = (1e3 * pair.offset_s - half_ms, 1e3 * pair.offset_s + half_ms)
    assert band.getRegion() == pytest.approx(expected, abs=1e-6)
    # Zero is out of sight: the lobe of a sound is too narrow for it.
    low, high = panel.plot.getPlotItem().viewRange()[0]
    assert 0.0 < low < 123.4 < high
    assert high - low == pytest.approx(100.0, abs=1.0)
    assert "best at +123.4 ms" in panel.words.text()
    assert panel.plot.accessibleDescription() in panel.words.text()


def test_panel_without_a_curve_says_why(panel):
    pair = PairMeasurement(
        source="text",
        target="mic",
        method="speech",
        at_ns=EPOCH,
        offset_s=0.0,
        offset_std_s=0.02,
        accepted=True,
        diagnostics={"words": 3.0},
    )
    show(panel, pair, ClipEvidence())
    assert not panel.plot.isVisible()
    assert "there is nothing to compare" in panel.words.text()
    show(panel, replace(pair, accepted=False, why="the tier is silent"), ClipEvidence())
    assert "Refused: the tier is silent." in panel.words.text()


def test_panel_tells_the_jump_of_the_reference(qtbot):
    panel = SourcesPanel()
    qtbot.addWidget(panel)
    panel.show_model(opened("imu", 3.0, is_from_row=False), "imu", is_hidden=False)
    figures = {row[0].text.split()[-1]: row[1].text for row in panel.table._rows}
    assert figures["imu"] == "reference ⇥+30"
    assert "⇥" not in figures["a"]


def test_words_of_the_key_sheet_stay_in_their_column(qapp):
    metrics = QtGui.QFontMetrics(ui_font())
    room_px = COLUMN_PX - KEYS_PX - 12  # some air before the next column
    too_long = [b.text for b in BINDINGS if metrics.horizontalAdvance(b.text) > room_px]
    assert not too_long


def test_best_agreement_at_zero_is_said_without_a_hole():
    words = word_agreement(np.array([-0.1, 0.0, 0.1]), np.array([0.1, 0.5, 0.1]))
    assert words == "Agreement is best at 0.0 ms: 0.50."
