"""Times that a regular clock would have stamped: an alternative to jittering stamps.

Transport jitter and buffering move stamps, not exposures: a camera that captures evenly is then
better dated by a line through its stamps. Whether it does capture evenly only the content can tell,
so both datings are kept and the estimator takes the one that fits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from syncaudit.detectors.stamp_clock import fit_clock
from syncaudit.detectors.stamp_grid import number_samples

__all__ = ["regular_times_s"]

MIN_SAMPLES = 20
# Jitter below this moves no estimate: the stamps serve as they are.
MIN_JITTER_S = 5e-4


def regular_times_s(times_s: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Return evenly spaced times whose median distance from the stamps is zero.

    Parameters
    ----------
    times_s : ndarray, shape (n,)
        Stamps in seconds, in file order.

    Returns
    -------
    ndarray, shape (n,), or None
        None where the stamps hardly jitter, or follow no regular clock. Missing samples keep
        their place.
    """
    if times_s.size < MIN_SAMPLES:
        return None
    grid = number_samples(np.diff(times_s))
    if grid is None or grid.is_bunched or np.any(np.diff(grid.index) <= 0):
        return None
    fit = fit_clock(grid.index, times_s)
    late_s = fit.residual_s - float(np.median(fit.residual_s))
    if 1.4826 * float(np.median(np.abs(late_s))) < MIN_JITTER_S:
        return None
    return np.asarray(times_s - late_s)
