"""Find whether, and where, a series changed its level."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from syncaudit.model.arrays import Floats

# Fewer values cannot show anything.
_FEWEST = 8
# A shorter part could be a single outlier.
_SHORTEST = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePoint:
    """The most likely place at which a series changed its level."""

    index: int  # first value of the later part
    # Medians of both parts.
    before: float
    after: float
    # Upper bound on the probability of a change as clear as this one if there is none.
    chance: float


def find_change(values: Sequence[float]) -> ChangePoint | None:
    """Return the most likely change of level of independent, nearly normal values.

    Student's t between both parts, largest over all places that leave three values on either side,
    with its probability times the number of these places (Bonferroni; after K. J. Worsley, "On the
    likelihood ratio test for a shift in location of normal populations", 1979). A slow trend is
    reported as a change in its middle. None for fewer than eight values, or if all are equal.
    """
    from scipy.stats import t as student

    x = np.asarray(values, dtype=np.float64)
    n = x.size
    if n < _FEWEST or np.ptp(x) == 0.0:
        return None
    x = (x - x.mean()) / np.ptp(x)
    first = np.arange(1, n, dtype=np.float64)
    sums = np.cumsum(x)[:-1]
    # The part of the sum of squares that a change explains, and the part that it leaves.
    explained = sums**2 * n / (first * (n - first))
    explained[: _SHORTEST - 1] = explained[n - _SHORTEST :] = 0.0
    index = int(np.argmax(explained)) + 1
    left = max(float(np.sum(x**2)) - float(explained[index - 1]), 1e-24)
    statistic = math.sqrt(float(explained[index - 1]) * (n - 2) / left)
    n_places = n - 2 * _SHORTEST + 1
    return _at(values, index, n_places * 2.0 * float(student.sf(statistic, n - 2)))


def find_change_of_shares(values: Sequence[float]) -> ChangePoint | None:
    """Return the most likely change of level of independent shares, by their ranks.

    Pettitt's statistic K is the largest of ``|sum_i<t sum_j>=t sign(x_j - x_i)|`` over all t, with
    ``chance = 2 exp(-6 K^2 / (n^3 + n^2))`` (A. N. Pettitt, "A non-parametric approach to the
    change-point problem", 1979). Most shares are 0, and ties make the test conservative. None as
    for `find_change`.
    """
    from scipy.stats import rankdata

    x = np.asarray(values, dtype=np.float64)
    n = x.size
    if n < _FEWEST:
        return None
    # A sum of signs over both parts is one of the ranks before t: 2 R_t - t (n + 1).
    ranks: Floats = np.cumsum(rankdata(x))[:-1]
    statistic = np.abs(2.0 * ranks - np.arange(1, n) * (n + 1))
    index = int(np.argmax(statistic)) + 1
    largest = float(statistic[index - 1])
    if largest == 0.0:
        return None
    return _at(values, index, 2.0 * math.exp(-6.0 * largest**2 / (n**3 + n**2)))


def _at(values: Sequence[float], index: int, chance: float) -> ChangePoint:
    return ChangePoint(
        index=index,
        before=float(np.median(values[:index])),
        after=float(np.median(values[index:])),
        chance=min(1.0, chance),
    )
