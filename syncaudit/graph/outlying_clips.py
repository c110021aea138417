"""Give clips that disagree with all others of their recording less weight."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from syncaudit.graph.clock_model import Readings
from syncaudit.graph.wander import Belief

__all__ = ["first_weights", "weighed", "weights_from"]

_Floats = NDArray[np.float64]

# Student's t of the clips' errors: single clips may be wrong.
_FREEDOM = 4.0
# Standard errors that nothing is doubted within.
_TRUSTED = 2.5
# Clips on either side that a clip is first compared with.
_N_NEAR = 3
# Fewer clips than these cannot tell which of them is wrong.
_N_LEAST = 5


def weighed(readings: Readings, weights: _Floats) -> Readings:
    """Return readings whose precisions are multiplied by weights, shape (n,)."""
    return Readings(
        times_s=readings.times_s,
        offsets_s=readings.offsets_s,
        precision=readings.precision * weights,
        step_std_s=readings.step_std_s,
    )


def weights_from(belief: Belief, readings: Readings, weights: _Floats) -> _Floats:
    """Return weights by what all other clips say of each, shape (n,).

    Parameters
    ----------
    belief : Belief
        From the readings with `weights`.
    readings : Readings
        As claimed.
    weights : ndarray, shape (n,)
        Weights so far.
    """
    is_read = readings.precision > 0.0
    claimed = np.where(is_read, 1.0 / np.where(is_read, readings.precision, 1.0), 0.0)
    widened = (claimed * (1.0 / weights - 1.0))[:, None] * belief.noise.scale**2
    variance = np.maximum(belief.smoothed.deleted_variance - widened, claimed[:, None])
    apart = belief.smoothed.deleted_s
    z2 = np.divide(apart**2, variance, out=np.zeros_like(apart), where=variance > 0.0)
    return _student(z2 @ belief.share)


def first_weights(readings: Readings) -> _Floats:
    """Return low weights for clips that agree with neither the ones before nor the ones after.

    A walk of unknown strength could follow single wrong clips anywhere. What lies about as far off
    as most clips do, as with a clock that wanders much, keeps its weight.
    """
    known = np.flatnonzero(readings.precision)
    weights = np.ones(readings.times_s.size)
    n = known.size
    if n < _N_LEAST:
        return weights
    offsets = readings.offsets_s[known]
    apart = np.full((2, n), np.inf)
    for side in range(2):
        row = offsets if side == 0 else offsets[::-1]
        for k in (2, *range(_N_NEAR, min(n, _N_NEAR + 1))):
            apart[side, k] = abs(row[k] - np.median(row[max(0, k - _N_NEAR) : k]))
        windows = np.lib.stride_tricks.sliding_window_view(row, _N_NEAR)[:-1]
        apart[side, _N_NEAR:] = np.abs(row[_N_NEAR:] - np.median(windows, axis=1))
    nearer = np.minimum(apart[0], apart[1, ::-1])
    usual = np.median(nearer[np.isfinite(nearer)])
    precision = readings.precision[known]
    is_far = nearer**2 > _TRUSTED**2 * (1.0 / precision + (1.5 * usual) ** 2)
    weights[known] = np.where(is_far, _student(nearer**2 * precision), 1.0)
    return weights


def _student(z2: _Floats) -> _Floats:
    """Return Student's weights of what lies beyond some errors; what lies within keeps its own."""
    return np.minimum((_FREEDOM + _TRUSTED**2) / (_FREEDOM + z2), 1.0)
