"""Average over the strength of a clock's wander: each is weighted by its restricted likelihood.

The strengths are unknown, and a maximum of their likelihood would give too small errors: with a few
clips it often lies at zero. So offsets and errors are those of the mixture over a grid, with a
half-Cauchy prior for each walk (Gelman, "Prior distributions for variance parameters in
hierarchical models", Bayesian Analysis 2006): flat near zero, and with a tail that lets the data
decide.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from syncaudit.graph.clock_filter import Noise, Readings, Smoothed, smooth, weigh
from syncaudit.model.arrays import Floats

# Walk of the offset per root second. Half of its prior lies below this many errors of a clip from
# one clip to the next: with less, ten clips of a clock that wanders by one error from clip to clip
# give too small errors (`benchmarks/pooling.py`). Imprecise clips are not a reason to expect more
# than 15 ms in an hour.
_OFFSETS, _OFFSET_SHARE, _OFFSET_MOST = np.geomspace(1e-7, 1e-2, 16), 1.5, 2.5e-4
# Walk of the rate per root second: quartz whose rate changes by 1 ppm within an hour has 1.7e-8.
# Its prior is flat in the root: rates that do not wander at all are equally likely.
_RATES, _RATE, _RATE_POWER = np.geomspace(3e-10, 3e-6, 9), 2e-8, 0.5
# Errors of clips relative to the stated ones: mostly equal, and never assumed smaller.
_SCALES, _SCALE_WIDTH = np.array([1.0, 1.4, 2.0, 3.0]), 0.25
# Candidates that together hold less than this are dropped.
_NEGLIGIBLE = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class Belief:
    """The remaining candidates, their estimates and their shares."""

    noise: Noise  # candidates, shape (h,)
    share: Floats  # shape (h,): posterior probability of each
    smoothed: Smoothed  # estimates of each

    def mixed(self, mean: Floats, variance: Floats) -> tuple[Floats, Floats]:
        """Return mean and standard deviation over the candidates, the last axis of both."""
        middle = mean @ self.share
        apart = (mean - middle[..., None]) ** 2
        return middle, np.sqrt((variance + apart) @ self.share)


def candidate_noises() -> Noise:
    """Return all strengths that are tried."""
    return _product(_OFFSETS, _RATES, _SCALES)


def coarse_candidate_noises() -> Noise:
    """Return a quarter of the walks, with stated and doubled errors: enough to find steps."""
    return _product(_OFFSETS[::2], _RATES[::2], _SCALES[::2])


def _product(offsets: Floats, rates: Floats, scales: Floats) -> Noise:
    offset, rate, scale = np.meshgrid(offsets, rates, scales, indexing="ij")
    return Noise(offset=offset.ravel(), rate=rate.ravel(), scale=scale.ravel())


def believe(readings: Readings, steps: Collection[int], *, among: Noise) -> Belief:
    """Weight candidates and smooth with those that count; parameters as for `weigh`."""
    cost = weigh(readings, among, steps) + _prior_cost(among, readings)
    share = np.exp(-0.5 * (cost - cost.min()))
    order = np.argsort(-share)
    sums = np.cumsum(share[order]) / share.sum()
    which = np.sort(order[: int(np.searchsorted(sums, 1.0 - _NEGLIGIBLE)) + 1])
    noise = among.only(which)
    return Belief(
        noise=noise,
        share=share[which] / share[which].sum(),
        smoothed=smooth(readings, noise, steps),
    )


def scale_cost(noise: Noise) -> Floats:
    """Return minus twice the log of the prior of the readings' errors, shape (h,)."""
    return np.asarray((np.log(noise.scale) / _SCALE_WIDTH) ** 2)


def _prior_cost(noise: Noise, readings: Readings) -> Floats:
    """Return minus twice the log of each candidate's prior, up to a constant, shape (h,)."""
    known = readings.precision > 0.0
    error_s = 1.0 / np.sqrt(np.median(readings.precision[known]))
    gap_s = np.median(np.diff(readings.times_s[known])) if known.sum() > 1 else 1.0
    offset = noise.offset / min(_OFFSET_SHARE * error_s / np.sqrt(gap_s), _OFFSET_MOST)
    rate = noise.rate / _RATE
    return np.asarray(
        2.0 * (np.log1p(offset**2) - np.log(offset))
        + 2.0 * (np.log1p(rate**2) - _RATE_POWER * np.log(rate))
        + scale_cost(noise)
    )
