"""Estimate how high a search peaks by chance, from the same search on unrelated evidence.

Reversed in time, a signal keeps its spectrum, its bursts and its rests, and loses what it has in
common with another. The best delay must explain clearly more than the best of as many delays then
does. Motion that looks the same both ways (a pure oscillation, a single swing) has a shape that is
not evidence of one delay, and cannot be distinguished from chance either.

Nor have the two anything in common at delays far from the true one, unless their motion never ends
repeating itself: an engine shakes every camera at the same few frequencies, each with a phase of
its own, and some delay always comes close to all of these phases. There, others far away do too.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from syncaudit.model.arrays import Floats

# Chance searches: more estimate the height better, and each costs as much as the search itself.
N_CHANCE = 3
# Share of unrelated evidence that may peak this high; other tests refuse most of it (gap to the
# next delay, gain, bands), and together they accept less than one in a thousand.
ALLOWED = 0.005
# Smallest number of peaks that the slope is computed with.
MIN_PEAKS = 8


def chance_orders(n_rows: int) -> list[NDArray[np.intp]]:
    """Return orders of evenly spaced rows that have nothing in common with the original one.

    They run backwards in time, with parts exchanged: different pieces of the two signals meet each
    time.
    """
    backwards = np.arange(n_rows)[::-1]
    return [np.roll(backwards, k * n_rows // N_CHANCE) for k in range(N_CHANCE)]


def chance_height(by_chance: list[Floats], *, n_searches: float) -> tuple[float, float]:
    """Return the highest log-likelihood found by chance, and the height that rules chance out.

    For unrelated values, the probability that the log-likelihood exceeds a height falls off
    exponentially (in a normal regression of n values on k, exactly so for great heights, as
    ``exp(-L (n - k) / n)``). The highest of n peaks lies where one of them is expected, which gives
    the slope.

    Parameters
    ----------
    by_chance : list of ndarray
        Curves of searches on unrelated evidence; -inf where nothing overlaps.
    n_searches : float
        How many searches of the same range they make together.
    """
    n_peaks, highest = 0, 0.0
    for curve in by_chance:
        height = np.where(np.isfinite(curve), curve, 0.0)
        inner = height[1:-1]
        n_peaks += int(np.count_nonzero((inner > height[:-2]) & (inner >= height[2:])))
        highest = max(highest, float(height.max(initial=0.0)))
    n_peaks = max(n_peaks, MIN_PEAKS)
    scale = max(1.0, highest / math.log(n_peaks))
    return highest, scale * math.log(max(1.0, n_peaks / n_searches) / ALLOWED)


def why_by_chance(best: float, highest: float, needed: float, *, where: str) -> str | None:
    """Return why a peak may be due to chance, or None.

    `where` describes the unrelated evidence that reached the log-likelihood `highest`.
    """
    if best >= needed:
        return None
    return (
        f"no better than chance: {where} the same search reaches a log-likelihood of "
        f"{highest:.0f}, so {needed:.0f} is needed, and the best delay has {best:.0f}; use longer "
        "or more varied motion"
    )
