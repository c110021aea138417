"""Which block hides which: the order in which upright boxes are painted, back to front."""

import numpy as np
from numpy.typing import NDArray

from .motion import FloatArray


def paint_order(eye_m: FloatArray, corners_m: FloatArray, outward: FloatArray) -> NDArray[np.int64]:
    """Sort convex footprints so that none is painted over by one that it hides.

    If a side line of A has all of B outside, then the eye decides: outside with B, A cannot hide B
    and goes first; inside, B cannot hide A and goes first. Disjoint rectangles nearly always have
    such a line. Ties are broken by distance.

    Parameters
    ----------
    eye_m : ndarray, shape (2,)
    corners_m : ndarray, shape (n, 4, 2)
        Corner k starts side k.
    outward : ndarray, shape (n, 4, 2)
        Outward normal of each side.

    Returns
    -------
    ndarray of int, shape (n,)
        Indices, farthest first.
    """
    n_blocks = len(corners_m)
    limits = np.einsum("akc,akc->ak", outward, corners_m)
    reach = outward.reshape(-1, 2) @ corners_m.reshape(-1, 2).T
    reach = reach.reshape(n_blocks, 4, n_blocks, 4).min(axis=3)
    is_apart = reach >= limits[:, :, None] - 1e-6
    eye_outside = (outward @ eye_m > limits)[:, :, None]
    first = (is_apart & eye_outside).any(axis=1) | (is_apart & ~eye_outside).any(axis=1).T
    first &= ~first.T
    distance = np.square(corners_m - eye_m).sum(axis=2).min(axis=1)
    by_distance = np.argsort(-distance)
    waits_for = first.T[np.ix_(by_distance, by_distance)]  # [i, j]: j must be painted before i
    order, is_done = [], np.zeros(n_blocks, dtype=bool)
    n_waiting = waits_for.sum(axis=1)
    for _ in range(n_blocks):
        ready = np.flatnonzero((n_waiting == 0) & ~is_done)
        pick = int(ready[0]) if ready.size else int(np.flatnonzero(~is_done)[0])
        is_done[pick] = True
        n_waiting = n_waiting - waits_for[:, pick]
        order.append(by_distance[pick])
    return np.array(order, dtype=np.int64)
