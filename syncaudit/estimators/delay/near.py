"""Measure a part of a clip alone, near the delay of the whole."""

from __future__ import annotations

import numpy as np

from syncaudit.dsp.integral import RunningIntegral
from syncaudit.estimators.delay.fit import DelayFit, fit_delay
from syncaudit.estimators.delay.increments import Increments
from syncaudit.estimators.delay.search import search_delay

__all__ = ["MIN_PIECE_S", "measure_near"]

# Parts are searched this far around the delay of the whole clip.
REACH_S = 0.4
SEARCH_STEP_S = 0.01
# Log-likelihood by which the best lobe beats the second: of a part, which need not stand alone.
MIN_GAP = 6.0
# Of fewer no delay is fitted.
MIN_ROWS = 20
# What is shorter holds too little motion to be believed alone.
MIN_PIECE_S = 3.0


def measure_near(increments: Increments, driver: RunningIntegral, near_s: float) -> DelayFit | None:
    """Return the fit at the best delay near one, or None where no delay is clearly the best."""
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
    if curve.is_at_edge(best):
        return None
    if curve.log_likelihood[best] - curve.runner_up(best) < MIN_GAP:
        return None
    return fit_delay(increments, driver, start_s=float(curve.delays_s[best]))
