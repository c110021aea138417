"""Times that a regular clock would have stamped: an alternative to jittering stamps.

Transport jitter and buffering move stamps, not exposures: a camera that captures evenly is then
better dated by a line through its stamps. Whether it does capture evenly only the content can tell,
so both datings are kept and the estimator takes the one that fits.
"""

from __future__ import annotations

import numpy as np

from syncaudit.detectors.stamps.clock import fit_clock
from syncaudit.detectors.stamps.grid import number_samples
from syncaudit.detectors.stamps.rhythm import MIN_SCATTER_S, rhythm_of
from syncaudit.dsp.robust import spread
from syncaudit.model.arrays import Floats

__all__ = ["regular_times_s"]

MIN_SAMPLES = 20
# Stamps farther than this many sigma from the clock keep their time.
HELD_UP = 5.0


def regular_times_s(times_s: Floats) -> Floats | None:
    """Return evenly spaced times whose median distance from the stamps is zero.

    `times_s`, shape (n,): stamps in seconds, in file order.

    Returns
    -------
    ndarray, shape (n,), or None
        None where the stamps hardly jitter, or where every interval begins anew. Missing samples
        keep their place. Where the clock wanders or the rate changes, the clock is that of the
        neighbourhood.
    """
    if times_s.size < MIN_SAMPLES:
        return None
    steps_s = np.diff(times_s)
    grid = number_samples(steps_s)
    if grid is None or np.any(np.diff(grid.index) <= 0):
        return None
    fit = fit_clock(grid.index, times_s)
    rhythm = rhythm_of(steps_s, fit.residual_s, tick_s=0.0)
    late_s = fit.residual_s
    if rhythm.single_s is not None:
        late_s = rhythm.single_s
    elif not rhythm.is_regular:
        return None
    late_s = late_s - float(np.median(late_s))
    jitter_s = spread(late_s, 0.0)
    if jitter_s < MIN_SCATTER_S:
        return None
    # A loop that was held up is not jitter: an even clock must not lose by it.
    return np.asarray(times_s - np.where(np.abs(late_s) > HELD_UP * jitter_s, 0.0, late_s))
