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
    places = np.flatnonzero(flags)
    if not places.size:
        return places, places
    breaks = np.flatnonzero(np.diff(places) > 1)
    starts = places[np.concatenate(([0], breaks + 1))]
    stops = places[np.concatenate((breaks, [places.size - 1]))] + 1
    return starts, stops
