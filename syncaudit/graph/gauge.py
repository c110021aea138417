"""Choose the clock that reference time is read from, and so say who is wrong.

Measurements fix offsets only up to a common shift. The consensus is the clock that leaves the
fewest others outside their tolerance, so that one shifted IMU is told as such and not as "six
cameras are late". Counts are soft: a clock counts with the probability that it is outside, and
candidates that differ by less than half a clock are tied. Where each of them sees somebody surely
outside, ties fall to the clock from which the others exceed their tolerance by the least (in
tolerances, one at most each); then to the more trusted one. Sure distances alone would favour the
vaguest clock, from which nobody is surely off.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

__all__ = ["Spread", "choose_reference", "find_suspects"]

_COUNT_TIE = 0.5
_DISTANCE_TIE = 0.25
_SURE = 1.96

_Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Spread:
    """How far every clock lies from every other over the clip.

    Parameters
    ----------
    offset_s, std_s : ndarray, shape (k, n, n)
        At k instants: correction of clock [c] relative to clock [r], and its standard error.
    """

    offset_s: _Floats
    std_s: _Floats


def choose_reference(
    spread: Spread, tolerance_s: _Floats, members: Sequence[int], trust: Sequence[tuple[int, ...]]
) -> int:
    """Return the clock that consensus takes as reference.

    Parameters
    ----------
    spread : Spread
        Of all clocks.
    tolerance_s : ndarray, shape (n,)
        Of each clock; infinite where it has none.
    members : sequence of int
        Clocks of the component.
    trust : sequence of tuple
        Sort key of each clock; the smallest wins a tie.
    """
    index = np.asarray(members)
    offset = np.abs(spread.offset_s[:, index[:, None], index[None, :]])
    std = spread.std_s[:, index[:, None], index[None, :]]
    tolerance = tolerance_s[index][None, :, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        above = ndtr((offset - tolerance) / std) + ndtr((-offset - tolerance) / std)
    above = np.where(std > 0.0, above, (offset > tolerance).astype(np.float64))
    count = np.max(above, axis=0).sum(axis=0)
    excess = np.maximum(offset - tolerance, 0.0) / tolerance
    distance = np.max(np.minimum(excess, 1.0), axis=0).sum(axis=0)
    sees_outsider = np.any(offset - _SURE * std > tolerance, axis=(0, 1))
    is_tied = count <= count.min() + _COUNT_TIE
    if np.all(sees_outsider[is_tied]):
        is_tied &= distance <= distance[is_tied].min() + _DISTANCE_TIE
    return min((int(i) for i in index[is_tied]), key=lambda i: trust[i])


def find_suspects(
    spread: Spread, tolerance_s: _Floats, members: Sequence[int], reference: int
) -> list[int]:
    """Return the clocks that lie surely outside their tolerance as seen from the reference."""
    suspects = []
    for clock in members:
        excess = (
            np.abs(spread.offset_s[:, clock, reference]) - _SURE * spread.std_s[:, clock, reference]
        )
        if clock != reference and float(np.max(excess)) > tolerance_s[clock]:
            suspects.append(clock)
    return suspects
