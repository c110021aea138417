"""Find runs of true flags."""

from __future__ import annotations

import numpy as np

from syncaudit.model.arrays import Bools, Ints


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
