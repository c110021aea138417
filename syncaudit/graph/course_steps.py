"""Find the gaps between clips in which a clock jumped."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from syncaudit.graph.clock_filter import smooth
from syncaudit.graph.clock_model import Noise, Readings, Smoothed
from syncaudit.graph.wander import coarse_candidate_noises, scale_cost

__all__ = ["find_step"]

# Prior size of a step, as reboots and lost frames make it.
_STEP_STD_S = 0.03
# Gain in twice the log-likelihood that a step must bring, beside that for the number of gaps it may
# lie in: fewer than one false step in a hundred recordings (`benchmarks/pooling.py`).
_STEP_COST = 5.0
# Centres and natural-log width of what wander is thought of while steps are looked for, walks of
# offset and rate: calmer than where errors are claimed, or wander would explain every step of few
# clips.
_CALM_OFFSET, _CALM_RATE, _CALM_WIDTH = 1e-5, 1e-8, 3.0
# Clips that a step leaves on either side.
_N_ALONE = 2


def find_step(readings: Readings, steps: Collection[int]) -> int | None:
    """Return the reading that one more step most likely follows, or None.

    The likelihood with a step is that without, times the ratio for a shock of normal size in that
    gap, which the smoother has for every gap at once; both are averaged over how strongly the
    clock may wander.

    Parameters
    ----------
    readings : Readings
        With outlying clips weighed down.
    steps : collection of int
        Readings that a step is known to follow.
    """
    gaps = _gaps(readings, steps)
    if not gaps.size:
        return None
    candidates = coarse_candidate_noises()
    smoothed = smooth(readings, candidates, steps)
    cost = smoothed.minus_2ll + _calm_cost(candidates)
    share = np.exp(-0.5 * (cost - cost.min()))
    with_step = cost - cost.min() + _cost_of_step(smoothed, gaps)
    lowest = with_step.min(axis=1)
    total = lowest - 2.0 * np.log(np.exp(-0.5 * (with_step - lowest[:, None])).sum(axis=1))
    best = int(np.argmin(total))
    gained = -2.0 * math.log(float(share.sum())) - float(total[best])
    needed = _STEP_COST + 2.0 * math.log(gaps.size)
    return int(gaps[best]) if gained > needed else None


def _calm_cost(noise: Noise) -> NDArray[np.float64]:
    offset, rate = np.log(noise.offset / _CALM_OFFSET), np.log(noise.rate / _CALM_RATE)
    return np.asarray((offset**2 + rate**2) / _CALM_WIDTH**2 + scale_cost(noise))


def _cost_of_step(smoothed: Smoothed, gaps: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return twice the log of the odds against a step in each gap, shape (gaps, h)."""
    size, variance = smoothed.step_s[gaps], smoothed.step_variance[gaps]
    wide = _STEP_STD_S**2 / variance
    return np.log1p(wide) - size**2 / variance * (wide / (1.0 + wide))


def _gaps(readings: Readings, steps: Collection[int]) -> NDArray[np.int64]:
    """Return the readings just before measured ones, two of them at least from any other step.

    A single clip between two steps, or beyond the last, may as well be wrong.
    """
    known = np.flatnonzero(readings.precision)
    places = [0, *(np.searchsorted(known, sorted(steps), side="right").tolist()), known.size]
    gaps = [
        known[k] - 1
        for first, last in itertools.pairwise(places)
        for k in range(first + _N_ALONE, last - _N_ALONE + 1)
    ]
    return np.array(gaps, dtype=np.int64)
