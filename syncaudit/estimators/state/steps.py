"""Find a step of the delay inside an episode: frames lost while the timestamps ran on.

Episodes are too short to measure pieces of them alone. So both sides of the step share the mixing,
and all instants and pairs of delays are tried: with the moments of blocks each is one small
regression. A delay that changes steadily is not a step: both are compared with the observations
(`clock_step`), and where neither is likelier, neither is reported.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from syncaudit.dsp.integral import RunningIntegral
from syncaudit.estimators.delay.clock_step import step_over_drift, why_either
from syncaudit.estimators.delay.fit import DelayFit, fit_delay
from syncaudit.estimators.delay.increments import Increments
from syncaudit.estimators.delay.refusals import MIN_LIKELIHOOD_GAP
from syncaudit.estimators.delay.stepped import ClockStep, locate_step
from syncaudit.estimators.state.parts import PART_STD_PERIODS
from syncaudit.model.arrays import Floats

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
