"""How fast the score of a delay really falls: the information that steps and errors rest on.

Gauss and Newton take the slope of the score for the weighted sum of squared sensitivities. That
counts what the driver alone feels as well (vibration, noise, also of a rest): it turns with the
delay like everything else, but brings the residuals no nearer to zero anywhere. The estimate is as
good as it would be without, its claimed error is not: the bread of the sandwich (Huber, "Robust
statistics", 1981) is the slope of the score, which the score itself tells a little to either side.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from syncaudit.dsp.robust import median
from syncaudit.estimators.delay.model import DelayModel, Linearised
from syncaudit.model.arrays import Floats

__all__ = ["followed_share", "with_slope"]

# The slope is taken over this part of an increment to either side: far more than what vibrates,
# far less than a lobe (of shaking bodies it is 1 % too small by then).
SLOPE_SHARE = 0.1
# Less than this share of the sensitivity is followed only where there is nothing to measure.
MIN_FOLLOWED = 0.1


def followed_share(
    model: DelayModel,
    found: Linearised,
    at: Callable[[Floats], Linearised | None],
    since_s: list[Floats],
) -> Floats:
    """Return which part of the promised information the score shows, shape (p, p).

    Parameters
    ----------
    model : DelayModel
        What was fitted.
    found : Linearised
        Where it was fitted.
    at : callable
        Returns the model at delays that are changed by so much, shape (n,), weights kept.
    since_s : list of ndarray, shape (n,)
        What a unit of each of the p parameters of the delay adds to it.

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
    """Return normal equations, shape (q, q), with the slope of the score for the first p of them.

    All others, and how they depend on those, are scaled alike, so that they stay positive definite.
    """
    p = share.shape[0]
    root, inverse = _power(normal[:p, :p], 0.5), _power(normal[:p, :p], -0.5)
    scale = np.eye(normal.shape[0])
    scale[:p, :p] = inverse @ _power(share, 0.5) @ root
    sloped: Floats = scale.T @ normal @ scale
    return sloped


def _power(matrix: Floats, exponent: float) -> Floats:
    values, vectors = np.linalg.eigh(matrix)
    powered: Floats = (vectors * np.maximum(values, 1e-300) ** exponent) @ vectors.T
    return powered
