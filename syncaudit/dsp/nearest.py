"""Find the nearest of ascending times."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from syncaudit.model.arrays import Floats


def nearest(times_s: Floats, wanted_s: Floats) -> NDArray[np.intp]:
    """Return the index of the nearest among ascending times, at least one, for each wanted one.

    Half-way between two, it is the earlier.
    """
    return np.searchsorted(0.5 * (times_s[1:] + times_s[:-1]), wanted_s)
