"""Test whether one delay holds: pieces of the clip, halves of the view, a step, a drift.

The covariance of a fit accounts for noise. It does not account for the mixing of joints into
images, which is fitted to the same clip and is only nearly a constant plus a linear function of the
pose: its error is the same for all frames of one move and different for the next. Leaving out a
fifth of the clip, and fitting everything anew to the rest, accounts for both (the delete-group
jackknife; Kott, "The delete-a-group jackknife", J. Official Statistics 17, 2001).

A step of the delay means frames lost while the timestamps ran on. Episodes are too short to measure
pieces of them alone. So both sides of the step share the mixing, and all instants and pairs of
delays are tried: with the moments of blocks each is one small regression. A delay that changes
steadily is not a step: both are compared with the observations (`clock_step`), and where neither is
likelier, neither is reported.

A drift is weighed against what clocks do. Within a clip of seconds, the drift of a robot's camera
is known to some hundred ppm at best, and quartz keeps to a tenth of that. So a measured drift is
evidence between two hypotheses: a crystal, and a rate that is wrong by anything up to that of the
worst clock. What follows for the drift is a mixture of both, weighted by their posterior odds (Kass
and Raftery, "Bayes factors", J. Am. Stat. Assoc. 90, 1995, doi:10.1080/01621459.1995.10476572):
neither a drift of two standard errors that a good clock shows now and then, nor no drift where a
wrong rate is as likely.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from scipy.stats import t as student_t

from syncaudit.dsp.integral import RunningIntegral
from syncaudit.estimators.delay.clock_step import (
    USUAL_DRIFT_PPM,
    WRONG_RATE,
    ClockStep,
    locate_step,
    step_over_drift,
    why_either,
)
from syncaudit.estimators.delay.fit import DelayFit, fit_delay
from syncaudit.estimators.delay.increments import Increments
from syncaudit.estimators.delay.measure import MIN_ROWS
from syncaudit.estimators.delay.refusals import MIN_LIKELIHOOD_GAP, why_no_clock
from syncaudit.estimators.state.search import fit_mixtures, search_state
from syncaudit.model import PairMeasurement
from syncaudit.model.arrays import Floats

# Pieces of the clip and halves of the view may differ by this many standard errors. Where the arm
# is near or far the mixing differs slightly, which shifts each by a share of a period.
N_PARTS = 5
MAX_PART_Z = 4.0
PART_STD_PERIODS = 0.15
N_LEFT_OUT = 5
# Error assumed where no delay is found nearby without one part (`fit_delay` gives up there): the
# delay then depends on that part alone.
LOST_S = 0.5

N_BLOCKS = 12
# Blocks that either side needs, delays tried around the common one, and their distance.
MIN_BLOCKS = 2
REACH_PERIODS = 8
STEPS_PER_PERIOD = 2
RIDGE = 1e-3
# Log-likelihood, in units of independent values, that a step must gain: three parameters.
MIN_GAIN = 12.0
# A step is at least this many standard errors, including the mixing error of either side.
MIN_Z = 4.0

# Rates tried, evenly spaced on a logarithmic scale: nothing is known of their magnitude.
N_RATES = 64


def why_no_line(parts: list[DelayFit], slower_s: float, *, most_ppm: float) -> str | None:
    """Return why parts that disagree are not a drifting clock, or None where they are."""
    at_s, delays_s, stds_s = (
        np.array([getattr(part, name) for part in parts])
        for name in ("anchor_s", "offset_s", "offset_std_s")
    )
    stds_s = np.hypot(stds_s, PART_STD_PERIODS * slower_s)
    at_s = at_s - np.average(at_s, weights=stds_s**-2.0)
    slope_std = float(np.sum((at_s / stds_s) ** 2)) ** -0.5
    slope = slope_std**2 * float(np.sum(at_s * delays_s / stds_s**2))
    straight = [
        replace(part, offset_s=part.offset_s - slope * float(since_s))
        for part, since_s in zip(parts, at_s, strict=True)
    ]
    why = why_apart(straight, slower_s, "parts of the clip")
    if why is not None:
        return why
    drift = {"drift_ppm": 1e6 * slope, "drift_std_ppm": 1e6 * slope_std}
    return why_no_clock(drift, most_ppm=most_ppm)


def delays_of_parts(
    increments: Increments, reduced: RunningIntegral, fit: DelayFit
) -> list[DelayFit]:
    """Return the delays of pieces of the clip, with the mixing of the whole."""
    n = increments.values.shape[0]
    pieces = [
        fit_delay(increments.rows(rows), reduced, start_s=fit.offset_s)
        for rows in np.array_split(np.arange(n), min(N_PARTS, n // MIN_ROWS))
    ]
    return [piece for piece in pieces if piece is not None]


def delays_of_halves(
    increments: Increments, driver: RunningIntegral, fit: DelayFit
) -> list[DelayFit]:
    """Return the delays of two halves of the mixtures."""
    if increments.values.shape[1] < 2:
        return []
    halves = [
        fit_delay(
            replace(
                increments, values=increments.values[:, k::2], weights=increments.weights[:, k::2]
            ),
            driver,
            start_s=fit.offset_s,
        )
        for k in range(2)
    ]
    return [half for half in halves if half is not None]


def why_apart(parts: list[DelayFit], slower_s: float, noun: str) -> str | None:
    """Return which parts of the evidence have another delay, or None."""
    own_s = PART_STD_PERIODS * slower_s
    for k, part in enumerate(parts):
        for other in parts[:k]:
            apart_s = abs(part.offset_s - other.offset_s)
            std_s = math.hypot(
                math.hypot(part.offset_std_s, own_s), math.hypot(other.offset_std_s, own_s)
            )
            if apart_s > MAX_PART_Z * std_s:
                return (
                    f"{noun} disagree by {1e3 * apart_s:.0f} ± {1e3 * std_s:.0f} ms: something "
                    "else moves, or the delay changes"
                )
    return None


def leave_out_std(increments: Increments, driver: RunningIntegral, fit: DelayFit) -> float:
    """Return the jackknife error of a delay in seconds, from the observed columns, not mixtures."""
    n = increments.values.shape[0]
    off_s = []
    for part in np.array_split(np.arange(n), N_LEFT_OUT):
        rest = increments.rows(np.setdiff1d(np.arange(n), part))
        predicted = search_state(rest, driver, np.array([fit.offset_s]))
        again = None
        if predicted is not None:
            _, _, again = fit_mixtures(rest, driver, predicted, start_s=fit.offset_s)
        off_s.append(LOST_S if again is None else again.offset_s - fit.offset_s)
    return math.sqrt((N_LEFT_OUT - 1) * float(np.var(off_s)))


def weighing_std(increments: Increments, driver: RunningIntegral, fit: DelayFit) -> float:
    """Return the error of a delay, in seconds, due to the choice of the mixtures' weights.

    Mixtures are weighted by the noise left in each, which is right for noise. Errors of the mixing,
    or of a joint that is read late, are not noise: the smallest motion, where few of them remain,
    would dominate, and recoding a video, which adds noise there and shifts nothing, would change
    the answer. Weights by the size of the motion alone give another delay, and either may be right:
    the error is half of the difference.
    """
    at_s = np.array([fit.offset_s])
    predicted = search_state(increments, driver, at_s, is_by_size=True)
    again = None
    if predicted is not None:
        _, _, again = fit_mixtures(increments, driver, predicted, start_s=fit.offset_s)
    return 0.5 * (LOST_S if again is None else abs(again.offset_s - fit.offset_s))


def find_shared_step(
    mixed: Increments,
    driver: RunningIntegral,
    fit: DelayFit,
    *,
    seen: Increments,
    period_s: float,
    independent: float,
) -> tuple[ClockStep | None, str | None]:
    """Look for one step of the delay.

    Parameters
    ----------
    mixed : Increments
        n rows of mixtures of the observed columns, computed at one delay.
    driver : RunningIntegral
        p channels.
    fit : DelayFit
        One delay for all mixtures.
    seen : Increments
        Columns that the mixtures combine. Mixtures were computed at one delay and underestimate a
        drift.
    period_s : float
        Of the frames.
    independent : float
        Ratio of independent to all values.

    Returns
    -------
    ClockStep or None
        None where one delay describes the episode as well, or a drift better.
    str or None
        Why neither a step nor a drift can be reported.
    """
    found = _best_step(mixed, driver, fit, period_s)
    if found is None or found[1] * independent < MIN_GAIN:
        return None, None
    step = found[0]
    if abs(step.step_s) < MIN_Z * step.step_std_s:
        return None, None
    gain, drift_ppm = _over_drift(step, seen, driver, fit)
    if abs(gain) >= MIN_LIKELIHOOD_GAP:
        return (step if gain > 0.0 else None), None
    return None, why_either(drift_ppm, fit.span_s)


def without_step(increments: Increments, step: ClockStep) -> Increments:
    """Return increments as if the clock had not stepped: those after it have the delay before."""
    shift_s = step.step_s * (increments.mid_s >= step.at_s)
    return replace(
        increments, start_s=increments.start_s + shift_s, stop_s=increments.stop_s + shift_s
    )


def why_a_step_as_well(
    mixed: Increments, driver: RunningIntegral, fit: DelayFit, *, seen: Increments, period_s: float
) -> str | None:
    """Return why a drift beyond that of quartz may as well be a step, or None."""
    found = _best_step(mixed, driver, fit, period_s)
    if found is None:
        return None
    gain, drift_ppm = _over_drift(found[0], seen, driver, fit)
    return None if gain <= -MIN_LIKELIHOOD_GAP else why_either(drift_ppm, fit.span_s)


def _over_drift(
    step: ClockStep, seen: Increments, driver: RunningIntegral, fit: DelayFit
) -> tuple[float, float]:
    """Return the log-likelihood gain of a step over a drift, and the drift in ppm."""
    level = fit_delay(seen, driver, start_s=fit.offset_s)
    drifting = level and fit_delay(
        seen, driver, start_s=level.offset_s, with_drift=True, known=level
    )
    if level is None or drifting is None:
        return math.inf, 0.0
    return step_over_drift(level, step, drifting), drifting.drift_ppm or 0.0


def _best_step(
    increments: Increments, driver: RunningIntegral, fit: DelayFit, period_s: float
) -> tuple[ClockStep, float] | None:
    """Return the likeliest step, and its log-likelihood gain over one delay.

    The gain assumes independent values. None where too few rows are covered at all delays tried.
    """
    n_side = REACH_PERIODS * STEPS_PER_PERIOD
    delays_s = fit.offset_s + period_s / STEPS_PER_PERIOD * np.arange(-n_side, n_side + 1)
    low, high = delays_s[0], delays_s[-1]
    kept = driver.covers(increments.start_s + low, increments.stop_s + high)
    if int(kept.sum()) < 3 * N_BLOCKS:
        return None
    rows = increments.rows(kept)
    blocks = np.array_split(np.arange(rows.values.shape[0]), N_BLOCKS)
    change = np.stack([driver.at(rows.stop_s + d) - driver.at(rows.start_s + d) for d in delays_s])
    turned = np.swapaxes(change, 1, 2)
    gram = np.cumsum([turned[:, :, b] @ change[:, b] for b in blocks], axis=0)
    cross = np.cumsum([turned[:, :, b] @ rows.values[b] for b in blocks], axis=0)
    energy = np.sum(rows.values**2, axis=0)
    n_rows = rows.values.shape[0]
    best: tuple[float, int, int, int] | None = None
    alone = -np.inf
    for split in range(MIN_BLOCKS, N_BLOCKS - MIN_BLOCKS + 1):
        both = gram[split - 1][:, None] + (gram[-1] - gram[split - 1])[None, :]
        seen = cross[split - 1][:, None] + (cross[-1] - cross[split - 1])[None, :]
        likelihood = _likelihood(both, seen, energy, n_rows)
        alone = max(alone, float(np.diag(likelihood).max()))
        most = int(np.argmax(likelihood))
        if best is None or likelihood.flat[most] > best[0]:
            best = (float(likelihood.flat[most]), split, *divmod(most, delays_s.size))
    if best is None:
        return None
    most_likely, split, before, after = best
    border_s = float(rows.start_s[blocks[split][0]])
    # The step may lie anywhere in the two blocks adjoining it: half of each is left out.
    spare_s = 0.5 * float(np.ptp(rows.mid_s)) / N_BLOCKS
    is_before, is_after = (
        increments.mid_s < border_s - spare_s,
        increments.mid_s >= border_s + spare_s,
    )
    first = fit_delay(increments.rows(is_before), driver, start_s=float(delays_s[before]))
    second = fit_delay(increments.rows(is_after), driver, start_s=float(delays_s[after]))
    if first is None or second is None:
        return None
    step = ClockStep(
        at_s=border_s,
        before_s=first.offset_s,
        before_std_s=math.hypot(first.offset_std_s, PART_STD_PERIODS * period_s),
        after_s=second.offset_s,
        after_std_s=math.hypot(second.offset_std_s, PART_STD_PERIODS * period_s),
    )
    factor = max(first.correlation_factor, second.correlation_factor)
    at_s, at_std_s = locate_step(fit, step, 2.0 * spare_s, factor)
    # Errors of the mixing last about a second, the length of a move.
    return replace(step, at_s=at_s, at_std_s=math.hypot(at_std_s, spare_s)), most_likely - alone


def _likelihood(gram: Floats, cross: Floats, energy: Floats, n_rows: int) -> Floats:
    """Return the log-likelihood, shape (...), from moments (..., p, p) and (..., p, m)."""
    own = np.einsum("...pp->...p", gram)
    held = gram + (RIDGE * own + 1e-12)[..., None] * np.eye(gram.shape[-1])
    left = energy - np.sum(np.linalg.solve(held, cross) * cross, axis=-2)
    return np.asarray(-0.5 * n_rows * np.log(np.maximum(left, 1e-30)).sum(axis=-1))


def with_likely_drift(
    record: PairMeasurement,
    drift_ppm: float,
    std_ppm: float,
    *,
    most_ppm: float,
    is_uneven: bool,
) -> PairMeasurement:
    """Return a record with the drift to be expected, where the evidence favours a wrong rate.

    Parameters
    ----------
    record : PairMeasurement
        Without a drift.
    drift_ppm, std_ppm : float
        Measured drift and its standard error, whose freedom is that of the jackknife.
    most_ppm : float
        Rate error of the worst clocks of this kind.
    is_uneven : bool
        Whether parts of the clip contradict one delay: quartz is out of the question then.
    """
    rates = np.geomspace(USUAL_DRIFT_PPM, most_ppm, N_RATES)
    by_wrong = student_t.pdf(
        (drift_ppm - np.concatenate([-rates, rates])) / std_ppm, N_LEFT_OUT - 1
    ).mean()
    usual_ppm = math.hypot(std_ppm, USUAL_DRIFT_PPM)
    by_quartz = student_t.pdf(drift_ppm / usual_ppm, N_LEFT_OUT - 1) * std_ppm / usual_ppm
    if by_wrong <= by_quartz:
        return record
    wrong, usual = WRONG_RATE * by_wrong, (1.0 - WRONG_RATE) * by_quartz
    share = 1.0 if is_uneven else float(wrong / (wrong + usual))
    spread_ppm2 = share * (std_ppm**2 + (1.0 - share) * drift_ppm**2)
    return replace(
        record,
        drift_ppm=share * drift_ppm,
        drift_std_ppm=math.sqrt(spread_ppm2 + (1.0 - share) * USUAL_DRIFT_PPM**2),
    )
