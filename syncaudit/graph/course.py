"""Follow one clock through the clips of a recording: drift, slow wander, steps.

Each clip gives one offset with its standard error. The clock is a state of offset and rate that
both wander, with strengths that are averaged over (`clock_filter`); clips that disagree with all
others weigh less, and every gap is searched for steps.

Averaging over clips does not reduce the errors that all clips of a recording share. A measurement's
systematic part (line delay of a camera, latencies inside a control unit) is the same in every clip.
A clock that is tied to the reference through others inherits their parts, so they are propagated
through the same weighted least squares that solves the clip.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from syncaudit.graph.clock_filter import (
    Belief,
    Noise,
    Readings,
    Smoothed,
    believe,
    candidate_noises,
    coarse_candidate_noises,
    scale_cost,
    smooth,
)
from syncaudit.model import ClockCourse, CourseStep, PairMeasurement
from syncaudit.model.arrays import Floats, Ints

# Prior size of a step, as caused by reboots and lost frames.
_PRIOR_STEP_STD_S = 0.03
# Gain in twice the log-likelihood that a step must bring, besides that for the number of gaps it
# may lie in: fewer than one false step in a hundred recordings (`benchmarks/pooling.py`).
_STEP_COST = 5.0
# Centres and natural-log width of the prior of the wander, walks of offset and rate, during the
# search for steps: calmer than the prior for stating errors, or wander would explain every step in
# a few clips.
_CALM_OFFSET, _CALM_RATE, _CALM_WIDTH = 1e-5, 1e-8, 3.0
# Clips that a step leaves on either side.
_N_ALONE = 2
_MAX_STEPS = 12
# Prior of known steps: so wide that it does not shrink them, while 1e-16 of its square is nothing.
_STEP_STD_S = 100.0
_N_ROUNDS = 4
# No clip's own error is assumed below this share of its stated error without the common part.
_LEAST_SHARE = 0.3
# Wander is reported as its effect over an hour.
_HOUR_S = 3600.0
# Student's t of the clips' errors: single clips may be wrong.
_FREEDOM = 4.0
# Standard errors within which a clip keeps full weight.
_TRUSTED = 2.5
# Clips on either side that a clip is first compared with.
_N_NEAR = 3
# Fewer clips than these cannot show which of them is wrong.
_N_LEAST = 5


def follow_clock(
    clock: str,
    at_ns: Ints,
    offset_s: Sequence[float | None],
    offset_std_s: Sequence[float | None],
    *,
    common_std_s: Sequence[float] = (),
) -> ClockCourse | None:
    """Return the course of one clock, or None if no clip measured it.

    Parameters
    ----------
    clock : str
        Its name.
    at_ns : ndarray of int64, shape (n,)
        Middle of every clip, increasing.
    offset_s, offset_std_s : sequence of float or None, length n
        Offset by each clip; None if it has none.
    common_std_s : sequence of float, length n, optional
        Part of each error that all clips have in common: more clips do not reduce it.

    Returns
    -------
    ClockCourse or None
    """
    is_measured = np.array([value is not None for value in offset_s])
    if not is_measured.any():
        return None
    stds = np.array([math.inf if std is None else std for std in offset_std_s])
    common = np.array(common_std_s) if len(common_std_s) else np.zeros(stds.size)
    own = np.sqrt(np.maximum(stds**2 - common**2, (_LEAST_SHARE * stds) ** 2))
    own = np.where(is_measured, np.maximum(own, 1e-9), math.inf)
    precision = np.where(is_measured, 1.0 / own**2, 0.0)
    offsets = np.array([0.0 if value is None else value for value in offset_s])
    middle_s = float(np.median(offsets[is_measured]))
    offsets = np.where(is_measured, offsets - middle_s, 0.0)
    apart_s = np.maximum(np.diff(at_ns).astype(np.float64) * 1e-9, 1e-3)
    times_s = np.concatenate(([0.0], np.cumsum(apart_s)))
    known = np.flatnonzero(is_measured)
    inner = slice(int(known[0]), int(known[-1]) + 1)
    readings = Readings(
        times_s=times_s[inner],
        offsets_s=offsets[inner],
        precision=precision[inner],
        step_std_s=_STEP_STD_S,
    )
    places, belief = _with_steps(readings)
    levels_s, level_std_s = _everywhere(belief, times_s, inner)
    smoothed = belief.smoothed
    drift, drift_std = belief.mixed(smoothed.drift, smoothed.drift_variance)
    has_drift = known.size > 1 + len(places)
    steps = [belief.mixed(smoothed.step_s[k], smoothed.step_variance[k]) for k in places]
    return ClockCourse(
        clock=clock,
        at_ns=at_ns,
        offset_s=levels_s + middle_s,
        offset_std_s=np.hypot(level_std_s, precision @ common / precision.sum()),
        is_measured=is_measured,
        drift_ppm=1e6 * float(drift) if has_drift else None,
        drift_std_ppm=1e6 * float(drift_std) if has_drift else None,
        wander_s=_wander_s(belief),
        steps=tuple(
            CourseStep(
                after_ns=int(at_ns[known[known <= inner.start + place][-1]]),
                before_ns=int(at_ns[inner.start + place + 1]),
                step_s=float(size_s),
                step_std_s=float(std_s),
            )
            for place, (size_s, std_s) in zip(places, steps, strict=True)
        ),
    )


def _with_steps(readings: Readings) -> tuple[list[int], Belief]:
    """Add steps as long as the likelihood supports them; search again for each after every one."""
    places: list[int] = []
    weights, belief = _robust(readings, places, first_weights(readings))
    for _ in range(_MAX_STEPS):
        place = find_step(_weighed(readings, weights), places)
        if place is None:
            break
        places.append(place)
        for known in places[:-1]:
            others = [other for other in places if other != known]
            moved = find_step(_weighed(readings, weights), others)
            places = others if moved is None else [*others, moved]
        weights, belief = _robust(readings, places, weights)
    return sorted(places), belief


def _robust(readings: Readings, places: Sequence[int], weights: Floats) -> tuple[Floats, Belief]:
    """Fit, giving less weight to single clips that disagree with all others."""
    belief = believe(_weighed(readings, weights), places, among=candidate_noises())
    for _ in range(_N_ROUNDS):
        updated = _weights_from(belief, readings, weights)
        if float(np.max(np.abs(updated - weights))) < 1e-2:
            break
        weights = updated
        belief = believe(_weighed(readings, weights), places, among=belief.noise)
    return weights, belief


def _everywhere(belief: Belief, times_s: Floats, inner: slice) -> tuple[Floats, Floats]:
    """Return offsets and their standard errors at all clips, extrapolated beyond the measured."""
    smoothed, noise = belief.smoothed, belief.noise
    offsets = [smoothed.offset_s]
    variances = [smoothed.offset_variance]
    for end, away_s in (
        (0, times_s[: inner.start] - times_s[inner.start]),
        (1, times_s[inner.stop :] - times_s[inner.stop - 1]),
    ):
        away, far = away_s[:, None], np.abs(away_s)[:, None]
        offset = smoothed.offset_s[-end] + away * smoothed.end_rate[end]
        variance = (
            smoothed.offset_variance[-end]
            + 2.0 * away * smoothed.end_covariance[end]
            + away**2 * smoothed.end_rate_variance[end]
            + noise.offset**2 * far
            + noise.rate**2 * far**3 / 3.0
        )
        offsets.insert(2 * end, offset)
        variances.insert(2 * end, variance)
    return belief.mixed(np.concatenate(offsets), np.maximum(np.concatenate(variances), 0.0))


def _wander_s(belief: Belief) -> float:
    """Return the effect of the walks of offset and rate over an hour, per root second."""
    noise = belief.noise
    wander_s = np.sqrt(noise.offset**2 + noise.rate**2 * _HOUR_S**2 / 3.0)
    return float(np.exp(belief.share @ np.log(wander_s)))


def find_step(readings: Readings, steps: Collection[int]) -> int | None:
    """Return the reading that one more step most likely follows, or None.

    The likelihood with a step is that without, times the ratio for a shock of normal size in that
    gap, which the smoother gives for every gap at once; both are averaged over the strength of the
    clock's wander. Outlying clips have less weight in `readings`; a step is known to follow those
    in `steps`.
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


def _calm_cost(noise: Noise) -> Floats:
    offset, rate = np.log(noise.offset / _CALM_OFFSET), np.log(noise.rate / _CALM_RATE)
    return np.asarray((offset**2 + rate**2) / _CALM_WIDTH**2 + scale_cost(noise))


def _cost_of_step(smoothed: Smoothed, gaps: Ints) -> Floats:
    """Return twice the log of the odds against a step in each gap, shape (gaps, h)."""
    size, variance = smoothed.step_s[gaps], smoothed.step_variance[gaps]
    wide = _PRIOR_STEP_STD_S**2 / variance
    return np.log1p(wide) - size**2 / variance * (wide / (1.0 + wide))


def _gaps(readings: Readings, steps: Collection[int]) -> Ints:
    """Return the readings just before measured ones, at least two of them from any other step.

    A single clip between two steps, or beyond the last, may just as well be wrong.
    """
    known = np.flatnonzero(readings.precision)
    places = [0, *(np.searchsorted(known, sorted(steps), side="right").tolist()), known.size]
    gaps = [
        known[k] - 1
        for first, last in itertools.pairwise(places)
        for k in range(first + _N_ALONE, last - _N_ALONE + 1)
    ]
    return np.array(gaps, dtype=np.int64)


def _weighed(readings: Readings, weights: Floats) -> Readings:
    """Return readings whose precisions are multiplied by weights, shape (n,)."""
    return replace(readings, precision=readings.precision * weights)


def _weights_from(belief: Belief, readings: Readings, weights: Floats) -> Floats:
    """Return weights by the prediction of each from all other clips, shape (n,)."""
    is_read = readings.precision > 0.0
    claimed = np.where(is_read, 1.0 / np.where(is_read, readings.precision, 1.0), 0.0)
    widened = (claimed * (1.0 / weights - 1.0))[:, None] * belief.noise.scale**2
    variance = np.maximum(belief.smoothed.deleted_variance - widened, claimed[:, None])
    apart = belief.smoothed.deleted_s
    z2 = np.divide(apart**2, variance, out=np.zeros_like(apart), where=variance > 0.0)
    return _student(z2 @ belief.share)


def first_weights(readings: Readings) -> Floats:
    """Return low weights for clips that agree with neither the ones before nor the ones after.

    A walk of unknown strength could follow single wrong clips anywhere. A clip that is about as far
    off as most clips, as with a clock that wanders much, keeps its weight.
    """
    known = np.flatnonzero(readings.precision)
    weights = np.ones(readings.times_s.size)
    n = known.size
    if n < _N_LEAST:
        return weights
    offsets = readings.offsets_s[known]
    apart = np.full((2, n), np.inf)
    for side in range(2):
        row = offsets if side == 0 else offsets[::-1]
        for k in (2, *range(_N_NEAR, min(n, _N_NEAR + 1))):
            apart[side, k] = abs(row[k] - np.median(row[max(0, k - _N_NEAR) : k]))
        windows = np.lib.stride_tricks.sliding_window_view(row, _N_NEAR)[:-1]
        apart[side, _N_NEAR:] = np.abs(row[_N_NEAR:] - np.median(windows, axis=1))
    nearer = np.minimum(apart[0], apart[1, ::-1])
    usual = np.median(nearer[np.isfinite(nearer)])
    precision = readings.precision[known]
    is_far = nearer**2 > _TRUSTED**2 * (1.0 / precision + (1.5 * usual) ** 2)
    weights[known] = np.where(is_far, _student(nearer**2 * precision), 1.0)
    return weights


def _student(z2: Floats) -> Floats:
    """Return Student's t weights beyond the trusted errors; what lies within keeps full weight."""
    return np.minimum((_FREEDOM + _TRUSTED**2) / (_FREEDOM + z2), 1.0)


def common_errors(
    measurements: Sequence[PairMeasurement], clock_of_source: Mapping[str, str], reference: str
) -> dict[str, float]:
    """Return the systematic part of the error of each clock of one clip, seconds.

    Clocks that nothing ties to the reference, a clock, are left out, and refused measurements are
    ignored. The systematic parts of these are taken as independent of one another.
    """
    ties = [
        (clock_of_source[pair.source], clock_of_source[pair.target], pair)
        for pair in measurements
        if pair.accepted and not pair.is_baseline_only and pair.offset_std_s is not None
    ]
    tied = {reference}
    while more := {end for *ends, _ in ties if tied & {*ends} for end in ends} - tied:
        tied |= more
    clocks = sorted(tied - {reference})
    if not clocks:
        return {}
    used = [tie for tie in ties if tie[0] in tied and tie[0] != tie[1]]
    place = {clock: k for k, clock in enumerate(clocks)}
    rows = np.zeros((len(used), len(clocks)))
    for row, (source, target, _) in zip(rows, used, strict=True):
        for clock, sign in ((source, 1.0), (target, -1.0)):
            if clock != reference:
                row[place[clock]] = sign
    std_s = np.array([max(pair.offset_std_s or 0.0, 1e-9) for *_, pair in used])
    systematic_s = np.array([pair.systematic_std_s for *_, pair in used])
    share = std_s.min() / std_s
    solve = np.linalg.pinv(rows * share[:, None]) * share
    return dict(zip(clocks, np.sqrt(solve**2 @ systematic_s**2).tolist(), strict=True))
