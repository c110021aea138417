"""The model of a fit at other delays, which need not be alike through the clip."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from syncaudit.dsp.robust import cauchy_weights
from syncaudit.estimators.delay_fit import DelayFit
from syncaudit.estimators.delay_model import Linearised

__all__ = ["fit_at"]

Floats = NDArray[np.float64]

# Weights settle to a few percent within as many rounds.
N_WEIGHTINGS = 5


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
