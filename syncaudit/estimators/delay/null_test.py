"""How high a search peaks by chance: the same search on evidence that has nothing in common.

Turned round in time, a signal keeps its spectrum, its bursts and its rests, and loses what it has
in common with another. What the best delay explains must stand out from what the best of as many
delays then explains. Motion that looks alike both ways (a pure oscillation, a single swing) can be
no evidence of one delay by its shape, and is not told from chance either.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from syncaudit.model.arrays import Floats

__all__ = ["chance_height", "chance_orders", "why_by_chance"]

# Searches by chance: more tell the height better, and each costs as much as the search itself.
N_CHANCE = 3
# Share of evidence with nothing in common that may peak so high; other tests refuse most of that
# (gap to the next delay, gain, bands), and together they accept less than one in a thousand.
ALLOWED = 0.005
# What tells a slope at all.
MIN_PEAKS = 8


def chance_orders(n_rows: int) -> list[NDArray[np.intp]]:
    """Return orders of evenly spaced rows that have nothing in common with the original one.

    Backwards in time, and parts of it exchanged: other pieces of the two signals meet each time.
    """
    backwards = np.arange(n_rows)[::-1]
    return [np.roll(backwards, k * n_rows // N_CHANCE) for k in range(N_CHANCE)]


def chance_height(by_chance: list[Floats]) -> tuple[float, float]:
    """Return the highest log-likelihood found by chance, and what rules chance out.

    Where values that have nothing in common are compared, the log-likelihood exceeds a height with
    a probability that falls off exponentially (in a normal regression of n values on k, exactly so
    for great heights: as ``exp(-L (n - k) / n)``). Of n peaks, the highest lies where one of them
    is expected, which tells the slope.

    Parameters
    ----------
    by_chance : list of ndarray
        Curves of searches of evidence with nothing in common; -inf where nothing overlaps.
    """
    n_peaks, highest = 0, 0.0
    for curve in by_chance:
        height = np.where(np.isfinite(curve), curve, 0.0)
        inner = height[1:-1]
        n_peaks += int(np.count_nonzero((inner > height[:-2]) & (inner >= height[2:])))
        highest = max(highest, float(height.max(initial=0.0)))
    n_peaks = max(n_peaks, MIN_PEAKS)
    scale = max(1.0, highest / math.log(n_peaks))
    return highest, scale * math.log(n_peaks / len(by_chance) / ALLOWED)


def why_by_chance(best: float, highest: float, needed: float) -> str | None:
    """Return why a peak may be one of chance, or None."""
    if best >= needed:
        return None
    return (
        "chance explains as much: with one side turned round in time the same search reaches a "
        f"log-likelihood of {highest:.0f}, so that {needed:.0f} are needed, and the best delay has "
        f"{best:.0f}; longer or more varied motion tells more"
    )
