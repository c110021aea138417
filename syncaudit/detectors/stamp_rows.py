"""Audit columns of equally many stamps together, as long as nothing is wrong with them.

The cameras of a clip mostly have one length and no defect. What `stamp_audit` comes to for those is
done here for all of them at once, with the same figures to the last bit: no sample is missing or
surplus, no interval odd, there is no step, no one-sided delay and hardly any jitter. Whatever else
a column holds is left to `stamp_audit`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syncaudit.detectors.stamp_clock import MIN_SHAPE, centred, fit_clock, robust_jitter
from syncaudit.detectors.stamp_counter import nominal_rate, resolutions_ns, rounding_between
from syncaudit.detectors.stamp_grid import ALIKE, BUNCHED, NEAR_PERIOD
from syncaudit.detectors.stamp_ledger import least_step_s
from syncaudit.detectors.stamp_rhythm import MIN_SCATTER_S
from syncaudit.detectors.stamp_steps import find_level_steps, may_hold_steps
from syncaudit.detectors.stamp_words import (
    container_rate,
    container_remarks,
    count_remarks,
    rounding_remarks,
    synthetic_remark,
)
from syncaudit.dsp.rows import median_of_sorted, medians, quantile_of_sorted, robust_lines
from syncaudit.model import StampAudit
from syncaudit.model.time import MAX_SPAN_S

__all__ = ["StampColumn", "audit_rows"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StampColumn:
    """The stamps of one source and what they are held against.

    Parameters
    ----------
    time_ns : ndarray of int64, shape (n,)
        In file order.
    n_expected : int, optional
        Frames that the container holds.
    pts_s : ndarray of float64, shape (m,), optional
        Presentation times of the container in seconds.
    """

    time_ns: NDArray[np.int64]
    n_expected: int | None = None
    pts_s: NDArray[np.float64] | None = None


def audit_rows(
    columns: Sequence[StampColumn], float_ticks_ns: Sequence[int]
) -> list[StampAudit | None]:
    """Audit columns of the same length; None for those that need a look of their own.

    Parameters
    ----------
    columns : sequence of StampColumn
        At least one; the first stamp of each is 0, and no difference of two overflows.
    float_ticks_ns : sequence of int
        `float32_tick_ns` of each, as the stamps came.
    """
    audits: list[StampAudit | None] = [None] * len(columns)
    if columns[0].time_ns.size < MIN_SHAPE:
        return audits
    since = np.array([column.time_ns for column in columns])
    steps_s = (since[:, 1:] - since[:, :-1]) * 1e-9
    least, most = np.minimum.reduce(steps_s, axis=1), np.maximum.reduce(steps_s, axis=1)
    is_even = _is_even(steps_s, least, most) & (since[:, -1] <= MAX_SPAN_S * 1e9)
    places = [place for place, is_so in enumerate(is_even.tolist()) if is_so]
    if len(places) < len(columns):
        since, steps_s, least, most = (v[is_even] for v in (since, steps_s, least, most))
    if places:
        even = [columns[place] for place in places]
        ticks_ns = [float_ticks_ns[place] for place in places]
        extremes_s = list(zip(least.tolist(), most.tolist(), strict=True))
        found = _audit_even(even, since, _means(steps_s).tolist(), extremes_s, ticks_ns)
        for place, audit in zip(places, found, strict=True):
            audits[place] = audit
    return audits


def _is_even(
    steps_s: NDArray[np.float64], least: NDArray[np.float64], most: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Tell which rows `number_samples` numbers by counting, the mean interval as their period."""
    is_alike = np.asarray(most - least < ALIKE * least)
    if is_alike.all():
        return is_alike
    middle, mean = medians(steps_s), _means(steps_s)
    spread = 1.4826 * medians(np.abs(steps_s - middle[:, None]))
    # `rounding_between` takes no intervals of more than 1.5 times the shortest.
    is_near = (least > 0.0) & (most < 1.5 * least) & (spread < BUNCHED * middle)
    mean[~is_near] = 1.0
    for extreme in (least, most):  # what holds for both holds for all between
        is_near &= np.abs(extreme - middle) < NEAR_PERIOD * middle
        is_near &= np.abs(extreme - mean) < NEAR_PERIOD * mean
        is_near &= np.abs(extreme / mean - 1.0) < NEAR_PERIOD
    return np.asarray(is_alike | is_near)


def _means(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    means: NDArray[np.float64] = np.add.reduce(rows, axis=1) / rows.shape[1]
    return means


def _audit_even(
    columns: Sequence[StampColumn],
    since: NDArray[np.int64],
    periods_s: Sequence[float],
    extremes_s: Sequence[tuple[float, float]],
    float_ticks_ns: Sequence[int],
) -> list[StampAudit | None]:
    """Audit rows, shape (m, n), of even intervals, of which mean and extremes are known."""
    n = since.shape[1]
    index = np.arange(n)
    x = centred(index)
    times = np.asarray((since - since[:, n // 2 : n // 2 + 1]) * 1e-9)
    ticks_ns = resolutions_ns(since)
    ticks_s = [
        rounding_between(tick_ns, *extremes)
        for tick_ns, extremes in zip(ticks_ns, extremes_s, strict=True)
    ]
    floors = [least_step_s(*pair) for pair in zip(periods_s, ticks_s, strict=True)]
    slopes, levels, is_plain = robust_lines(x, times)
    is_plain &= slopes > 0.0
    residual = times - slopes[:, None] * x - levels[:, None]
    may_hold = may_hold_steps(residual, np.array(floors)).tolist()
    ordered = np.sort(residual, axis=1)
    may_delay = _may_have_floor(ordered).tolist()
    residual -= median_of_sorted(ordered)[:, None]
    excursions = np.sort(np.abs(residual), axis=1)
    middles, largest = median_of_sorted(excursions).tolist(), excursions[:, -1].tolist()
    jitters_s = [
        robust_jitter(row, tick_s, middle_s=middle_s)
        for row, tick_s, middle_s in zip(residual, ticks_s, middles, strict=True)
    ]
    plays_hz = _container_rates(columns)
    audits: list[StampAudit | None] = []
    for k, (column, is_sound, slope, level) in enumerate(
        zip(columns, is_plain.tolist(), slopes.tolist(), levels.tolist(), strict=True)
    ):
        line = (slope, level)
        if (
            not is_sound
            or jitters_s[k] > MIN_SCATTER_S
            or (may_hold[k] and find_level_steps(index, times[k], min_size_s=floors[k], line=line))
            or (may_delay[k] and _is_delayed(index, times[k], ticks_s[k], line))
        ):
            audits.append(None)
            continue
        rate_hz = 1.0 / slope
        nominal_hz = nominal_rate(
            column.time_ns, rate_hz, ticks_ns[k], float_tick_ns=float_ticks_ns[k]
        )
        remarks = count_remarks(n, column.n_expected) + rounding_remarks(ticks_s[k])
        if nominal_hz is not None:
            remarks.append(synthetic_remark(n, nominal_hz, ticks_s[k]))
        remarks += container_remarks(plays_hz[k], n, rate_hz)
        audits.append(
            StampAudit(
                samples=n,
                rate_hz=rate_hz,
                jitter_s=jitters_s[k],
                jitter_max_s=largest[k],
                clock_fit="least_squares",
                max_gap_s=extremes_s[k][1],
                lost_s=0.0,
                is_synthetic=nominal_hz is not None,
                remarks=tuple(remarks),
            )
        )
    return audits


def _may_have_floor(ordered: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Tell which sorted residuals are skewed as `has_floor` asks of delays first."""
    low, mid, high = (quantile_of_sorted(ordered, share) for share in (0.05, 0.5, 0.95))
    wider = 1.5 * (mid - low)
    is_skewed: NDArray[np.bool_] = (high - mid > wider) & (wider > 0.0)
    return is_skewed


def _is_delayed(
    index: NDArray[np.int64],
    times_s: NDArray[np.float64],
    tick_s: float,
    line: tuple[float, float],
) -> bool:
    return fit_clock(index, times_s, resolution_s=tick_s, line=line).method == "hull"


def _container_rates(columns: Sequence[StampColumn]) -> list[float | None]:
    """Return `container_rate` of every column that has presentation times."""
    pts = [column.pts_s for column in columns]
    if not any(times is None or times.shape != columns[0].time_ns.shape for times in pts):
        rows = np.array(pts)
        if np.count_nonzero(np.isfinite(rows)) == rows.size:
            gaps = rows[:, 1:] - rows[:, :-1]
            if gaps.item(gaps.argmin()) > 0.0:
                return [gaps.shape[1] / float(total) for total in np.add.reduce(gaps, axis=1)]
    return [None if times is None else container_rate(times) for times in pts]
