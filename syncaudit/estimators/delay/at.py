"""The model of a fit at other delays, which need not be alike through the clip."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from syncaudit.dsp.robust import cauchy_weights
from syncaudit.estimators.delay.fit import DelayFit
from syncaudit.estimators.delay.model import Linearised
from syncaudit.estimators.delay.stepped import ClockStep

__all__ = ["fit_at", "locate_step"]

Floats = NDArray[np.float64]

# Weights settle to a few percent within as many rounds.
N_WEIGHTINGS = 5
# Log-likelihood by which 95 % of true places of a change fall behind the best: -ln(1 - 0.95^(1/2)),
# more than of a parameter that is fitted, for the best of many places is no typical one (Siegmund,
# "Confidence sets in change-point problems", Int. Stat. Review 56, 1988, doi:10.2307/1403360).
LIKELY_INSTANT = 3.68


def fit_at(fit: DelayFit, delays_s: Floats) -> Linearised | None:
    """Return the model of a fit at other delays, shape (n,), with weights that belong to these."""
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
    """Return the border near that of a step that leaves the smallest residuals, and its error.

    While nothing moves no border is better than another: any may be the one that leaves hardly more
    than the least (residuals that hang together count for less: the variance of the sides'
    delays is larger by the factor). Both sides see through one mount:
    the mixing matrices of either alone would make more of the few rows at the border than their
    delays do.
    """
    rows, driver = fit.model.rows, fit.model.driver
    mid_s = rows.mid_s
    near = np.flatnonzero(np.abs(mid_s - step.at_s) <= reach_s)
    linear = fit_at(fit, step.offsets_at(mid_s)) if near.size > 1 else None
    if linear is None:
        return step.at_s, reach_s
    costs = []
    for side_s in step.sides_at(mid_s):
        delays_s = side_s - fit.row_shift_s
        begin_s, end_s = (
            np.clip(t + delays_s, driver.start_s, driver.stop_s)
            for t in (rows.start_s, rows.stop_s)
        )
        change = driver.at(end_s) - driver.at(begin_s)
        rest = linear.residuals + linear.fitted - change @ linear.mixing.T
        costs.append(np.log1p((rest / linear.scale) ** 2).sum(axis=1)[near])
    total = np.cumsum(costs[0]) + costs[1].sum() - np.cumsum(costs[1])
    best = int(near[int(np.argmin(total))])
    best_s = 0.5 * float(mid_s[best] + mid_s[min(best + 1, mid_s.size - 1)])
    likely = near[total - total.min() <= LIKELY_INSTANT * correlation_factor]
    apart_s = mid_s[likely] - best_s
    return best_s, float(np.sqrt(np.mean(apart_s**2)))
