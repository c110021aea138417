"""The second in which two signals tell most of their delay."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from syncaudit.estimators.delay.found import DelayFit
from syncaudit.model import SignalExcerpt

__all__ = ["excerpt_of"]

Floats = NDArray[np.float64]

# What people take in at a glance, and long enough for the swing of a body.
TELLING_S = 1.0
# Kept to either side of it, so that raw signals are seen whole; farther off nobody compares.
MAX_BESIDE_S = 1.0
LEAST_BESIDE_S = 0.1


def excerpt_of(fit: DelayFit, *, epoch_ns: int, epochs_s: float) -> SignalExcerpt | None:
    """Return the axis and the second that show most clearly how far apart the two lie.

    The squared offset in standard errors of the second alone: offset squared times the Fisher
    information on it. With a constant beside the delay left free that is the variance of the
    derivative by the delay, each value weighted by its inverse variance: bends tell of a delay,
    while a straight slope might as well lie too high.

    Parameters
    ----------
    fit : DelayFit
        The delay.
    epoch_ns : int
        Zero of its times on the source's clock.
    epochs_s : float
        Target epoch after source epoch.
    """
    order = np.argsort(fit.mid_s, kind="stable")
    mid_s, linear = fit.mid_s[order], fit.linear
    weights, slope = fit.weights[order], fit.sensitivity[order]
    stop = np.searchsorted(mid_s, mid_s + TELLING_S)
    weight, sloped, information = (
        _sums(x, stop) for x in (weights, weights * slope, weights * slope**2)
    )
    drift = 1e-6 * (fit.drift_ppm or 0.0)
    aparts_s = fit.offset_s + epochs_s + drift * (mid_s + 0.5 * TELLING_S - fit.anchor_s)
    told = (information - sloped**2 / (weight + 1e-300)) * aparts_s[:, None] ** 2
    first, axis = np.unravel_index(int(np.argmax(told)), told.shape)
    start_s = float(mid_s[first])
    apart_s = float(aparts_s[first])
    beside_s = min(max(LEAST_BESIDE_S, abs(apart_s)), MAX_BESIDE_S)
    is_near = (mid_s >= start_s - beside_s) & (mid_s <= start_s + TELLING_S + beside_s)
    width_s = fit.model.rows.width_s[order][is_near]
    target = linear.fitted[order][is_near, axis] / width_s
    source = target + linear.residuals[order][is_near, axis] / width_s
    return SignalExcerpt.of(
        mid_s[is_near],
        source,
        target,
        epoch_ns=epoch_ns,
        apart_s=apart_s,
        tells_s=(start_s, start_s + TELLING_S),
    )


def _sums(values: Floats, stop: NDArray[np.intp]) -> Floats:
    """Return the sums of rows from each to before the row at `stop`, shape as given."""
    added = np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(values, axis=0)])
    sums: Floats = added[stop] - added[:-1]
    return sums
