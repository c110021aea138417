"""The evidence behind the offset of the selected source."""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
from pyqtgraph.Qt import QtCore, QtWidgets

from syncaudit.formatting import PLUS_MINUS
from syncaudit.model import AgreementCurve, EventResiduals, PairMeasurement
from syncaudit_gui.viewmodel.clip_model import ClipModel
from syncaudit_gui.viewmodel.wording import (
    word_agreement,
    word_no_plot,
    word_offset,
    word_residuals,
)
from syncaudit_gui.widgets.faults_table import FaultsTable
from syncaudit_gui.widgets.lane_axis import SignedAxis
from syncaudit_gui.widgets.plain_plot import adopt_menus
from syncaudit_gui.widgets.tables import ROW_PX, Cell, CellTable, Panel, plain_table
from syncaudit_gui.widgets.theme import DARK, Theme

__all__ = ["EvidencePanel"]

PLOT_PX = 112
# Offsets beyond are shown from the estimate.
FAR_S = 10.0


class EvidencePanel(Panel):
    """A plot of the chosen measurement over the list of all that concern the source."""

    audit_wanted = QtCore.Signal()
    time_wanted = QtCore.Signal(float)
    """A click on a fault of frames: when it begins."""

    def __init__(self) -> None:
        super().__init__("EVIDENCE")
        self._theme: Theme = DARK
        self._all_pairs: tuple[PairMeasurement, ...] = ()
        self._pairs: list[PairMeasurement] = []
        self._epoch_ns = 0
        self._chosen = 0
        self._source = ""
        self._problem, self._blank = "", ""
        self._can_audit, self._is_judged = False, False
        axes = {side: SignedAxis(side) for side in ("left", "bottom")}
        self.plot = pg.PlotWidget(axisItems=axes)
        self.plot.setFixedHeight(PLOT_PX)
        self.plot.setMenuEnabled(False)
        self.plot.setAccessibleName("evidence")
        self.plot.setMouseEnabled(False, False)
        self.plot.hideButtons()
        adopt_menus(self.plot.getPlotItem(), self)
        self.plot.setFrameShape(QtWidgets.QFrame.Shape.NoFrame)
        self.words = QtWidgets.QLabel("")
        self.words.setWordWrap(True)
        self.words.setProperty("role", "dim")
        self.measure = QtWidgets.QPushButton("audit this clip")
        self.measure.setFocusPolicy(QtCore.Qt.FocusPolicy.NoFocus)
        self.measure.clicked.connect(self.audit_wanted)
        tips = ("", "", f"What is to be added to the source's stamps; {PLUS_MINUS}.", "")
        self.table = CellTable(("measured against", "method", "pair offset ms", ""), tips)
        self.view = plain_table(self.table, "measurements")
        self.view.clicked.connect(lambda index: self._choose(index.row()))
        self.faults = FaultsTable()
        self.faults.time_wanted.connect(self.time_wanted)
        self.faults.hide()
        for widget in (self.plot, self.words, self.measure, self.view, self.faults):
            self.body.addWidget(widget)

    def set_theme(self, theme: Theme) -> None:
        """Change the colours."""
        self._theme = theme
        self.plot.setBackground(theme.panel)
        self._draw()

    def show_source(
        self,
        model: ClipModel | None,
        source: str,
        *,
        is_hidden: bool,
        can_audit: bool,
    ) -> None:
        """Show the measurements of a source.

        Parameters
        ----------
        model : ClipModel, optional
            The clip.
        source : str
            The source.
        is_hidden : bool
            Whether a person labels blindly.
        can_audit : bool
            Whether an audit would bring more.
        """
        judged = None if model is None or is_hidden else model.judgement
        if source != self._source:
            self._chosen = 0
        self._source = source
        self._all_pairs = () if judged is None else judged.pairs
        self._pairs = [] if judged is None else judged.pairs_of(source)
        self._epoch_ns = 0 if model is None else model.epoch_ns
        self._chosen = min(self._chosen, max(0, len(self._pairs) - 1))
        self.title.setText(f"EVIDENCE  {source}" if source else "EVIDENCE")
        self.table.set_rows([self._row(pair) for pair in self._pairs])
        self.view.setFixedHeight(ROW_PX * min(4, max(1, len(self._pairs))) + 24)
        self.view.setVisible(bool(self._pairs))
        if self._pairs:
            self.view.selectRow(self._chosen)
        self.faults.show_camera(model, source, self._theme)
        problems = [] if judged is None else [f.message for f in judged.reasons_of(source)]
        if model is not None and source in model.problems and not problems:
            problems = list(model.problems[source])
        self._problem = problems[0] if problems else ""
        self._blank = "hidden until you have labelled the clip" if is_hidden else ""
        self._can_audit, self._is_judged = can_audit and not is_hidden, judged is not None
        self.measure.setVisible(self._can_audit)
        self._draw()

    def _choose(self, row: int) -> None:
        self._chosen = row
        self._draw()

    def _row(self, pair: PairMeasurement) -> tuple[Cell, ...]:
        theme = self._theme
        other = pair.target if pair.source == self._source else pair.source
        if pair.accepted and pair.offset_s is not None:
            figure, color = word_offset(pair.offset_s, pair.offset_std_s), theme.text
            sign = "baseline" if pair.is_baseline_only else ""
        else:
            figure, color, sign = "refused", theme.dim, ""
        tip = pair.why or f"{pair.source} → {pair.target}: add this to stamps of {pair.source}"
        return (
            Cell(other, color, tip),
            Cell(pair.method, theme.dim, tip),
            Cell(figure, color, tip, is_number=True),
            Cell(sign, theme.dim, "Holds physics of the vehicle: judged against others of it."),
        )

    def _draw(self) -> None:
        self.plot.clear()
        pair = self._pairs[self._chosen] if self._pairs else None
        found = None if pair is None else pair.evidence
        self.plot.setVisible(found is not None)
        words = self._blank if self._blank else self._problem
        if pair is not None and pair.why:
            words = f"Refused: {pair.why}."
        elif pair is not None and found is None and not words:
            # Rows of older versions hold no evidence of any measurement.
            is_old = not any(pair.evidence for pair in self._all_pairs)
            words = word_no_plot(pair, can_audit=self._can_audit and is_old)
        elif pair is None and not words and self._source:
            words = "Nothing was measured on it." if self._is_judged else "Not audited yet."
        seen = ""
        if isinstance(found, AgreementCurve):
            seen = word_agreement(found)
        elif found is not None:
            seen = word_residuals(found)
        self.plot.setAccessibleDescription(seen)
        self.words.setText("\n".join(part for part in (seen, words) if part))
        self.words.setVisible(bool(self.words.text()))
        if pair is None or found is None:
            return
        for name in ("left", "bottom"):
            axis = self.plot.getAxis(name)
            axis.setPen(pg.mkPen(self._theme.line))
            axis.setTextPen(pg.mkPen(self._theme.dim))
            axis.enableAutoSIPrefix(False)
            axis.setStyle(tickLength=-3)
        self.plot.getAxis("left").setWidth(34)
        if isinstance(found, AgreementCurve):
            self._draw_curve(pair, found)
        else:
            self._draw_residuals(pair, found)

    def _draw_curve(self, pair: PairMeasurement, found: AgreementCurve) -> None:
        theme = self._theme
        middle_s = pair.offset_s if pair.offset_s is not None else found.peak_s
        # Beside eleven days nobody can read milliseconds.
        zero_s = middle_s if abs(middle_s) >= FAR_S else 0.0
        middle_s -= zero_s
        if pair.offset_s is not None:
            half_s = pair.offset_std_s or 0.0  # one standard error, as in the words
            band = pg.LinearRegionItem(
                (1e3 * (middle_s - half_s), 1e3 * (middle_s + half_s)),
                movable=False,
                brush=theme.color("accent", 70),
                pen=pg.mkPen(theme.color("accent", 160)),
            )
            self.plot.addItem(band)
        width_px = max(1, round(self.devicePixelRatioF()))  # of the screen: one point
        pen = pg.mkPen(theme.axes[1], width=width_px, style=_dash(not pair.accepted))
        offsets_s = found.offsets_s - zero_s
        self.plot.plot(1e3 * offsets_s, found.agreement, pen=pen, connect="finite")
        zero = pg.InfiniteLine(0.0, pen=pg.mkPen(theme.line))
        self.plot.addItem(zero)
        self.plot.setXRange(1e3 * offsets_s[0], 1e3 * offsets_s[-1], padding=0)
        self.plot.setYRange(0.0, 1.05, padding=0)
        over = "ms from the estimate" if zero_s else "pair offset, ms"
        self.plot.setLabel("bottom", f"agreement over {over}", color=theme.dim)

    def _draw_residuals(self, pair: PairMeasurement, found: EventResiduals) -> None:
        theme = self._theme
        dots = pg.ScatterPlotItem(
            (pair.at_ns - self._epoch_ns) * 1e-9 + found.times_s,
            1e3 * found.residuals_s,
            size=5,
            pen=None,
            brush=pg.mkBrush(theme.axes[0]),
        )
        self.plot.addItem(dots)
        self.plot.addItem(pg.InfiniteLine(0.0, angle=0, pen=pg.mkPen(theme.line)))
        worst = float(np.max(np.abs(found.residuals_s), initial=1e-5))
        self.plot.enableAutoRange(axis="x")
        self.plot.setYRange(-1.1e3 * worst, 1.1e3 * worst, padding=0)
        self.plot.setLabel("bottom", "residual of each event in ms, over s", color=theme.dim)


def _dash(is_dashed: bool) -> QtCore.Qt.PenStyle:
    return QtCore.Qt.PenStyle.DotLine if is_dashed else QtCore.Qt.PenStyle.SolidLine
