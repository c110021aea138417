"""Find sources of intervals that contradict the others: lights that several frames show."""

from __future__ import annotations

import numpy as np
from scipy.stats import binom

from syncaudit_calibration.adjustment import Adjustment
from syncaudit_calibration.observations import Observations

__all__ = ["contradicted_intervals"]

# Intervals bound a clock the sharper the nearer a flash is to their ends, so that wrong ones that
# do not stand out move it. Now and then one is of another light; more than one in ten is a light
# that is on in several frames, and was not when the frame that shows most of it was exposed.
# (Cameras of one rate may agree on such frames all the same.)
MAX_SHARE = 0.1
MAX_CHANCE = 0.01


def contradicted_intervals(observations: Observations, adjustment: Adjustment) -> dict[str, str]:
    """Return the sources of intervals of which too many cannot be, with words for it.

    Parameters
    ----------
    observations : Observations
        The equations.
    adjustment : Adjustment
        Their solution.

    Returns
    -------
    dict of str to str
        Reason per source; empty where all is well.
    """
    refused = {}
    for k, name in enumerate(observations.sources):
        own = observations.source == k
        if not np.all(observations.half_s[own] > 0.0):
            continue
        n, n_out = int(own.sum()), int(np.count_nonzero(own & ~adjustment.is_used))
        if binom.sf(n_out - 1, n, MAX_SHARE) < MAX_CHANCE:
            refused[name] = (
                f"{n_out} of {n} flashes in {name} contradict the others: the light may come "
                "and go slowly or be on in several frames (a screen, a bulb). Use a sharper one"
            )
    return refused
