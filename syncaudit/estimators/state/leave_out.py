"""The error of a delay as parts of the clip tell it: what becomes of it without each of them.

The covariance of a fit knows noise. It does not know that the mixing of joints into pictures, which
is drawn from the same clip, is only nearly a constant plus a linear function of the pose: that
error is the same for all frames of one move and another for the next. Leaving out a fifth of the
clip, and drawing everything anew from the rest, knows both (the delete-group jackknife; Kott, "The
delete-a-group jackknife", J. Official Statistics 17, 2001).
"""

from __future__ import annotations

import math

import numpy as np

from syncaudit.dsp.integral import RunningIntegral
from syncaudit.estimators.delay.fit import DelayFit
from syncaudit.estimators.delay.increments import Increments
from syncaudit.estimators.state.mixtures import fit_mixtures
from syncaudit.estimators.state.search import search_state

__all__ = ["leave_out_std", "weighing_std"]

N_PARTS = 5
# What is found nowhere near without one part (`fit_delay` gives up there) depends on it alone.
LOST_S = 0.5


def leave_out_std(increments: Increments, driver: RunningIntegral, fit: DelayFit) -> float:
    """Return the standard error of a delay in seconds.

    Parameters
    ----------
    increments : Increments
        n rows of what is seen, not of mixtures.
    driver : RunningIntegral
        All channels.
    fit : DelayFit
        Of the whole clip.
    """
    n = increments.values.shape[0]
    off_s = []
    for part in np.array_split(np.arange(n), N_PARTS):
        rest = increments.rows(np.setdiff1d(np.arange(n), part))
        foretold = search_state(rest, driver, np.array([fit.offset_s]))
        again = None
        if foretold is not None:
            _, _, again = fit_mixtures(rest, driver, foretold, start_s=fit.offset_s)
        off_s.append(LOST_S if again is None else again.offset_s - fit.offset_s)
    return math.sqrt((N_PARTS - 1) * float(np.var(off_s)))


def weighing_std(increments: Increments, driver: RunningIntegral, fit: DelayFit) -> float:
    """Return what it does to a delay in seconds which mixtures are trusted.

    They are weighed by the noise that is left in each, which is right for noise. What the mixing or
    a joint that is read late do wrong is no noise: the smallest motion, where little of it is left,
    would rule alone, and coding a video again, which adds noise there and shifts nothing, would
    change the answer. Weighed by the size of the motion alone they give another, and either may be
    right: the error is half of what lies between.
    """
    at_s = np.array([fit.offset_s])
    foretold = search_state(increments, driver, at_s, is_by_size=True)
    again = None
    if foretold is not None:
        _, _, again = fit_mixtures(increments, driver, foretold, start_s=fit.offset_s)
    return 0.5 * (LOST_S if again is None else abs(again.offset_s - fit.offset_s))
