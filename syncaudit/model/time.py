"""Convert between stored int64 nanoseconds and computed float64 seconds."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["MAX_SPAN_S", "nanoseconds", "seconds_since"]

# 30 days: longer "seconds" are a wrong unit (conventions, section 1).
MAX_SPAN_S = 30 * 86400.0


def seconds_since(time_ns: ArrayLike, epoch_ns: int) -> NDArray[np.float64]:
    """Return seconds after `epoch_ns`, subtracting as integers first.

    Parameters
    ----------
    time_ns : array_like of int64, shape (n,)
        Stamps in nanoseconds.
    epoch_ns : int
        Where zero is, in the same clock.

    Returns
    -------
    ndarray of float64, shape (n,)
        Seconds since the epoch.

    Raises
    ------
    TypeError
        If the stamps are not integers.
    OverflowError
        If a stamp lies more than 30 days from the epoch.
    """
    stamps = np.asarray(time_ns)
    if stamps.dtype.kind not in "iu":
        raise TypeError(f"stamps must be integer nanoseconds, got {stamps.dtype}")
    # The difference of two int64 may overflow; floats tell whether it would.
    rough = stamps.astype(np.float64) - float(epoch_ns)
    reach_s = 1e-9 * float(np.max(np.abs(rough), initial=0.0))
    if reach_s > MAX_SPAN_S:
        raise OverflowError(
            f"stamps reach {reach_s:.3g} s from the epoch {epoch_ns} ns, more than 30 days: a "
            "wrong unit?"
        )
    return (stamps.astype(np.int64) - np.int64(epoch_ns)).astype(np.float64) * 1e-9


def nanoseconds(seconds: float) -> int:
    """Return a span in seconds as whole nanoseconds, rounded to nearest."""
    return round(seconds * 1e9)
