"""Find whether timestamps themselves show a clock step that the content of a clip shows."""

from __future__ import annotations

import numpy as np

from syncaudit.dsp.robust import mad_std
from syncaudit.model.arrays import Ints

# A jump is this many standard deviations of intervals high: robust ones, beside which delays of
# transport have long tails.
_CLEAR = 6.0
# Standard errors by which its size may differ from that of the step.
_SAME_SIZE = 4.0
_FEWEST = 24


def shows_jump(time_ns: Ints, *, size_s: float, std_s: float, near_ns: int, reach_s: float) -> bool:
    """Return whether timestamps jump as far as their clock is said to step.

    It is the only interval of the stream that is half as far off: beside lost samples or bursts,
    which happen at any time, one of that size would prove nothing. Timestamps made up from a count
    never show when samples were lost.

    Parameters
    ----------
    time_ns : ndarray of int64, shape (n,)
        Timestamps of one signal in file order.
    size_s, std_s : float
        How far timestamps are said to jump ahead, and the standard error of that.
    near_ns : int
        Timestamp at which they are said to jump.
    reach_s : float
        How far from it they may.
    """
    if time_ns.size < _FEWEST:
        return False
    intervals_s = 1e-9 * np.diff(time_ns).astype(np.float64)
    excess_s = intervals_s - np.median(intervals_s)
    scatter_s = mad_std(excess_s)
    if abs(size_s) < _CLEAR * scatter_s:
        return False
    odd = np.flatnonzero(np.abs(excess_s) > 0.5 * abs(size_s))
    if odd.size != 1:
        return False
    at = int(odd[0])
    is_near = bool(np.any(np.abs(time_ns[at : at + 2] - near_ns) <= 1e9 * reach_s))
    apart_s = abs(float(excess_s[at]) - size_s)
    return is_near and apart_s <= _SAME_SIZE * float(np.hypot(std_s, scatter_s))
