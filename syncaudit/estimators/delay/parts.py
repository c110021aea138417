"""Test whether parts of a clip alone, near the delay of the whole, agree with it; and its ends."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from syncaudit.dsp.integral import RunningIntegral
from syncaudit.estimators.delay.fit import DelayFit, fit_delay
from syncaudit.estimators.delay.increments import Increments
from syncaudit.estimators.delay.search import search_delay
from syncaudit.model.arrays import Floats

# Parts are searched this far around the delay of the whole clip, in steps that resolve the fastest
# motion.
REACH_S = 0.4
SEARCH_STEP_S = 0.01
# Log-likelihood by which the best lobe must beat the second, in a part that need not stand alone.
MIN_GAP = 6.0
# No delay is fitted to fewer.
MIN_ROWS = 20
# Shorter pieces hold too little motion to be measured alone.
MIN_PIECE_S = 3.0
# Scatter of quarters around a line: reduced chi-square (chance: once in 20,000), the floor due to
# timestamp jitter and rolling shutter, and the range that counts as wandering.
MAX_WANDER_CHI2 = 10.0
WANDER_FLOOR_S = 2e-4
MIN_WANDER_S = 7e-4
MAX_WANDER_S = 5e-3
# A quarter disagrees with the answer if it is farther off than this: chance puts the worst of four
# there once in 400,000 clips, and other wandering stays below the second limit.
MAX_PART_Z = 5.0
MIN_APART_S = 0.005
# Refused if this many quarters show less than this share of the motion, by this many standard
# errors.
MIN_LESS = 2
MIN_GAIN_SHARE = 0.75
MAX_GAIN_Z = 4.0
# Other delays of an end are at least this far off: nearer ones are seen by the pieces of a clip, or
# are a drift.
MIN_END_APART_S = 0.015
# Probability of taking one delay for two: beyond doubt, and where all frames are worth tracking.
MAX_CHANCE, DOUBTED_CHANCE = 1e-3, 0.5
# An end must deviate this many times as much as any run of rows in the rest. Where errors other
# than noise make the sums a random walk, its largest rise varies by a quarter.
BEYOND_REST = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviantEnd:
    """An end of a clip that another delay describes far better."""

    border_s: float  # where it begins or ends, on the source's clock
    span_s: float  # how long it is
    apart_s: float  # its delay relative to that of the whole
    is_start: bool  # whether it is the start of the clip
    is_certain: bool  # whether this is beyond doubt; otherwise more increments may tell

    @property
    def words(self) -> str:
        """Describe the end."""
        where = "first" if self.is_start else "last"
        return (
            f"its {where} {self.span_s:.1f} s fit {1e3 * self.apart_s:+.0f} ms more than the rest "
            "of it: lost frames, or a step of a clock too near the end to be measured"
        )


def measure_near(increments: Increments, driver: RunningIntegral, near_s: float) -> DelayFit | None:
    """Return the fit at the best delay near `near_s`, or None where none is clearly the best."""
    if increments.values.shape[0] < MIN_ROWS:
        return None
    curve = search_delay(
        increments,
        driver,
        lowest_s=near_s - REACH_S,
        highest_s=near_s + REACH_S,
        step_s=SEARCH_STEP_S,
    )
    if not np.isfinite(curve.log_likelihood).any():
        return None
    best = curve.best()
    gap = curve.log_likelihood[best] - curve.runner_up(best)
    if curve.is_at_edge(best) or gap < MIN_GAP:
        return None
    return fit_delay(increments, driver, start_s=float(curve.delays_s[best]))


def parts_of_equal_information(driver: RunningIntegral, fit: DelayFit) -> list[DelayFit]:
    """Return fits of quarters of equal information, those that can be measured alone.

    Some quarters of equal duration would be all rest, where an image shows nothing and a gyroscope
    only its noise.
    """
    near_s = fit.offset_s - fit.row_shift_s
    information = np.cumsum(np.sum(fit.weights * fit.sensitivity**2, axis=1))
    borders = np.searchsorted(information, information[-1] * np.array([0.25, 0.5, 0.75]))
    rows = (fit.model.rows.rows(part) for part in np.split(np.arange(information.size), borders))
    fits = (measure_near(part, driver, near_s) for part in rows)
    return [part for part in fits if part is not None]


def why_parts_disagree(
    parts: list[DelayFit], fit: DelayFit, answer: Callable[[float], tuple[float, float]]
) -> str | None:
    """Return which part of a clip has another delay than the answer, or None.

    A fit with robust weights may describe most of a clip and ignore the rest. The residual
    correlation of the whole applies to the parts too, whose few rows estimate it badly.

    `parts`: from `parts_of_equal_information`. `answer`: returns the answered delay at an instant,
    with its drift, and its standard error.
    """
    for part in parts:
        answer_s, answer_std_s = answer(part.anchor_s)
        apart_s = part.offset_s - answer_s
        wider = np.sqrt(max(1.0, fit.correlation_factor / part.correlation_factor))
        std_s = math.hypot(wider * part.offset_std_s, answer_std_s, WANDER_FLOOR_S)
        if part.span_s >= MIN_PIECE_S and abs(apart_s) > max(MAX_PART_Z * std_s, MIN_APART_S):
            return (
                f"{part.span_s:.0f} s of it, about {part.anchor_s:.0f} s, give "
                f"{1e3 * apart_s:+.0f} ± {1e3 * std_s:.0f} ms more than the whole, and neither a "
                "step nor a drift explains that: lost frames, a gimbal or a stabilised image"
            )
    return None


def why_delay_wanders(parts: list[DelayFit], fit: DelayFit) -> str | None:
    """Return how the delay wanders through the clip, or None.

    A clock gives one delay in all parts, or a straight line. A gimbal or a stabiliser has a delay
    that depends on the motion: its parts scatter by milliseconds around any line, many times their
    errors. Larger scatter comes from lost frames, which the measurement of drift and steps handles.
    """
    if len(parts) < 4:
        return None
    times = np.array([part.anchor_s for part in parts])
    delays = np.array([part.offset_s for part in parts])
    std = np.hypot([part.offset_std_s for part in parts], WANDER_FLOOR_S)
    share = np.array([part.gain for part in parts]) / fit.gain
    share_std = np.array([_gain_std(part) for part in parts]) / fit.gain
    is_less = share < np.minimum(MIN_GAIN_SHARE, 1.0 - MAX_GAIN_Z * share_std)
    if np.count_nonzero(is_less) >= MIN_LESS:
        return (
            f"parts of it show {100.0 * share.min():.0f} % of the motion that others show: "
            "sources on one rigid body see all of it always (stabilised image, gimbal)"
        )
    line = np.polyfit(times - times.mean(), delays, 1, w=1.0 / std)
    off = delays - np.polyval(line, times - times.mean())
    chi2_reduced = float(np.sum((off / std) ** 2)) / 2.0
    scatter_s = float(np.sqrt(np.mean(off**2) * 2.0))  # two of four degrees of freedom are left
    if chi2_reduced < MAX_WANDER_CHI2 or not MIN_WANDER_S < scatter_s < MAX_WANDER_S:
        return None
    return (
        f"the delay wanders by {1e3 * scatter_s:.1f} ms from quarter to quarter of it beyond any "
        "steady drift: it depends on the motion, as with a gimbal or stabilised image, and is "
        "not that of a clock"
    )


def _gain_std(fit: DelayFit) -> float:
    """Return the standard error of a gain: its relative variance is noise over signal."""
    explained = min(max(fit.explained, 1e-6), 1.0 - 1e-6)
    share = (1.0 - explained) / (explained * fit.residuals.size) * fit.correlation_factor
    return float(fit.gain * np.sqrt(share))


def find_deviant_end(fit: DelayFit, delays_s: Floats | None = None) -> DeviantEnd | None:
    """Return the end of a clip that has, or may have, another delay; None if neither does.

    Robust weights hide it: rows that follow another delay count for nothing. Its log-likelihood
    ratio to the delay of the whole, with the Cauchy distribution of the fit, grows with every row
    at that end. Were there one delay, the largest of these sums for any number of rows would exceed
    c with a probability of at most exp(-c) (Ville, "Étude critique de la notion de collectif",
    1939), for each end and each of the delays tried. Correlated residuals count for less.
    The bound holds if the noise is that of the fit; noise of the driver, or flexing, add to the
    sums. What they may add is seen in the rest of the clip, in any run of rows.

    `delays_s`, shape (n,): delay of the whole clip at each increment; None: that of the fit.
    """
    rows, driver, linear = fit.model.rows, fit.model.driver, fit.linear
    mid_s, n = rows.mid_s, rows.mid_s.size
    if delays_s is None:
        delays_s = np.full(n, fit.offset_s)
    whole_s = delays_s - fit.row_shift_s
    tried_s = np.arange(-REACH_S, REACH_S + 0.5 * SEARCH_STEP_S, SEARCH_STEP_S)
    tried_s = np.append(0.0, tried_s[np.abs(tried_s) > MIN_END_APART_S])

    begin_s, end_s = (at_s + whole_s + tried_s[:, None] for at_s in (rows.start_s, rows.stop_s))
    is_held = (begin_s >= driver.start_s) & (end_s <= driver.stop_s)
    begin, end = (
        driver.angles_at(np.clip(at_s, driver.start_s, driver.stop_s).ravel())
        for at_s in (begin_s, end_s)
    )
    expected = ((end - begin) @ linear.mixing.T).reshape(tried_s.size, n, -1)
    left = linear.residuals + linear.fitted - expected
    costs = np.log1p((left / linear.scale) ** 2).sum(axis=2)
    gains = np.where(is_held[0] & is_held[1:], costs[0] - costs[1:], 0.0)
    sums = np.cumsum(np.stack((gains, gains[:, ::-1])), axis=2)[:, :, : n // 2]
    sums /= max(1.0, fit.correlation_factor)
    if not sums.size or sums.max() < math.log(2 * len(gains) / DOUBTED_CHANCE):
        return None
    side, k, last = (int(i) for i in np.unravel_index(np.argmax(sums), sums.shape))
    rest = np.cumsum(gains[:, last + 1 :] if side == 0 else gains[:, : n - last - 1], axis=1)
    by_rest = (rest - np.minimum.accumulate(rest, axis=1)).max() / max(1.0, fit.correlation_factor)
    needed = max(math.log(2 * len(gains) / MAX_CHANCE), BEYOND_REST * by_rest)
    inner = last + 1 if side == 0 else n - last - 1
    border_s = 0.5 * float(mid_s[inner - 1] + mid_s[inner])
    outer_s = float(mid_s[0] if side == 0 else mid_s[-1])
    return DeviantEnd(
        border_s=border_s,
        span_s=abs(outer_s - border_s),
        apart_s=float(tried_s[k + 1]),
        is_start=side == 0,
        is_certain=bool(sums.max() >= needed),
    )
