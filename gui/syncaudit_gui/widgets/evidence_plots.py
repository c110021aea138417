"""Plots of the evidence: agreement over offset, event residuals, offset over time."""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
from pyqtgraph.Qt import QtCore

from syncaudit.model import AgreementCurve, EventResiduals, PairMeasurement
from syncaudit_gui.viewmodel.comparing import OffsetCourse
from syncaudit_gui.widgets.theme import Theme

# Larger offsets are plotted relative to the estimate.
FAR_S = 10.0
# Visible range of an agreement, as a multiple of the tolerance.
REACH_LIMITS = 3.0
# Fewer search steps to either side do not make a curve, and a lower depth shows rounding.
LEAST_STEPS, LEAST_DEPTH = 5.0, 0.2
TOLERATED_ALPHA, ERROR_ALPHA = 60, 70


def draw_agreement(
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


def draw_residuals(
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


def draw_course(plot: pg.PlotWidget, theme: Theme, course: OffsetCourse) -> None:
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
