"""The evidence behind the offset of the selected source.

Its plots show agreement over offset, event residuals and offset over time.
"""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
from pyqtgraph.Qt import QtCore, QtWidgets

from syncaudit.formatting import PLUS_MINUS
from syncaudit.model import AgreementCurve, EventResiduals, PairMeasurement
from syncaudit_gui.viewmodel.clip_model import ClipModel
from syncaudit_gui.viewmodel.comparing import OffsetCourse, course_of
from syncaudit_gui.viewmodel.frames import Spell
from syncaudit_gui.viewmodel.judgement import Judgement
from syncaudit_gui.viewmodel.wording import (
    word_agreement,
    word_no_plot,
    word_offset,
    word_residuals,
    word_time,
)
from syncaudit_gui.widgets.elided import button, dim_label
from syncaudit_gui.widgets.lane_axis import SignedAxis, adopt_menus
from syncaudit_gui.widgets.tables import ROW_PX, Cell, CellTable, Panel, plain_table
from syncaudit_gui.widgets.theme import Theme

PLOT_PX = 112
MOST_ROWS = 4

# Larger offsets are plotted relative to the estimate.
FAR_S = 10.0
# Visible range of an agreement, as a multiple of the tolerance.
REACH_LIMITS = 3.0
# Fewer search steps to either side do not make a curve, and a lower depth shows rounding.
LEAST_STEPS, LEAST_DEPTH = 5.0, 0.2
TOLERATED_ALPHA, ERROR_ALPHA = 60, 70


class EvidencePanel(Panel):
    """A plot of the chosen measurement over the list of all measurements of the source."""

    audit_wanted = QtCore.Signal()
    time_wanted = QtCore.Signal(float)
    """A click on a frame fault: its start time."""

    def __init__(self) -> None:
        super().__init__("EVIDENCE")
        self._all_pairs: tuple[PairMeasurement, ...] = ()
        self._pairs: list[PairMeasurement] = []
        self._epoch_ns = 0
        self._chosen = 0
        self._source = ""
        self._problem, self._blank = "", ""
        self._can_audit = False
        self._judged: Judgement | None = None
        self._course: OffsetCourse | None = None
        axes = {side: SignedAxis(side) for side in ("left", "bottom")}
        self.plot = pg.PlotWidget(axisItems=axes)
        self.plot.setFixedHeight(PLOT_PX)
        self.plot.setMenuEnabled(False)
        self.plot.setAccessibleName("evidence")
        self.plot.setMouseEnabled(False, False)
        self.plot.hideButtons()
        self.plot.getPlotItem().layout.setContentsMargins(0, 6, 2, 0)
        adopt_menus(self.plot.getPlotItem(), self)
        self.plot.setFrameShape(QtWidgets.QFrame.Shape.NoFrame)
        self.words = dim_label()
        self.words.setWordWrap(True)
        tip = "audit this clip: it also draws flashes and the turn rates of cameras"
        self.measure = button("audit", tip)
        self.measure.clicked.connect(self.audit_wanted)
        tips = ("", "", f"Add this to the source's timestamps; {PLUS_MINUS}.", "")
        self.table = CellTable(("against", "method", "pair offset ms", ""), tips)
        self.view = plain_table(self.table, "measurements", self._choose)
        self.faults = FaultsTable()
        self.faults.time_wanted.connect(self.time_wanted)
        self.faults.hide()
        self.head.addWidget(self.measure)
        for widget in (self.plot, self.words, self.view, self.faults):
            self.body.addWidget(widget)

    def set_theme(self, theme: Theme) -> None:
        super().set_theme(theme)
        self.plot.setBackground(theme.panel)
        self._draw()

    def show_source(
        self, model: ClipModel | None, source: str, *, is_hidden: bool, can_audit: bool
    ) -> None:
        """Show the measurements of a source.

        They are hidden while the user labels blindly; `can_audit` tells whether an audit would
        provide more.
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
        self._can_audit, self._judged = can_audit and not is_hidden, judged
        shown = None if judged is None else model
        self._course = None if shown is None else course_of(shown, source)
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
        tip = pair.why or f"{pair.source} → {pair.target}: add to timestamps of {pair.source}"
        return (
            Cell(other, color, tip),
            Cell(pair.method, theme.dim, tip),
            Cell(figure, color, tip, is_number=True),
            Cell(sign, theme.dim, "Includes vehicle physics: judged against a policy baseline."),
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
            # Rows of older versions hold no evidence for any measurement.
            is_old = not any(pair.evidence for pair in self._all_pairs)
            words = word_no_plot(pair, can_audit=self._can_audit and is_old)
        elif pair is None and not words and self._source:
            words = "Nothing was measured." if self._judged is not None else "Not audited yet."
        seen = ""
        if self._course is not None:
            seen = ""  # no single offset agrees
        elif isinstance(found, AgreementCurve):
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
        if self._course is not None:
            _draw_course(self.plot, self._theme, self._course)
        elif isinstance(found, AgreementCurve):
            judged = self._judged
            tolerated = None if judged is None else judged.tolerated(pair, self._source)
            _draw_agreement(self.plot, self._theme, pair, found, tolerated)
        else:
            _draw_residuals(self.plot, self._theme, found, (pair.at_ns - self._epoch_ns) * 1e-9)


class FaultsTable(QtWidgets.QWidget):
    """A line for each spell; a click jumps to it."""

    time_wanted = QtCore.Signal(float)

    def __init__(self) -> None:
        super().__init__()
        self._spells: tuple[Spell, ...] = ()
        self._model: ClipModel | None = None
        self.table = CellTable(("fault", "frames", "from", "to"))
        self.view = plain_table(self.table, "frame faults", self._go)
        column = QtWidgets.QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.view)

    def show_camera(self, model: ClipModel | None, camera: str, theme: Theme) -> None:
        """Show a camera's faults with its current clock; nothing if there are none."""
        self._model = model
        self._spells = () if model is None else model.spells.get(camera, ())
        self.setVisible(bool(self._spells))
        if model is None or not self._spells:
            self.table.set_rows([])
            return
        clock = model.map_of(camera)
        self.table.set_rows(
            [
                (
                    Cell(spell.sign, theme.rejected, spell.frames),
                    Cell(_span(spell), theme.dim, spell.frames, is_number=True),
                    Cell(word_time(clock.at(spell.start_s), digits=2), is_number=True),
                    Cell(word_time(clock.at(spell.stop_s), digits=2), is_number=True),
                )
                for spell in self._spells
            ]
        )
        self.view.setFixedHeight(ROW_PX * min(MOST_ROWS, len(self._spells)) + 24)

    def _go(self, row: int) -> None:
        if self._model is not None:
            spell = self._spells[row]
            self.time_wanted.emit(self._model.map_of(spell.camera).at(spell.start_s))


def _span(spell: Spell) -> str:
    return str(spell.first) if spell.first == spell.last else f"{spell.first}–{spell.last}"


def _draw_agreement(
    plot: pg.PlotWidget,
    theme: Theme,
    pair: PairMeasurement,
    found: AgreementCurve,
    tolerated_s: tuple[float, float] | None,
) -> None:
    """Draw agreement over pair offsets, with the estimate ± one standard error.

    `tolerated_s` are the pair offsets between which the source would not be rejected.
    """
    middle_s = pair.offset_s if pair.offset_s is not None else found.peak_s
    std_s = pair.offset_std_s or 0.0
    # Milliseconds are unreadable on an axis at eleven days.
    zero_s = middle_s if abs(middle_s) >= FAR_S else 0.0
    middle_s -= zero_s
    offsets_s = found.offsets_s - zero_s
    low_s, high_s = float(offsets_s[0]), float(offsets_s[-1])
    if tolerated_s is not None and not zero_s:
        begin_s, end_s = tolerated_s
        _band(plot, theme, begin_s, end_s, "passed", TOLERATED_ALPHA)
        centre_s, limit_s = 0.5 * (begin_s + end_s), 0.5 * (end_s - begin_s)
        reach_s = max(
            REACH_LIMITS * limit_s,
            abs(middle_s - centre_s) + limit_s + REACH_LIMITS * std_s,
            LEAST_STEPS * found.step_s,
        )
        low_s, high_s = max(low_s, centre_s - reach_s), min(high_s, centre_s + reach_s)
    if pair.offset_s is not None:
        _band(plot, theme, middle_s - std_s, middle_s + std_s, "accent", ERROR_ALPHA, 160)
    styles = QtCore.Qt.PenStyle
    style = styles.SolidLine if pair.accepted else styles.DotLine
    pen = pg.mkPen(theme.axes[1], width=_point(plot), style=style)
    plot.plot(1e3 * offsets_s, found.agreement, pen=pen, connect="finite")
    plot.addItem(pg.InfiniteLine(0.0, pen=pg.mkPen(theme.line)))
    plot.setXRange(1e3 * low_s, 1e3 * high_s, padding=0)
    inside = found.agreement[(offsets_s >= low_s) & (offsets_s <= high_s)]
    known = inside[np.isfinite(inside)]
    least = float(known.min()) if known.size else 0.0
    top = float(known.max()) if known.size else 1.0
    margin = 0.12 * max(top - least, LEAST_DEPTH)
    plot.setYRange(min(least, top - LEAST_DEPTH) - margin, top + margin, padding=0)
    over = "ms from the estimate" if zero_s else "offset, ms"
    tolerated = "" if tolerated_s is None or zero_s else "; shaded: tolerance"
    plot.setLabel("bottom", f"agreement over {over}{tolerated}", color=theme.dim)


def _draw_residuals(
    plot: pg.PlotWidget, theme: Theme, found: EventResiduals, start_s: float
) -> None:
    """Draw the residual of every event.

    Their times count from `start_s`, in seconds since the clip's epoch.
    """
    dots = pg.ScatterPlotItem(
        start_s + found.times_s,
        1e3 * found.residuals_s,
        size=5,
        pen=None,
        brush=pg.mkBrush(theme.axes[0]),
    )
    plot.addItem(dots)
    plot.addItem(pg.InfiniteLine(0.0, angle=0, pen=pg.mkPen(theme.line)))
    worst = float(np.max(np.abs(found.residuals_s), initial=1e-5))
    plot.enableAutoRange(axis="x")
    plot.setYRange(-1.1e3 * worst, 1.1e3 * worst, padding=0)
    plot.setLabel("bottom", "residual of each event in ms, over s", color=theme.dim)


def _draw_course(plot: pg.PlotWidget, theme: Theme, course: OffsetCourse) -> None:
    """Draw an offset over the time of the clip, ± one standard error, and its tolerance."""
    offset_ms, std_ms = 1e3 * course.offset_s, 1e3 * course.std_s
    if course.limit_s is not None:
        limit_s = course.limit_s
        _band(plot, theme, -limit_s, limit_s, "passed", TOLERATED_ALPHA, is_over=True)
    edges = [
        pg.PlotDataItem(course.times_s, offset_ms + sign * std_ms, pen=None) for sign in (-1, 1)
    ]
    plot.addItem(pg.FillBetweenItem(*edges, brush=theme.color(theme.axes[0], ERROR_ALPHA)))
    pen = pg.mkPen(theme.axes[0], width=_point(plot))
    plot.plot(course.times_s, offset_ms, pen=pen)
    plot.addItem(pg.InfiniteLine(0.0, angle=0, pen=pg.mkPen(theme.line)))
    limit_ms = 1e3 * (course.limit_s or 0.0)
    low = min(float(np.min(offset_ms - std_ms)), -1.2 * limit_ms)
    high = max(float(np.max(offset_ms + std_ms)), 1.2 * limit_ms)
    margin = 0.06 * (high - low)
    plot.setXRange(float(course.times_s[0]), float(course.times_s[-1]), padding=0)
    plot.setYRange(low - margin, high + margin, padding=0)
    tolerated = "" if course.limit_s is None else "; shaded: tolerance"
    plot.setLabel("bottom", f"offset in ms, over s of the clip{tolerated}", color=theme.dim)


def _band(
    plot: pg.PlotWidget,
    theme: Theme,
    begin: float,
    end: float,
    color: str,
    alpha: int,
    edge_alpha: int = 0,
    *,
    is_over: bool = False,
) -> None:
    """Shade between two offsets: along the axis below, or vertically over time."""
    band = pg.LinearRegionItem(
        (1e3 * begin, 1e3 * end),
        orientation="horizontal" if is_over else "vertical",
        movable=False,
        brush=theme.color(color, alpha),
        pen=pg.mkPen(theme.color(color, edge_alpha)),
    )
    plot.addItem(band)


def _point(plot: pg.PlotWidget) -> int:
    return max(1, round(plot.devicePixelRatioF()))  # screen pixels
