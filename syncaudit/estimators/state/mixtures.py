"""Fit a delay to the mixtures of what is seen that the state foretells best.

Mixtures that were drawn at one delay lean towards it: where the search ends 100 ms from the truth,
one fit goes only half of the way. So they are drawn anew at the delay that they give.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from syncaudit.dsp.integral import RunningIntegral
from syncaudit.estimators.delay.fit import DelayFit, fit_delay
from syncaudit.estimators.delay.increments import Increments
from syncaudit.estimators.state.search import Prediction, search_state

__all__ = ["fit_mixtures"]

# Mixtures are drawn anew until the delay moves by less than this part of its error.
NEAR_STD = 0.25
MAX_ROUNDS = 5


def fit_mixtures(
    increments: Increments, driver: RunningIntegral, foretold: Prediction, *, start_s: float
) -> tuple[Increments, NDArray[np.float64], DelayFit | None]:
    """Fit the delay.

    Parameters
    ----------
    increments : Increments
        n rows of what is seen, m columns.
    driver : RunningIntegral
        p channels.
    foretold : Prediction
        At `start_s`.
    start_s : float
        Delay found by the search.

    Returns
    -------
    mixed : Increments
        The mixtures, r columns.
    mixing : ndarray, shape (p, r)
        What the driver's channels contribute to them.
    fit : DelayFit or None
        None where `fit_delay` finds none.
    """
    at_s = start_s
    for _ in range(MAX_ROUNDS):
        values = increments.values @ foretold.mixtures
        mixed = replace(increments, values=values, weights=np.ones_like(values))
        fit = fit_delay(mixed, driver, start_s=at_s)
        if fit is None or abs(fit.offset_s - at_s) < NEAR_STD * fit.offset_std_s:
            break
        at = np.array([fit.offset_s])
        again = search_state(increments, driver, at, is_by_size=foretold.is_by_size)
        if again is None:
            break
        at_s, foretold = fit.offset_s, again
    return mixed, foretold.mixing, fit
