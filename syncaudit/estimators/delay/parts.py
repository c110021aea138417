"""Refuse delays with which parts of a clip disagree.

Parts alone, near the delay of the whole, must agree with it; so must its ends, any run of
increments, and single frames.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve_banded, cholesky_banded

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
# Standard deviations of single frames' errors that are compared, and from which a delay is refused:
# without smaller ones to compare with, errors of 2 ms would be taken for 5.
FLUTTERS_S = 0.005 * 2.0 ** (0.5 * np.arange(-5, 8))
MAX_FLUTTER_S = 0.005
# Times over which these errors are alike: from frame to frame, within a second, and beyond.
FLUTTER_CORRELATED_S = (0.001, 0.3, 3.0)
# Other sources: time over which a delay counts as constant, fewest such windows, and the reduced
# chi-square of its variation from one to the next that refuses it. It is 12.7 at most of the
# signals of 26 generated buses and a real one, with their dynamics and filters.
FLUTTER_WINDOW_S = 1.0
MIN_WINDOWS = 10
MAX_FLUTTER_CHI2 = 20.0
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
# Longest run of increments that is compared with the rest.
MAX_MIDDLE_SHARE = 0.25
# Share of what such a run costs more than the rest that its own delay explains. The increments at
# its two borders have neither delay.
MIN_RUN_EXPLAINED = 0.75
# An end, or a run, must deviate this many times as much as any run of rows in the rest. Where
# errors other than noise make the sums a random walk, its largest rise varies by a quarter.
BEYOND_REST = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviantEnd:
    """An end of a clip that another delay describes far better."""

    border_s: float  # where it begins or ends, on the source's clock
    span_s: float  # how long it is
    apart_s: float  # its delay relative to that of the whole, or `REACH_S` where none describes it
    is_foreign: bool  # whether no delay within `REACH_S` describes it
    is_start: bool  # whether it is the start of the clip
    is_certain: bool  # whether this is beyond doubt; otherwise more increments may tell

    @property
    def words(self) -> str:
        """Describe the end."""
        where = f"its {'first' if self.is_start else 'last'} {self.span_s:.1f} s"
        if self.is_foreign:
            return (
                f"{where} show motion that no delay within {REACH_S:g} s of that of the rest of it "
                "explains: samples lost for longer, a step of a clock, or another motion"
            )
        return (
            f"{where} fit {1e3 * self.apart_s:+.0f} ms more than the rest of it: lost frames, or a "
            "step of a clock too near the end to be measured"
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


def why_delay_flutters(fit: DelayFit) -> tuple[str, float] | None:
    """Return how and by how much the delay varies within seconds around a steady drift, or None.

    Frames that are stamped by their number but captured unevenly are late and early in turn, though
    right on average.
    """
    is_of_frames = fit.model.rows.period_s == 0.0
    flutter_s = _errors_of_frames(fit) if is_of_frames else _variation_by_windows(fit)
    if flutter_s < MAX_FLUTTER_S:
        return None
    told = (
        "frames were not captured evenly, as their timestamps say, or the image is stabilised"
        if is_of_frames
        else "samples were not taken evenly, as their timestamps say"
    )
    why = f"the delay varies by {1e3 * flutter_s:.0f} ms (rms) within seconds: {told}"
    return why, flutter_s


def _errors_of_frames(fit: DelayFit) -> float:
    """Return how far single frames are off (standard deviation); 0 if chance may explain it.

    A frame that is late moves both increments that it bounds, by its rate in opposite directions,
    which no other error does. The likelihood that frames have such errors, at random or slowly
    changing ones (an Ornstein-Uhlenbeck process; residuals with their robust weights, their scale
    profiled out), is compared with that of none, by a variance component (Laird & Ware,
    "Random-effects models for longitudinal data", Biometrics 38, 1982, doi:10.2307/2529876). Were
    there none, the ratio of the likelihoods would exceed c with a probability of at most 1/c for
    each standard deviation and correlation time.
    """
    rows, linear = fit.model.rows, fit.linear
    times_s = np.round(np.append(rows.start_s, rows.stop_s), 6)  # neighbours share a frame's
    times_s, frames = np.unique(times_s, return_inverse=True)
    first, last = np.split(frames, 2)
    is_next = last - first == 1
    first, last, weights, left = (
        each[is_next] for each in (first, last, fit.weights, fit.residuals)
    )
    begin, end = (
        (sign * linear.rate + 0.5 * linear.bend)[is_next] @ linear.mixing.T for sign in (-1.0, 1.0)
    )
    # What a steady drift explains is none of theirs.
    root, at_s = np.sqrt(weights), times_s - times_s.mean()
    drift = begin * at_s[first, None] + end * at_s[last, None]
    steady = np.stack([(root * each).ravel() for each in (begin + end, drift)], axis=1)
    explained = steady @ np.linalg.lstsq(steady, (root * left).ravel(), rcond=None)[0]
    left = left - explained.reshape(left.shape) / root
    # Normal equations of the frames' errors, tridiagonal, in the bands of `cholesky_banded`.
    information, score = np.zeros((2, times_s.size)), np.zeros(times_s.size)
    for at, rate in ((first, begin), (last, end)):
        np.add.at(information[1], at, np.sum(weights * rate**2, axis=1))
        np.add.at(score, at, np.sum(weights * rate * left, axis=1))
    np.add.at(information[0], last, np.sum(weights * begin * end, axis=1))
    power, n = float(np.sum(weights * left**2)), left.size
    if not power > 0.0:  # no frame ends an increment and begins another
        return 0.0
    best, flutter_s = 0.0, 0.0
    for correlated_s in FLUTTER_CORRELATED_S:
        like = np.exp(-np.diff(times_s) / correlated_s)
        new = 1.0 - like**2  # part of the variance that is new in each frame
        prior = np.ones((2, times_s.size))  # inverse correlation of the frames' errors
        prior[0, 1:] = -like / new
        prior[1, 1:] += like**2 / new
        prior[1, :-1] += like**2 / new
        for tried_s in FLUTTERS_S:
            share = tried_s**2 * n / power
            factor = cholesky_banded(prior + share * information)
            kept = 1.0 - share * float(score @ cho_solve_banded((factor, False), score)) / power
            volume = float(np.sum(np.log(factor[1])) + 0.5 * np.sum(np.log(new)))
            gain = (-0.5 * n * math.log(kept) - volume) / max(1.0, fit.correlation_factor)
            if gain > best:
                best, flutter_s = gain, tried_s * math.sqrt(kept)
    # Those that refuse nothing cause no false alarm.
    n_tried = np.count_nonzero(FLUTTERS_S >= MAX_FLUTTER_S) * len(FLUTTER_CORRELATED_S)
    return flutter_s if best >= math.log(n_tried / MAX_CHANCE) else 0.0


def _variation_by_windows(fit: DelayFit) -> float:
    """Return how the delay varies from window to window (rms); 0 if chance may explain it.

    The delay of each window is one step of least squares from the fit; its error follows from what
    it leaves there, and the variance beyond these errors from their weighted squares (DerSimonian
    and Laird, "Meta-analysis in clinical trials", Control. Clin. Trials 7, 1986,
    doi:10.1016/0197-2456(86)90046-2). Faster jitter looks like noise.
    """
    weights = fit.weights
    window = ((fit.mid_s - fit.mid_s[0]) / FLUTTER_WINDOW_S).astype(np.int64)
    left, slope = fit.residuals, fit.sensitivity
    sums = [weights * slope**2, weights * slope * left, weights * left**2, np.ones(left.shape)]
    info, score, power, n = (np.bincount(window, each.sum(axis=1)) for each in sums)
    has_any = (info > 0.0) & (n > 2.0)
    if np.count_nonzero(has_any) < MIN_WINDOWS:
        return 0.0
    info, delays_s, n = info[has_any], score[has_any] / info[has_any], n[has_any]
    precision = info / np.median((power[has_any] - info * delays_s**2) / (n - 1.0))
    at = np.flatnonzero(has_any)
    off_s = delays_s - np.polyval(np.polyfit(at, delays_s, 1, w=np.sqrt(precision)), at)
    squares, total = float(np.sum(precision * off_s**2)), float(precision.sum())
    freedom = off_s.size - 2
    if squares < MAX_FLUTTER_CHI2 * freedom:
        return 0.0
    return math.sqrt((squares - freedom) / (total - float(np.sum(precision**2)) / total))


def _gain_std(fit: DelayFit) -> float:
    """Return the standard error of a gain: its relative variance is noise over signal."""
    explained = min(max(fit.explained, 1e-6), 1.0 - 1e-6)
    share = (1.0 - explained) / (explained * fit.residuals.size) * fit.correlation_factor
    return float(fit.gain * np.sqrt(share))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OtherDelays:
    """How well other delays describe each increment, compared with the delay of the whole clip."""

    mid_s: Floats  # shape (n,): times of the increments
    # shape (k,): delays relative to that of the whole; the last, `REACH_S`, stands for none at all
    apart_s: Floats
    # shape (k, n): log-likelihood ratios to the delay of the whole, with the Cauchy distribution of
    # the fit
    gains: Floats
    costs: Floats  # shape (n,): negative log-likelihoods at the delay of the whole


def compare_other_delays(fit: DelayFit, delays_s: Floats | None = None) -> OtherDelays:
    """Return how well other delays describe each increment.

    `delays_s`, shape (n,): delay of the whole clip at each increment; None: that of the fit.
    """
    rows, driver, linear = fit.model.rows, fit.model.driver, fit.linear
    n = rows.mid_s.size
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
    observed = linear.residuals + linear.fitted
    costs = np.log1p(((observed - expected) / linear.scale) ** 2).sum(axis=2)
    own = np.maximum(np.sqrt(np.mean(observed**2, axis=0)), linear.scale)
    foreign = (np.log1p((observed / own) ** 2) + np.log(own / linear.scale)).sum(axis=1)
    costs, is_held = np.vstack((costs, foreign)), np.vstack((is_held, is_held[:1]))
    gains = np.where(is_held[0] & is_held[1:], costs[0] - costs[1:], 0.0)
    factor = max(1.0, fit.correlation_factor)
    return OtherDelays(
        mid_s=rows.mid_s,
        apart_s=np.append(tried_s[1:], REACH_S),
        gains=gains / factor,
        costs=costs[0] / factor,
    )


def find_deviant_end(others: OtherDelays) -> DeviantEnd | None:
    """Return the end of a clip that has, or may have, another delay; None if neither does.

    Robust weights hide it: rows that follow another delay count for nothing. Its log-likelihood
    ratio to the delay of the whole, with the Cauchy distribution of the fit, grows with every row
    at that end. Were there one delay, the largest of these sums for any number of rows would exceed
    c with a probability of at most exp(-c) (Ville, "Étude critique de la notion de collectif",
    1939), for each end and each of the delays tried. Correlated residuals count for less.
    The bound holds if the noise is that of the fit; noise of the driver, or flexing, add to the
    sums. What they may add is seen in the rest of the clip, in any run of rows. One more
    alternative is that the driver says nothing about the rows, which have a Cauchy distribution as
    wide as all motion: rows at rest, and noise, are unlikely by it.
    """
    mid_s, gains, n = others.mid_s, others.gains, others.mid_s.size
    sums = np.cumsum(np.stack((gains, gains[:, ::-1])), axis=2)[:, :, : n // 2]
    if not sums.size or sums.max() < math.log(2 * len(gains) / DOUBTED_CHANCE):
        return None
    side, k, last = (int(i) for i in np.unravel_index(np.argmax(sums), sums.shape))
    rest = gains[:, last + 1 :] if side == 0 else gains[:, : n - last - 1]
    by_rest = _largest_run(rest).height
    needed = max(math.log(2 * len(gains) / MAX_CHANCE), BEYOND_REST * by_rest)
    inner = last + 1 if side == 0 else n - last - 1
    border_s = 0.5 * float(mid_s[inner - 1] + mid_s[inner])
    outer_s = float(mid_s[0] if side == 0 else mid_s[-1])
    return DeviantEnd(
        border_s=border_s,
        span_s=abs(outer_s - border_s),
        apart_s=float(others.apart_s[k]),
        is_foreign=k + 1 == others.apart_s.size,
        is_start=side == 0,
        is_certain=bool(sums.max() >= needed),
    )


def why_part_deviates(
    end: DeviantEnd | None,
    others: OtherDelays,
    *,
    least_s: float = 0.0,
    explained: float = MIN_RUN_EXPLAINED,
) -> tuple[str, float] | None:
    """Return which part of a clip certainly has another delay, and how far off that is, or None.

    `end`: from `find_deviant_end`. `least_s`, `explained`: of runs inside, as for
    `_why_middle_deviates`.
    """
    if end is not None and end.is_certain:
        return end.words, end.apart_s
    return _why_middle_deviates(others, least_s=least_s, explained=explained)


def _why_middle_deviates(
    others: OtherDelays, *, least_s: float, explained: float
) -> tuple[str, float] | None:
    """Return which part inside a clip has another delay, and how far off that is, or None.

    Such as frames that are late for a while. Like an end, but it may begin at any row: each of them
    is one more chance. Only in runs of up to a quarter of the rows is the rest long enough to show
    what noise does. Errors other than those of time, such as parallax, also look better at some
    other delay, but by far not as well as the rest at its own: the share of its excess costs that
    its own delay saves must be `explained`. Runs shorter than `least_s` do not count.
    """
    gains, costs, mid_s = others.gains[:-1], others.costs, others.mid_s
    run = _largest_run(gains)
    span_s = float(mid_s[run.last] - mid_s[run.first]) if mid_s.size else 0.0
    if (
        run.height < math.log(max(1, gains.size) / MAX_CHANCE)
        or run.last - run.first > MAX_MIDDLE_SHARE * gains.shape[1]
        or span_s < least_s
    ):
        return None
    rest = (gains[:, : run.first], gains[:, run.last + 1 :])
    own = costs[run.first : run.last + 1]
    excess = float(own.sum() - own.size * np.delete(costs, np.s_[run.first : run.last + 1]).mean())
    if (
        run.height < BEYOND_REST * max(_largest_run(part).height for part in rest)
        or run.height < explained * excess
    ):
        return None
    apart_s = float(others.apart_s[run.alternative])
    why = (
        f"{span_s:.1f} s of it, about "
        f"{0.5 * (mid_s[run.first] + mid_s[run.last]):.0f} s, fit {1e3 * apart_s:+.0f} ms more "
        "than the rest of it: samples were late or early there, or two steps of a clock"
    )
    return why, apart_s


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """Neighbouring increments that an alternative describes better."""

    height: float  # sum of their gains
    alternative: int
    first: int
    last: int


def _largest_run(gains: Floats) -> _Run:
    """Return the run with the largest sum of gains, shape (k, n), of all alternatives."""
    if not gains.size:
        return _Run(height=0.0, alternative=0, first=0, last=0)
    sums = np.cumsum(np.pad(gains, ((0, 0), (1, 0))), axis=1)
    rises = sums[:, 1:] - np.minimum.accumulate(sums, axis=1)[:, :-1]
    k, last = (int(i) for i in np.unravel_index(np.argmax(rises), rises.shape))
    first = int(np.argmin(sums[k, : last + 1]))
    return _Run(height=float(rises[k, last]), alternative=k, first=first, last=last)
