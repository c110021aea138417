"""Count the stamps that repeat or go back."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from syncaudit.model import StampAudit

__all__ = ["order_of"]


def order_of(steps_s: NDArray[np.float64]) -> StampAudit:
    """Return the audit of stamps whose order is all that was looked at.

    Parameters
    ----------
    steps_s : ndarray, shape (n - 1,)
        Intervals; at least one.
    """
    is_ordered = float(steps_s.min()) > 0.0
    return StampAudit(
        samples=steps_s.size + 1,
        duplicates=0 if is_ordered else int(np.count_nonzero(steps_s == 0.0)),
        backwards=0 if is_ordered else int(np.count_nonzero(steps_s < 0.0)),
        max_gap_s=float(steps_s.max()),
    )
