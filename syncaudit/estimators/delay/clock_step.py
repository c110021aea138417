"""Find a clock step inside a clip, and compare it with a drift.

A step inside a short clip looks much like a drift, and a drift beyond that of quartz is a priori no
likelier than a step: where the increments cannot distinguish the two, neither is reported. Drifts
of quartz are far likelier than steps and need no such test.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from syncaudit.dsp.integral import RunningIntegral
from syncaudit.dsp.robust import cauchy_weights, median
from syncaudit.estimators.delay.fit import DelayFit, fit_delay
from syncaudit.estimators.delay.increments import Increments
from syncaudit.estimators.delay.model import Linearised
from syncaudit.estimators.delay.parts import MIN_GAIN_SHARE, MIN_PIECE_S, DeviantEnd, measure_near
from syncaudit.estimators.delay.refusals import DRIFT_Z, MIN_LIKELIHOOD_GAP
from syncaudit.model.arrays import Floats

MIN_PIECE_ROWS = 36
MIN_PIECES = 3
MAX_PIECES = 6
MIN_STEP_S = 0.003
# A piece whose mean squared change of rate is less than this part of the clip's may be at rest.
AT_REST = 0.7
# Rows of a piece that is compared by its residuals alone.
MIN_COMPARED_ROWS = 8
# Chi-square of six pieces (chance: 22 once in a thousand clips), and ratio of residuals.
UNEVEN_CHI2 = 20.0
UNEVEN_SPREAD = 2.0
# With few rows, the spread of a piece also varies by chance: the piece must also favour another
# delay.
UNEVEN_CHI2_WITH_SPREAD = 8.0
# Improvement in chi-square of a step plus drift over a drift alone at the best of five places,
# divided by the remaining scatter. Where the size of the pieces' errors is unknown, only three
# degrees of freedom determine the scatter, and chance gives as much once in 17 clips (F
# distribution, Bonferroni over the places). But clips are cut only if they are uneven, as 5 of 2000
# pairs without a step were (jitter up to 5 ms, noise, quantisation, different filters, rests).
# Together: one false alarm in 6,000 clips.
MIN_CHI2_GAIN = 30.0
# Pieces needed to fit a step plus drift and estimate the scatter; with fewer, a step is compared
# with a drift.
MIN_BOTH = 5
# Prior on a clock's drift where the evidence does not determine it significantly, one sigma: quartz
# stays within it.
USUAL_DRIFT_PPM = 200.0
# Prior probabilities that a clock steps within a clip, and that its rate is not that of quartz: as
# that of a wrong verdict at a confidence of 95 %. Were it larger, every clip whose drift cannot be
# measured would be held back. Steps are rarer.
STEPPED, WRONG_RATE = 0.01, 0.05
# Both sides of a step have one clock: their drifts differ by at most this many standard errors.
MAX_SIDES_Z = 4.0
# The place and the sides of a step are estimated alternately, this many times.
N_ROUNDS = 2
# A step is at least this many standard errors high.
MIN_STEP_Z = 5.0

# Weights converge to a few percent within this many rounds.
N_WEIGHTINGS = 5
# Log-likelihood by which the true place of a change is below the best in 95 % of cases, at most:
# -ln(1 - 0.95^(1/2)). It is more than for a fitted parameter, because the best of many places is
# not a typical one (Siegmund, "Confidence sets in change-point problems", Int. Stat. Review 56,
# 1988, doi:10.2307/1403360).
LIKELY_INSTANT = 3.68


def find_step(
    increments: Increments, driver: RunningIntegral, fit: DelayFit, end: DeviantEnd | None
) -> ClockStep | None:
    """Look for one clock step.

    The clip is cut into up to six pieces, each measured alone near the delay of the whole. At the
    best of all places between two pieces, a step plus drift must describe their delays far better
    than the drift alone (`MIN_CHI2_GAIN` bounds the false alarms). The instant is then the one that
    leaves the smallest residuals. A step nearer to an end than a piece is long is found by what the
    rows at that end prefer. None where the pieces agree, drift steadily, or cannot be measured.

    `fit`: of the whole clip. `end`: from `find_deviant_end`.
    """
    step, n_pieces = None, _n_pieces(increments)
    if n_pieces >= MIN_PIECES:
        chi2, spread = _unevenness(fit, n_pieces)
        if chi2 > UNEVEN_CHI2 or spread > UNEVEN_SPREAD:
            step = _stepped(increments, driver, fit, min_gain=MIN_CHI2_GAIN)
    if step is None and end is not None and end.is_certain:
        step = _stepped_at(end, increments, driver, fit)
    return step if step is not None and _is_significant(step) else None


def _stepped_at(
    end: DeviantEnd, increments: Increments, driver: RunningIntegral, fit: DelayFit
) -> ClockStep | None:
    """Return the step at the border of an end, or None where the end cannot be measured alone."""
    is_own = (increments.mid_s < end.border_s) == end.is_start
    own = measure_near(increments.rows(is_own), driver, fit.offset_s)
    if own is None:
        return None
    levels_s = [own.offset_s, fit.offset_s] if end.is_start else [fit.offset_s, own.offset_s]
    return _located(increments, driver, fit, end.border_s, levels_s, end.span_s)


def _is_significant(step: ClockStep) -> bool:
    """Return whether a step is significant."""
    return abs(step.step_s) >= max(MIN_STEP_S, MIN_STEP_Z * step.step_std_s)


def _n_pieces(increments: Increments) -> int:
    """Return the number of pieces into which a clip can be cut."""
    n_rows, span_s = increments.values.shape[0], float(np.ptp(increments.mid_s))
    return min(MAX_PIECES, int(span_s / MIN_PIECE_S), int(n_rows // MIN_PIECE_ROWS))


def _stepped(
    increments: Increments, driver: RunningIntegral, fit: DelayFit, *, min_gain: float
) -> ClockStep | None:
    """Return the best step, if the pieces' delays favour it over a drift by `min_gain`."""
    n_pieces = _n_pieces(increments)
    if n_pieces < MIN_PIECES:
        return None
    mid_s = increments.mid_s
    pieces = [
        measure_near(increments.rows(rows), driver, fit.offset_s)
        for rows in np.array_split(np.arange(mid_s.size), n_pieces)
    ]
    known = [piece for piece in pieces if piece is not None and not _is_at_rest(piece, fit)]
    if len(known) < 2:  # two, with a rest between, are explained by a step and a drift alike
        return None
    times = np.array([piece.anchor_s for piece in known])
    delays = np.array([piece.offset_s for piece in known])
    std = np.array([math.hypot(piece.offset_std_s, 2e-4) for piece in known])
    split = _best_split(times, delays, std, min_gain)
    if split is None:
        return None
    border_s = 0.5 * float(known[split - 1].mid_s[-1] + known[split].mid_s[0])
    reach_s = float(np.diff([piece.mid_s.mean() for piece in known]).max())
    levels_s = []
    for part, rows in (
        (slice(None, split), mid_s < border_s),
        (slice(split, None), mid_s >= border_s),
    ):
        level_s = float(np.average(delays[part], weights=std[part] ** -2))
        # A piece that contains the step gives a delay between both.
        side = measure_near(increments.rows(rows), driver, level_s)
        levels_s.append(level_s if side is None else side.offset_s)
    return _located(increments, driver, fit, border_s, levels_s, reach_s)


def _is_at_rest(piece: DelayFit, fit: DelayFit) -> bool:
    """Return whether a piece shows only noise, which by chance prefers some delay.

    It moves clearly less than the clip on average, and the driver's noise is not the source's.
    """
    motion, of_clip = (np.mean(each.sensitivity**2) / each.gain**2 for each in (piece, fit))
    return bool(motion < AT_REST * of_clip and piece.gain < MIN_GAIN_SHARE * fit.gain)


def _located(
    increments: Increments,
    driver: RunningIntegral,
    fit: DelayFit,
    border_s: float,
    levels_s: list[float],
    reach_s: float,
) -> ClockStep | None:
    """Return the step within `reach_s` of a first guess, from levels near the two given ones."""
    step = ClockStep(
        at_s=border_s,
        before_s=levels_s[0],
        before_std_s=0.0,
        after_s=levels_s[1],
        after_std_s=0.0,
    )
    correlation_factor = 1.0
    for _ in range(N_ROUNDS):
        border_s, border_std_s = locate_step(fit, step, reach_s, correlation_factor)
        sides = _sides(increments, driver, border_s, levels_s)
        joined = sides and _joined(border_s, *sides)
        if sides is None or joined is None:
            return None
        step = replace(joined, at_std_s=border_std_s)
        correlation_factor = max(side.correlation_factor for side in sides)
    return step


def _sides(
    increments: Increments, driver: RunningIntegral, border_s: float, near_s: list[float]
) -> tuple[DelayFit, DelayFit] | None:
    """Return the fits of both sides of a step, each with its own drift."""
    is_before = increments.mid_s < border_s
    fits = []
    for own, start_s in zip((is_before, ~is_before), near_s, strict=True):
        rows = increments.rows(own)
        level = fit_delay(rows, driver, start_s=start_s)
        fit = level and fit_delay(
            rows, driver, start_s=level.offset_s, with_drift=True, known=level
        )
        if fit is None:
            return None
        fits.append(fit)
    return fits[0], fits[1]


def _joined(border_s: float, before: DelayFit, after: DelayFit) -> ClockStep | None:
    """Return the step between two sides; None where their drifts differ, or one hardly fits.

    A drift that is not significant is combined with a normal prior on the drift of clocks.
    """
    if min(before.gain, after.gain) < MIN_GAIN_SHARE * max(before.gain, after.gain):
        return None
    drifts = np.array([side.drift_ppm or 0.0 for side in (before, after)])
    weights = np.array([side.drift_std_ppm or math.inf for side in (before, after)]) ** -2
    if abs(drifts[0] - drifts[1]) > MAX_SIDES_Z * math.sqrt(np.sum(1.0 / weights)):
        return None
    drift_ppm = float(np.average(drifts, weights=weights))
    if abs(drift_ppm) <= DRIFT_Z * np.sum(weights) ** -0.5:
        weights = np.append(weights, USUAL_DRIFT_PPM**-2)
        drift_ppm = float(np.average(np.append(drifts, 0.0), weights=weights))
    return ClockStep(
        at_s=border_s,
        before_s=before.offset_s,
        before_std_s=before.offset_std_s,
        after_s=after.offset_s,
        after_std_s=after.offset_std_s,
        before_at_s=before.anchor_s,
        after_at_s=after.anchor_s,
        drift_ppm=drift_ppm,
        drift_std_ppm=float(np.sum(weights) ** -0.5),
    )


def is_uneven(fit: DelayFit, end: DeviantEnd | None) -> bool:
    """Return whether a part of a clip too short to fit, or an end, may have another delay."""
    n_pieces = min(MAX_PIECES, fit.n_rows // MIN_COMPARED_ROWS)
    if n_pieces < 2:
        return False
    chi2, spread = _unevenness(fit, n_pieces)
    return (
        end is not None
        or chi2 > UNEVEN_CHI2
        or (spread > UNEVEN_SPREAD and chi2 > UNEVEN_CHI2_WITH_SPREAD)
    )


def _unevenness(fit: DelayFit, n_pieces: int) -> tuple[float, float]:
    """Return how strongly pieces favour other delays, and how much worse the worst fits.

    A cheap score test, so that clips of one delay can skip the search piece by piece.
    """
    scores = np.sum(fit.weights * fit.sensitivity * fit.residuals, axis=1)
    information = np.sum(fit.weights * fit.sensitivity**2, axis=1)
    scaled = np.sqrt(fit.weights) * fit.residuals
    pieces = zip(*(np.array_split(x, n_pieces) for x in (scores, information, scaled)), strict=True)
    wishes, spread = np.array(
        [(s.sum() ** 2 / i.sum(), median(np.abs(r).ravel())) for s, i, r in pieces]
    ).T
    return float(wishes.sum()), float(spread.max() / max(median(spread), 1e-30))


def _best_split(times: Floats, delays: Floats, std: Floats, min_gain: float) -> int | None:
    """Return the piece before which a step lies, or None where a drift explains as much."""
    since = times - times.mean()
    level = np.ones_like(since)

    def left_by(*columns: Floats) -> float:
        design = np.stack(columns, axis=1) / std[:, None]
        found = np.linalg.lstsq(design, delays / std, rcond=None)[0]
        return float(np.sum((delays / std - design @ found) ** 2))

    drift = (since,) if times.size >= MIN_BOTH else ()
    chi2 = [
        left_by(level, (np.arange(times.size) >= split).astype(np.float64), *drift)
        for split in range(1, times.size)
    ]
    best = int(np.argmin(chi2))
    scatter = max(1.0, chi2[best] / max(1, times.size - 2 - len(drift)))
    gain = left_by(level, since) - chi2[best]
    return best + 1 if gain / scatter > min_gain else None


def is_unlike_quartz(figures: dict[str, float]) -> bool:
    """Return whether a delay with these figures drifts significantly more than quartz does."""
    std_ppm = figures.get("drift_std_ppm", 0.0)
    return abs(figures.get("drift_ppm", 0.0)) > DRIFT_Z * max(USUAL_DRIFT_PPM, std_ppm)


def step_for_drift(
    increments: Increments, driver: RunningIntegral, fit: DelayFit, figures: dict[str, float]
) -> tuple[ClockStep | None, str | None]:
    """Return the step that is likelier than a drift, or why neither can be reported.

    If both are None, the drift stands. `fit`: one delay for the whole clip. `figures`: with the
    drift, which is removed if a step is returned. If neither can be reported, they get the
    departure of the clock at either end.
    """
    start_s = fit.offset_s - fit.row_shift_s
    drifting = fit_delay(increments, driver, start_s=start_s, with_drift=True, known=fit)
    step = _stepped(increments, driver, fit, min_gain=-math.inf)
    if drifting is None or step is None:
        return None, None
    gain = step_over_drift(fit, step, drifting)
    figures["step_over_drift"] = gain
    is_likelier = gain >= MIN_LIKELIHOOD_GAP
    if is_likelier and _is_significant(step):
        del figures["drift_ppm"], figures["drift_std_ppm"]
        return step, None
    drifts_anyhow = abs(step.drift_ppm) > DRIFT_Z * step.drift_std_ppm
    if gain <= -MIN_LIKELIHOOD_GAP or (drifts_anyhow and not is_likelier):
        return None, None
    figures["departs_by_s"] = 0.5e-6 * figures["drift_ppm"] * fit.span_s
    return None, why_either(figures["drift_ppm"], fit.span_s)


def apart_if_step(
    increments: Increments, driver: RunningIntegral, fit: DelayFit, drift_ppm: float
) -> float:
    """Return how far the offset would be off if a drift were a step as well, in seconds (rms).

    For drifts that quartz may have, if rarely. If nothing moves for long, a step there explains the
    same delays, but leaves the middle of the line on either side by half of the change. It counts
    by its posterior probability.
    """
    drifting = fit_delay(
        increments, driver, start_s=fit.offset_s - fit.row_shift_s, with_drift=True, known=fit
    )
    step = _stepped(increments, driver, fit, min_gain=-math.inf)
    if drifting is None or step is None:
        return 0.0
    gain = min(step_over_drift(fit, step, drifting), MIN_LIKELIHOOD_GAP)
    rates = math.exp(-0.5 * (drift_ppm / USUAL_DRIFT_PPM) ** 2) + WRONG_RATE
    odds = STEPPED * math.exp(gain) / rates
    sides_s = np.array(step.sides_at(np.array(drifting.anchor_s)))
    apart_s = float(np.max(np.abs(sides_s - drifting.offset_s)))
    return apart_s * math.sqrt(odds / (1.0 + odds))


def why_either(drift_ppm: float, span_s: float) -> str:
    """Describe why a step explains the change of the delay as well as a drift does."""
    return (
        f"the delay changes by {1e-3 * drift_ppm * span_s:+.0f} ms through the clip, explained "
        f"equally well by a step or a drift of {drift_ppm:+.0f} ppm, more than quartz has; use a "
        "longer recording or one with more motion"
    )


def step_over_drift(fit: DelayFit, step: ClockStep, drifting: DelayFit) -> float:
    """Return by how much the log-likelihood of a step exceeds that of a drift.

    Both use the same increments, those of the fit of one delay, one mounting each, and their own
    weights. Correlated residuals count for less, and increments at rest not at all.
    """
    mid_s = fit.model.rows.mid_s
    drift_s = 1e-6 * (drifting.drift_ppm or 0.0) * (mid_s - drifting.anchor_s)
    delays_s = (drifting.offset_s + drift_s, step.offsets_at(mid_s))
    drifted, stepped = (_fit_at(fit, each_s) for each_s in delays_s)
    if stepped is None or drifted is None:
        return -math.inf
    scale = np.minimum(stepped.scale, drifted.scale)
    costs = [np.log1p((found.residuals / scale) ** 2).sum(axis=1) for found in (drifted, stepped)]
    apart = (drifted.design - stepped.design)[:, : fit.model.driver.n_channels]
    share = fit.model.distinct_share(apart, delays_s[0] - delays_s[1])
    gain = float(share @ (costs[0] - costs[1]))
    return gain / min(fit.correlation_factor, drifting.correlation_factor)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockStep:
    """A delay that changes once, besides a steady drift."""

    at_s: float  # instant of the step on the source's clock
    # Delay before and after, each with its standard error.
    before_s: float
    before_std_s: float
    after_s: float
    after_std_s: float
    # Instants to which the two refer, where the delay drifts.
    before_at_s: float = 0.0
    after_at_s: float = 0.0
    # Drift on both sides, as it was removed, and its standard error.
    drift_ppm: float = 0.0
    drift_std_ppm: float = 0.0
    at_std_s: float = 0.0  # standard error of `at_s`

    @property
    def step_s(self) -> float:
        """Change of the delay."""
        apart_s = self.after_at_s - self.before_at_s
        return self.after_s - self.before_s - 1e-6 * self.drift_ppm * apart_s

    @property
    def step_std_s(self) -> float:
        """Standard error of the change."""
        apart_s = self.after_at_s - self.before_at_s
        own_s = math.hypot(self.before_std_s, self.after_std_s)
        return math.hypot(own_s, 1e-6 * self.drift_std_ppm * apart_s)

    def widened(self, by: float) -> ClockStep:
        """Return the same step with the errors of both sides multiplied."""
        return replace(self, before_std_s=by * self.before_std_s, after_std_s=by * self.after_std_s)

    def longer_part(self, increments: Increments) -> Increments:
        """Return the increments on the side that holds more of them."""
        n_before = int(np.count_nonzero(increments.mid_s < self.at_s))
        return self.part(increments, is_before=2 * n_before > increments.mid_s.size)

    def part(self, increments: Increments, *, is_before: bool) -> Increments:
        """Return the increments on one side."""
        return increments.rows((increments.mid_s < self.at_s) == is_before)

    def anchor_near(self, time_s: float) -> float:
        """Return the instant on the same side of the step at which the delay is known best."""
        if not self.drift_std_ppm:
            return time_s
        return self.before_at_s if time_s < self.at_s else self.after_at_s

    def offset_at(self, time_s: float) -> float:
        """Return the delay at an instant."""
        return float(self.offsets_at(np.array(time_s)))

    def sides_at(self, times_s: Floats) -> tuple[Floats, Floats]:
        """Return the delays of both sides at instants, shape (n,) each, wherever the step is."""
        before_s = self.before_s + 1e-6 * self.drift_ppm * (times_s - self.before_at_s)
        after_s = self.after_s + 1e-6 * self.drift_ppm * (times_s - self.after_at_s)
        return before_s, after_s

    def offsets_at(self, times_s: Floats) -> Floats:
        """Return the delays at instants, shape (n,)."""
        before_s, after_s = self.sides_at(times_s)
        return np.where(times_s < self.at_s, before_s, after_s)

    def offset_std_at(self, time_s: float) -> float:
        """Return the standard error of `offset_at`."""
        is_before = time_s < self.at_s
        std_s, at_s = (
            (self.before_std_s, self.before_at_s)
            if is_before
            else (self.after_std_s, self.after_at_s)
        )
        return math.hypot(std_s, 1e-6 * self.drift_std_ppm * (time_s - at_s))


def _fit_at(fit: DelayFit, delays_s: Floats) -> Linearised | None:
    """Return the model of a fit at other delays, shape (n,), with weights computed there."""
    rows, linear, robust = fit.model.rows, fit.linear, fit.robust
    shutter = rows.shutter
    line_delay_s = fit.line_delay_s or (shutter and shutter.line_delay_s) or 0.0
    for _ in range(N_WEIGHTINGS):
        known = rows.bent(linear.fitted) * fit.blur
        if shutter is not None:
            rolled = shutter.change_per_line_delay(linear.bend, linear.rate, linear.mixing)
            known += rolled * line_delay_s
        found = fit.model.at(delays_s - fit.row_shift_s, robust, known, linear)
        if found is None:
            return None
        linear, robust = found, cauchy_weights(found.residuals / found.scale)
    return linear


def locate_step(
    fit: DelayFit, step: ClockStep, reach_s: float, correlation_factor: float
) -> tuple[float, float]:
    """Return the instant of a step, near a first guess, by the smallest residuals; and its error.

    While nothing moves, all instants are equally good, and only the noise of the driver differs
    between the delays of both sides: any that leaves hardly more than the smallest residuals is
    possible, also beyond `reach_s` (correlated residuals count for less: the factor is that by
    which they increase the variance of the sides' delays). The increment that contains the step has
    neither delay, so the instant may be one increment off. Both sides share one mixing matrix:
    separate ones would affect the few rows near the step more than the delays do.
    """
    rows, driver = fit.model.rows, fit.model.driver
    mid_s = rows.mid_s
    near = np.flatnonzero(np.abs(mid_s - step.at_s) <= reach_s)
    linear = _fit_at(fit, step.offsets_at(mid_s)) if near.size > 1 else None
    if linear is None:
        return step.at_s, reach_s
    costs, changes = [], []
    for side_s in step.sides_at(mid_s):
        delays_s = side_s - fit.row_shift_s
        begin_s, end_s = (
            np.clip(t + delays_s, driver.start_s, driver.stop_s)
            for t in (rows.start_s, rows.stop_s)
        )
        changes.append(driver.at(end_s) - driver.at(begin_s))
        rest = linear.residuals + linear.fitted - changes[-1] @ linear.mixing.T
        costs.append(np.log1p((rest / linear.scale) ** 2).sum(axis=1))
    share = fit.model.distinct_share(changes[0] - changes[1], np.array(step.step_s))
    total = np.cumsum(share * (costs[0] - costs[1]))
    best = int(near[int(np.argmin(total[near]))])
    best_s = 0.5 * float(mid_s[best] + mid_s[min(best + 1, mid_s.size - 1)])
    is_likely = total - total[best] <= LIKELY_INSTANT * correlation_factor
    apart_s = mid_s[is_likely] - best_s
    return best_s, math.hypot(
        float(np.sqrt(np.mean(apart_s**2))), float(rows.width_s[best]) / math.sqrt(3.0)
    )
