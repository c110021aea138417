"""Measure the slope of a delay's score: the information that steps and errors are based on.

Gauss-Newton approximates the slope of the score by the weighted sum of squared sensitivities. That
includes motion that only the driver senses (vibration, noise, also at rest), which shifts with the
delay like everything else but does not reduce the residuals anywhere. This does not affect the
estimate, but its reported error: the bread of the sandwich (Huber, "Robust statistics", 1981) is
the slope of the score, which is measured from the score itself a little to either side.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from syncaudit.dsp.robust import median
from syncaudit.estimators.delay.model import DelayModel, Linearised
from syncaudit.model.arrays import Floats

# The slope is measured over this part of an increment to either side: far more than the scale of
# vibration, far less than a lobe (for shaking bodies, the slope is then 1 % too small).
SLOPE_SHARE = 0.1
# Smallest followed share of the sensitivity; it is lower only where there is nothing to measure.
MIN_FOLLOWED = 0.1


def followed_share(
    model: DelayModel,
    found: Linearised,
    at: Callable[[Floats], Linearised | None],
    since_s: list[Floats],
) -> Floats:
    """Return which part of the nominal information the score shows, shape (p, p).

    Parameters
    ----------
    model : DelayModel
        The fitted model.
    found : Linearised
        The model at the fitted delay.
    at : callable
        Returns the model at delays changed by its argument, shape (n,), with the same weights.
    since_s : list of ndarray, shape (n,)
        Change of the delay per unit of each of its p parameters.

    Returns
    -------
    ndarray
        ``N^-1/2 A N^-1/2`` with A the slope and N the weighted squares of sensitivities; symmetric,
        eigenvalues from `MIN_FOLLOWED` to 1.
    """
    terms = np.stack(since_s)
    weighted = found.weights * found.sensitivity
    promised = np.einsum("pn,nm,qn->pq", terms, weighted * found.sensitivity, terms)
    apart_s = SLOPE_SHARE * median(model.rows.width_s)
    slope = np.empty_like(promised)
    for k, term in enumerate(terms):
        step = apart_s / float(np.max(np.abs(term)))
        scores = []
        for sign in (-1.0, 1.0):
            there = at(sign * step * term)
            if there is None:
                return np.eye(len(terms))
            scores.append(
                terms @ np.sum(found.weights * there.sensitivity * there.residuals, axis=1)
            )
        slope[k] = (scores[0] - scores[1]) / (2.0 * step)
    inverse = _power(promised, -0.5)
    share = inverse @ (0.5 * (slope + slope.T)) @ inverse
    values, vectors = np.linalg.eigh(share)
    limited: Floats = (vectors * np.clip(values, MIN_FOLLOWED, 1.0)) @ vectors.T
    return limited


def with_slope(normal: Floats, share: Floats) -> Floats:
    """Return normal equations, shape (q, q), with the slope of the score for the first p.

    Their coupling to the others is scaled consistently, so that the equations stay positive
    definite.
    """
    p = share.shape[0]
    root, inverse = _power(normal[:p, :p], 0.5), _power(normal[:p, :p], -0.5)
    scale = np.eye(normal.shape[0])
    scale[:p, :p] = inverse @ _power(share, 0.5) @ root
    return scale.T @ normal @ scale


def _power(matrix: Floats, exponent: float) -> Floats:
    values, vectors = np.linalg.eigh(matrix)
    powered: Floats = (vectors * np.maximum(values, 1e-300) ** exponent) @ vectors.T
    return powered
