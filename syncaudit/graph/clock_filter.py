"""Filter and smooth the two-state clock, whose offset and rate wander by unknown strengths.

Between readings ``dt`` apart the rate takes steps of variance ``b^2 dt`` and the offset moves by
rate times dt plus steps of variance ``a^2 dt``; together the covariance is

    Q = a^2 [[dt, 0], [0, 0]] + b^2 [[dt^3 / 3, dt^2 / 2], [dt^2 / 2, dt]]

(white and random-walk noise of the frequency; Zucca and Tavella, "The clock model and its
relationship with the Allan and related variances", Metrologia 2005). Besides the smoothed offsets,
the backward pass gives the prediction of every reading from all others, and for every gap the size
and the gain in likelihood of a step there (de Jong and Penzer, "Diagnosing shocks in time series",
JASA 1998), so that no location needs a separate fit. Every quantity is an array over candidate
noises, so that all strengths are tried in one pass over the readings.

The strengths are averaged over, weighted by their restricted likelihood. A maximum of it would give
too small errors: with a few clips it often lies at zero. So offsets and errors are those of the
mixture over a grid, with a half-Cauchy prior for each walk (Gelman, "Prior distributions for
variance parameters in hierarchical models", Bayesian Analysis 2006): flat near zero, and with a
tail that lets the data decide.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syncaudit.model.arrays import Floats

# Prior of the rate at the first reading: crystals of any make stay within 100 ppm.
RATE_STD = 1e-4

_End = tuple[Floats, Floats, Floats]  # minus twice the log-likelihood, drift and its variance

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
class Readings:
    """Readings of one clock by clips."""

    times_s: Floats  # shape (n,): increasing
    # shape (n,): readings; any number where the precision is zero, which the first and last may not
    # be
    offsets_s: Floats
    precision: Floats  # shape (n,): inverse variances
    step_std_s: float  # prior of the known steps, far larger than the error of a reading


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """Candidate strengths of clock wander and reading noise, each of shape (h,)."""

    offset: Floats  # random walk of the offset, seconds per root second
    rate: Floats  # random walk of the rate, per root second
    scale: Floats  # actual errors of the readings relative to the stated ones

    def only(self, which: NDArray[np.intp]) -> Noise:
        """Return some of the candidates."""
        return Noise(offset=self.offset[which], rate=self.rate[which], scale=self.scale[which])


@dataclass(frozen=True, slots=True, kw_only=True)
class Smoothed:
    """Estimates from all readings together, for each of h noises."""

    # shape (n, h): of the clock at every reading
    offset_s: Floats
    offset_variance: Floats
    # shape (2, h): rate at the first and at the last reading, its variance, and its covariance with
    # the offset
    end_rate: Floats
    end_rate_variance: Floats
    end_covariance: Floats
    # shape (n, h): a reading minus its prediction from all others, and the variance of that; 0
    # where nothing was read
    deleted_s: Floats
    deleted_variance: Floats
    # shape (n, h): best step between this reading and the next; if there is one already, that one's
    step_s: Floats
    step_variance: Floats
    # shape (h,): mean rate from the first to the last reading, steps not counted
    drift: Floats
    drift_variance: Floats
    minus_2ll: Floats  # shape (h,): minus twice the log-likelihood, up to a constant


@dataclass(slots=True)
class _Track:
    """What the backward pass needs from the forward pass, each of shape (n, h)."""

    offset_s: Floats
    rate: Floats
    p00: Floats
    p01: Floats
    p11: Floats
    gain1: Floats
    kept: Floats  # share of the prediction that an update keeps
    inverse: Floats  # inverse variance of the innovation
    innovation: Floats


def weigh(readings: Readings, noise: Noise, steps: Collection[int]) -> Floats:
    """Return minus twice the log-likelihood of each noise, shape (h,).

    Parameters
    ----------
    readings : Readings
        At least one, the first and the last with a precision above zero.
    noise : Noise
        Candidates.
    steps : collection of int
        Readings that a step follows.
    """
    return _forward(readings, noise, steps, None)[0]


def smooth(readings: Readings, noise: Noise, steps: Collection[int]) -> Smoothed:
    """Return offsets, drift and steps for each noise; parameters as for `weigh`."""
    n, h = readings.times_s.size, noise.offset.size
    track = np.zeros((9, n, h))
    end = _forward(readings, noise, steps, track)
    return _backward(readings, _Track(*track), end, steps)


def _forward(
    readings: Readings, noise: Noise, steps: Collection[int], track: Floats | None
) -> _End:
    """Filter, and note the fields of `_Track` in `track`, shape (9, n, h).

    A third state, the offset change since the start without steps, gives the drift.
    """
    h = noise.offset.size
    white, walk, scale2 = noise.offset**2, noise.rate**2, noise.scale**2
    offsets, precision = readings.offsets_s.tolist(), readings.precision.tolist()
    gaps_s = np.diff(readings.times_s).tolist()
    # The first reading sets the offset; nothing is known before it.
    x0, x1, moved = np.full(h, offsets[0]), np.zeros(h), np.zeros(h)
    p00, p01, p11 = scale2 / precision[0], np.zeros(h), np.full(h, RATE_STD**2)
    c0, c1, c2 = np.zeros(h), np.zeros(h), np.zeros(h)
    minus_2ll = np.zeros(h)
    if track is not None:
        track[:, 0] = x0, x1, p00, p01, p11, c0, c0, c0, c0
    for k, gap_s in enumerate(gaps_s, start=1):
        half = gap_s * p11
        spread = white * gap_s + walk * (gap_s**3 / 3.0)
        bent = walk * (gap_s**2 / 2.0)
        moved = moved + gap_s * x1
        x0 = x0 + gap_s * x1
        c2 = c2 + gap_s * (2.0 * c1 + half) + spread
        c0 = c0 + gap_s * (c1 + p01 + half) + spread
        c1 = c1 + half + bent
        # Rounding may take precise clocks below zero after long gaps.
        p00 = np.maximum(p00 + gap_s * (2.0 * p01 + half), 0.0) + spread
        p01 = p01 + half + bent
        p11 = p11 + walk * gap_s
        if k - 1 in steps:
            p00 = p00 + readings.step_std_s**2
        if precision[k] > 0.0:
            variance = scale2 / precision[k]
            inverse = 1.0 / (p00 + variance)
            innovation = offsets[k] - x0
            kept = variance * inverse
            pull, gain1 = inverse * innovation, p01 * inverse
            minus_2ll = minus_2ll + pull * innovation - np.log(inverse)
            x0, x1, moved = x0 + p00 * pull, x1 + p01 * pull, moved + c0 * pull
            c2, c1 = c2 - c0 * c0 * inverse, c1 - gain1 * c0
            p11 = np.maximum(p11 - p01 * gain1, 0.0)
            c0, p00, p01 = c0 * kept, p00 * kept, p01 * kept
        else:
            kept, gain1, inverse, innovation = np.ones(h), c0 * 0.0, c0 * 0.0, c0 * 0.0
        if track is not None:
            track[:, k] = x0, x1, p00, p01, p11, gain1, kept, inverse, innovation
    span_s = max(float(readings.times_s[-1] - readings.times_s[0]), 1e-3)
    return minus_2ll, moved / span_s, np.maximum(c2, 0.0) / span_s**2


def _backward(readings: Readings, track: _Track, end: _End, steps: Collection[int]) -> Smoothed:
    """Propagate information of later readings about the state back: a vector r and a matrix N.

    Combined with that of earlier readings, it gives the estimates.
    """
    n, h = track.offset_s.shape
    minus_2ll, drift, drift_variance = end
    gaps_s = np.diff(readings.times_s).tolist()
    is_read = (readings.precision > 0.0).tolist()
    r0, r1 = np.zeros((2, n, h))
    n00, n01, n11 = np.zeros((3, n, h))  # at the filtered state of each reading
    # A reading minus its prediction from the others, over its variance, and the inverse of that.
    deleted, information = np.zeros((2, n, h))
    pulled, certain = np.zeros((2, n, h))  # r and N of the offset as predicted there
    for k in range(n - 1, -1, -1):
        a, b, d = n00[k], n01[k], n11[k]
        if k == 0:
            # Without the first reading, only the later ones constrain the offset.
            deleted[0], information[0] = -r0[0], a
            break
        u0, u1 = r0[k], r1[k]
        kept, gain1, inverse = track.kept[k], track.gain1[k], track.inverse[k]
        if is_read[k]:
            deleted[k] = inverse * track.innovation[k] - (1.0 - kept) * u0 - gain1 * u1
            cross = kept * b - gain1 * d
            gain0 = 1.0 - kept
            information[k] = inverse + gain0 * (gain0 * a + 2.0 * gain1 * b) + gain1 * gain1 * d
            a = inverse + kept * kept * a - gain1 * (2.0 * kept * b - gain1 * d)
            b = cross
            u0 = u0 + deleted[k]
        pulled[k], certain[k] = u0, a
        gap_s = gaps_s[k - 1]
        r0[k - 1], r1[k - 1] = u0, u1 + gap_s * u0
        n00[k - 1], n01[k - 1] = a, b + gap_s * a
        n11[k - 1] = d + gap_s * (2.0 * b + gap_s * a)
    p00, p01, p11 = track.p00, track.p01, track.p11
    ends = [0, n - 1]
    left = p00 * n00 + p01 * n01
    right = p00 * n01 + p01 * n11
    e0, e1 = p01[ends], p11[ends]
    rate_left = e0 * n00[ends] + e1 * n01[ends]
    rate_right = e0 * n01[ends] + e1 * n11[ends]
    step_s, step_variance = np.zeros((2, n, h))
    known = np.maximum(certain[1:], 1e-300)
    step_s[:-1], step_variance[:-1] = pulled[1:] / known, 1.0 / known
    for place in steps:
        step_variance[place] -= readings.step_std_s**2
    return Smoothed(
        offset_s=track.offset_s + p00 * r0 + p01 * r1,
        offset_variance=np.maximum(p00 - left * p00 - right * p01, 0.0),
        end_rate=track.rate[ends] + e0 * r0[ends] + e1 * r1[ends],
        end_rate_variance=np.maximum(e1 - rate_left * e0 - rate_right * e1, 0.0),
        end_covariance=e0 - left[ends] * e0 - right[ends] * e1,
        deleted_s=deleted / np.maximum(information, 1e-300),
        deleted_variance=np.where(information > 0.0, 1.0 / np.maximum(information, 1e-300), 0.0),
        step_s=step_s,
        step_variance=np.maximum(step_variance, 0.0),
        drift=drift,
        drift_variance=drift_variance,
        minus_2ll=minus_2ll,
    )


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
