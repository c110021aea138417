"""Follow one clock through the clips of a recording: drift, slow wander, steps.

Each clip gives one offset with its standard error. The clock is a state of offset and rate that
both wander (`clock_filter`) by strengths that are averaged over (`wander`); clips that disagree
with all others weigh less (`outlying_clips`), and steps are looked for in every gap
(`course_steps`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from syncaudit.graph.clock_model import Readings
from syncaudit.graph.course_steps import find_step
from syncaudit.graph.outlying_clips import first_weights, weighed, weights_from
from syncaudit.graph.wander import Belief, believe, candidate_noises
from syncaudit.model import ClockCourse, CourseStep

__all__ = ["follow_clock"]

_Floats = NDArray[np.float64]

_MAX_STEPS = 12
# Prior of known steps: so wide that it takes nothing off them, and 1e-16 of its square is nothing.
_STEP_STD_S = 100.0
_N_ROUNDS = 4
# No clip is thought to be sharper than this share of its claim once the common part is taken off.
_LEAST_SHARE = 0.3
# Wander is told as what it does in an hour.
_HOUR_S = 3600.0


def follow_clock(
    clock: str,
    at_ns: NDArray[np.int64],
    offset_s: Sequence[float | None],
    offset_std_s: Sequence[float | None],
    *,
    common_std_s: Sequence[float] = (),
) -> ClockCourse | None:
    """Return the course of one clock, or None where no clip measured it.

    Parameters
    ----------
    clock : str
        Its name.
    at_ns : ndarray of int64, shape (n,)
        Middle of every clip, increasing.
    offset_s, offset_std_s : sequence of float or None, length n
        What each clip says; None where it says nothing.
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
    """Add steps as long as the likelihood asks for them; look for each anew after the last."""
    places: list[int] = []
    weights, belief = _robust(readings, places, first_weights(readings))
    for _ in range(_MAX_STEPS):
        place = find_step(weighed(readings, weights), places)
        if place is None:
            break
        places.append(place)
        for known in places[:-1]:
            others = [other for other in places if other != known]
            moved = find_step(weighed(readings, weights), others)
            places = others if moved is None else [*others, moved]
        weights, belief = _robust(readings, places, weights)
    return sorted(places), belief


def _robust(readings: Readings, places: Sequence[int], weights: _Floats) -> tuple[_Floats, Belief]:
    """Fit with single clips weighed down that disagree with all others."""
    belief = believe(weighed(readings, weights), places, among=candidate_noises())
    for _ in range(_N_ROUNDS):
        updated = weights_from(belief, readings, weights)
        if float(np.max(np.abs(updated - weights))) < 1e-2:
            break
        weights = updated
        belief = believe(weighed(readings, weights), places, among=belief.noise)
    return weights, belief


def _everywhere(belief: Belief, times_s: _Floats, inner: slice) -> tuple[_Floats, _Floats]:
    """Return offsets and their standard errors at all clips, carried on beyond the measured."""
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
    """Return what the walks of offset and rate do in an hour, per root second."""
    noise = belief.noise
    wander_s = np.sqrt(noise.offset**2 + noise.rate**2 * _HOUR_S**2 / 3.0)
    return float(np.exp(belief.share @ np.log(wander_s)))
