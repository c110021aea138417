"""Find indices: the nearest of ascending times, and runs of true flags."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from syncaudit.model.arrays import Bools, Floats, Ints


def runs_of(flags: Bools) -> tuple[Ints, Ints]:
    """Return the first index and the stop index of every run of true flags.

    Parameters
    ----------
    flags : ndarray of bool, shape (n,)

    Returns
    -------
    starts, stops : ndarray of int, shape (k,)
        In order; a run covers ``flags[start:stop]``.
    """
    edges = np.flatnonzero(np.diff(flags, prepend=False, append=False))
    return edges[::2], edges[1::2]


def nearest(times_s: Floats, wanted_s: Floats) -> NDArray[np.intp]:
    """Return the index of the nearest among ascending times, at least one, for each wanted one.

    Half-way between two, it is the earlier.
    """
    return np.searchsorted(0.5 * (times_s[1:] + times_s[:-1]), wanted_s)
