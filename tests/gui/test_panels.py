"""Side panels show the figures of a judgement and the curves behind them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyqtgraph as pg
import pytest
from pyqtgraph.Qt import QtGui
from syncaudit_gui.viewmodel.bindings import BINDINGS
from syncaudit_gui.viewmodel.clip_model import build_clip
from syncaudit_gui.viewmodel.judgement import Judgement
from syncaudit_gui.viewmodel.wording import word_agreement, word_no_plot, word_residuals
from syncaudit_gui.widgets.covers import COLUMN_PX, KEYS_PX
from syncaudit_gui.widgets.evidence_panel import EvidencePanel
from syncaudit_gui.widgets.sources_panel import SourcesPanel
from syncaudit_gui.widgets.theme import DARK, ui_font

from syncaudit.model import (
    AgreementCurve,
    Clip,
    EventResiduals,
    ImuSpec,
    PairMeasurement,
    Verdict,
)
from syncaudit.pipeline import ReadClip
from testkit.jumping_clocks import opened

EPOCH = 1_767_225_600_000_000_000


@pytest.fixture
def panel(qtbot):
    shown = EvidencePanel()
    qtbot.addWidget(shown)
    shown.set_theme(DARK)
    shown.show()
    return shown


def show(panel, pair: PairMeasurement, *, can_audit: bool = False) -> None:
    sources = {name: ImuSpec(uri=f"{name}.csv") for name in (pair.source, pair.target)}
    model = build_clip(Clip(clip_id="x", recording_id="x", sources=sources), ReadClip(streams={}))
    model.judgement = Judgement(
        verdict=Verdict.PASS, reference=pair.target, at_ns=EPOCH, sources={}, pairs=(pair,)
    )
    panel.show_source(model, pair.source, is_hidden=False, can_audit=can_audit)


def agreement_at(peak_s: float, near_s: float) -> AgreementCurve:
    offsets_s = np.arange(-8000, 8001) / 8000
    agreement = np.where(np.abs(offsets_s - peak_s) < 5e-5, 0.9, 0.1)
    found = AgreementCurve.around(offsets_s, agreement, peak_s, near_s=near_s)
    assert found is not None
    return found


def test_panel_plots_the_peak_and_the_interval_of_microphones(panel):
    pair = PairMeasurement(
        source="a",
        target="b",
        method="gcc_phat",
        at_ns=EPOCH,
        offset_s=0.1234,
        offset_std_s=2e-5,
        accepted=True,
        evidence=agreement_at(0.1234, 0.05),
    )
    show(panel, pair)
    (curve,) = panel.plot.getPlotItem().listDataItems()
    offsets_ms, agreement = curve.getData()
    # One sample of the search.
    assert offsets_ms[np.nanargmax(agreement)] == pytest.approx(123.4, abs=0.13)
    (band,) = [x for x in panel.plot.getPlotItem().items if isinstance(x, pg.LinearRegionItem)]
    half_ms = 1e3 * pair.offset_std_s  # as in the text beside it
    expected = (1e3 * pair.offset_s - half_ms, 1e3 * pair.offset_s + half_ms)
    assert band.getRegion() == pytest.approx(expected, abs=1e-6)
    # Zero is out of view: the lobe of a sound is too narrow for it.
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
    show(panel, pair)
    assert not panel.plot.isVisible()
    assert "nothing to compare" in panel.words.text()
    show(panel, replace(pair, accepted=False, why="the tier is silent"))
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
    room_px = COLUMN_PX - KEYS_PX - 12  # some space before the next column
    too_long = [b.text for b in BINDINGS if metrics.horizontalAdvance(b.text) > room_px]
    assert not too_long


def test_best_agreement_at_zero_is_said_without_a_hole():
    offsets_s, agreement = np.array([-1e-3, 0.0, 1e-3]), np.array([0.1, 0.5, 0.1])
    found = AgreementCurve.around(offsets_s, agreement, 0.0, near_s=0.5)
    assert found is not None
    assert word_agreement(found) == "Agreement is best at 0.0 ms: 0.50."


def test_coarse_searches_do_not_contradict_the_estimate_by_a_millisecond():
    offsets_s = 0.01 * np.arange(-50, 51)
    agreement = np.exp(-0.5 * ((offsets_s - 0.0331) / 0.1) ** 2)
    found = AgreementCurve.around(offsets_s, agreement, 0.03, near_s=0.5)
    assert found is not None
    assert word_agreement(found) == "Agreement is best near +35 ms: 1.00."


def test_panel_plots_residuals_when_they_happened(panel):
    residuals = EventResiduals.of(np.array([-1.0, 2.0]), np.array([3e-4, -3e-4]))
    pair = PairMeasurement(
        source="a",
        target="b",
        method="flash",
        at_ns=EPOCH + 10**10,
        offset_s=0.0,
        offset_std_s=1e-4,
        accepted=True,
        evidence=residuals,
    )
    show(panel, pair)
    (dots,) = [x for x in panel.plot.getPlotItem().items if isinstance(x, pg.ScatterPlotItem)]
    times_s, residuals_ms = dots.getData()
    first_s = (EPOCH + 10**10 - panel._epoch_ns) * 1e-9
    np.testing.assert_allclose(times_s, first_s + np.array([-1.0, 2.0]), atol=1e-6)
    np.testing.assert_allclose(residuals_ms, [0.3, -0.3], atol=1e-6)
    assert word_residuals(residuals) == "2 events in common, 0.30 ms rms."
    assert "2 events in common" in panel.words.text()


@pytest.mark.parametrize("method", ["rotation", "speech", "flash", "unheard_of"])
def test_without_evidence_there_are_words(method):
    pair = PairMeasurement.refused("a", "b", method, EPOCH, "for a test")
    assert pair.evidence is None
    assert word_no_plot(pair, can_audit=False).endswith(".")
