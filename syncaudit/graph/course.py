"""Follow one clock through the clips of a recording: drift, slow wander, steps.

Each clip gives one offset with its standard error. The clock is a straight line, plus a random
walk of unknown strength, plus steps between clips: a local level model with intervention variables
(Harvey, "Forecasting, structural time series models and the Kalman filter", 1989). Written as one
least-squares problem its matrix is tridiagonal with a narrow border, so that a thousand clips take
milliseconds; the walk's strength is averaged over by its restricted likelihood.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve_banded, cholesky_banded

from syncaudit.model import ClockCourse, CourseStep

__all__ = ["follow_clock"]

_Floats = NDArray[np.float64]

# Quartz whose rate changes by 1 ppm within ten minutes walks about this far per root second. A
# prior only: 1.5 natural units wide, it matters with a handful of clips.
_WANDER_S = 1e-5
_WANDER_LOG_STD = 1.5
_WANDERS_S = np.geomspace(1e-7, 1e-2, 16)
# Prior of the drift: crystals of any make stay within 100 ppm.
_DRIFT_STD = 1e-4
# Clips on either side that a step is first looked for in.
_N_NEAR = 6
_MAX_STEPS = 12
# Gain in twice the log-likelihood, beside the logarithm of the number of places, for a step: less
# than one false step in a hundred recordings without any (tests hold it to that).
_STEP_GAIN = 12.0
# Most that two levels may be tied together, in units of the sharpest clip's weight: rounding takes
# 1e-16 of it, and the tie is looser than that clip by 1e-5 of its error only.
_STIFFEST = 1e10
# Student's t of the clips' errors: single clips may be wrong.
_FREEDOM = 4.0
_N_ROUNDS = 4
# No clip is thought to be sharper than this share of its claim once the common part is taken off.
_LEAST_SHARE = 0.3


@dataclass(frozen=True, slots=True, eq=False)
class _Series:
    """Observations of one clock; clips that say nothing have infinite errors."""

    times_s: _Floats
    offsets_s: _Floats
    precision: _Floats


@dataclass(frozen=True, slots=True, eq=False)
class _Fit:
    """One solution of the least-squares problem."""

    levels_s: _Floats
    level_std_s: _Floats
    border: _Floats  # drift, then steps
    border_std: _Floats
    minus_2ll: float
    wander_s: float


def follow_clock(
    clock: str,
    at_ns: NDArray[np.int64],
    offset_s: Sequence[float | None],
    offset_std_s: Sequence[float | None],
    *,
    systematic_std_s: float = 0.0,
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
    systematic_std_s : float
        Part of the errors that all clips have in common: more clips do not reduce it.

    Returns
    -------
    ClockCourse or None
    """
    is_measured = np.array([value is not None for value in offset_s])
    if not is_measured.any():
        return None
    stds = np.array([math.inf if std is None else std for std in offset_std_s])
    own = np.maximum(np.sqrt(np.maximum(stds**2 - systematic_std_s**2, 0.0)), _LEAST_SHARE * stds)
    own = np.where(is_measured, np.maximum(own, 1e-9), math.inf)
    series = _Series(
        times_s=(at_ns - at_ns[at_ns.size // 2]).astype(np.float64) * 1e-9,
        offsets_s=np.array([0.0 if value is None else value for value in offset_s]),
        precision=np.where(is_measured, 1.0 / own**2, 0.0),
    )
    places: list[int] = []
    fit = _fit(series, places)
    while len(places) < _MAX_STEPS:
        better = _with_a_step(series, places, fit)
        if better is None:
            break
        places, fit = _settled(series, *better)
    has_drift = int(np.count_nonzero(is_measured)) > 1 + len(places)
    order = np.argsort(places)
    return ClockCourse(
        clock=clock,
        at_ns=at_ns,
        offset_s=fit.levels_s,
        offset_std_s=np.hypot(fit.level_std_s, systematic_std_s),
        is_measured=is_measured,
        drift_ppm=1e6 * float(fit.border[0]) if has_drift else None,
        drift_std_ppm=1e6 * float(fit.border_std[0]) if has_drift else None,
        wander_s=fit.wander_s,
        steps=tuple(
            CourseStep(
                after_ns=int(at_ns[_last_measured(is_measured, places[k])]),
                before_ns=int(at_ns[places[k] + 1]),
                step_s=float(fit.border[1 + k]),
                step_std_s=float(fit.border_std[1 + k]),
            )
            for k in order
        ),
    )


def _last_measured(is_measured: NDArray[np.bool_], place: int) -> int:
    return int(np.flatnonzero(is_measured[: place + 1])[-1])


def _with_a_step(series: _Series, places: list[int], fit: _Fit) -> tuple[list[int], _Fit] | None:
    """Return places and fit with one more step where the likelihood asks for one."""
    candidates = _candidates(series, places, fit)
    n = int(np.count_nonzero(series.precision))
    best: tuple[list[int], _Fit] | None = None
    for place in candidates:
        tried = _fit(series, [*places, place])
        if best is None or tried.minus_2ll < best[1].minus_2ll:
            best = [*places, place], tried
    needed = _STEP_GAIN + 2.0 * math.log(max(n, 2))
    if best is None or fit.minus_2ll - best[1].minus_2ll < needed:
        return None
    return best


def _settled(series: _Series, places: list[int], fit: _Fit) -> tuple[list[int], _Fit]:
    """Move every step to the better place next to it, as long as there is one."""
    known = np.flatnonzero(series.precision)
    gaps = (known[1:] - 1).tolist()
    is_moving = True
    while is_moving:
        is_moving = False
        for k, place in enumerate(places):
            at = gaps.index(place)
            for other in gaps[max(0, at - 2) : at + 3]:
                if other in places:
                    continue
                moved = [*places[:k], other, *places[k + 1 :]]
                tried = _fit(series, moved)
                if tried.minus_2ll < fit.minus_2ll - 1e-9:
                    places, fit, is_moving = moved, tried, True
    return places, fit


def _candidates(series: _Series, places: list[int], fit: _Fit) -> list[int]:
    """Return the gaps that a step is most likely in: neighbours on both sides disagree."""
    known = np.flatnonzero(series.precision)
    if known.size < 3 + len(places):
        return []
    flat = series.offsets_s - fit.border[0] * series.times_s
    scores: list[tuple[float, int]] = []
    for k in range(known.size - 1):
        place = int(known[k + 1]) - 1
        if place in places:
            continue
        left = [i for i in known[max(0, k + 1 - _N_NEAR) : k + 1] if _same_side(i, place, places)]
        right = [i for i in known[k + 1 : k + 1 + _N_NEAR] if _same_side(i, place, places)]
        sides = []
        for members in (left, right):
            weights = series.precision[members]
            sides.append((float(weights @ flat[members] / weights.sum()), 1.0 / weights.sum()))
        z = abs(sides[1][0] - sides[0][0]) / math.sqrt(sides[0][1] + sides[1][1])
        scores.append((z, place))
    return [place for _, place in sorted(scores, reverse=True)[:4]]


def _same_side(i: int, place: int, places: list[int]) -> bool:
    """Tell whether no known step lies between clip `i` and the gap after clip `place`."""
    low, high = (i, place) if i <= place else (place + 1, i)
    return not any(low <= p < high for p in places)


def _fit(series: _Series, places: list[int]) -> _Fit:
    """Fit levels, drift and steps, the walk's strength along, and single clips robustly."""
    weights = _first_weights(series)
    fit = _fit_wander(_weighed(series, weights), places)
    for _ in range(_N_ROUNDS):
        # What the others say of each clip: its own pull is taken out of the residual.
        own_share = np.minimum(series.precision * weights * fit.level_std_s**2, 0.999)
        z2 = (series.offsets_s - fit.levels_s) ** 2 * series.precision / (1.0 - own_share)
        updated = _weights(z2)
        if float(np.max(np.abs(updated - weights))) < 1e-2:
            break
        weights = updated
        fit = _fit_wander(_weighed(series, weights), places)
    return fit


def _weighed(series: _Series, weights: _Floats) -> _Series:
    return _Series(series.times_s, series.offsets_s, series.precision * weights)


def _weights(z2: _Floats) -> _Floats:
    """Return Student's weights beyond two standard errors; what lies within keeps its own."""
    return np.minimum((_FREEDOM + 4.0) / (_FREEDOM + z2), 1.0)


def _first_weights(series: _Series) -> _Floats:
    """Return low weights for clips that agree with neither the three before nor the three after.

    A walk that is not known yet could follow single wrong clips anywhere.
    """
    known = np.flatnonzero(series.precision)
    weights = np.ones(series.times_s.size)
    if known.size < 5:
        return weights
    offsets = series.offsets_s[known]
    apart = np.full((2, known.size), np.inf)
    for k in range(known.size):
        for side, members in enumerate((offsets[max(0, k - 3) : k], offsets[k + 1 : k + 4])):
            if members.size > 1:
                apart[side, k] = abs(offsets[k] - np.median(members))
    weights[known] = _weights(np.min(apart, axis=0) ** 2 * series.precision[known])
    return weights


def _fit_wander(series: _Series, places: list[int]) -> _Fit:
    """Average over the strength of the walk, each weighed by its restricted likelihood."""
    fits = [_solve(series, places, float(wander_s)) for wander_s in _WANDERS_S]
    apart = np.log(_WANDERS_S / _WANDER_S) / _WANDER_LOG_STD
    cost = np.array([fit.minus_2ll for fit in fits]) + apart**2
    lowest = float(cost.min())
    share = np.exp(-0.5 * (cost - lowest))
    total = float(share.sum())
    share /= total
    levels, level_std_s = _mixed(share, [(fit.levels_s, fit.level_std_s) for fit in fits])
    border, border_std = _mixed(share, [(fit.border, fit.border_std) for fit in fits])
    return _Fit(
        levels,
        level_std_s,
        border,
        border_std,
        lowest - 2.0 * math.log(total),
        float(np.exp(share @ np.log(_WANDERS_S))),
    )


def _mixed(share: _Floats, parts: Sequence[tuple[_Floats, _Floats]]) -> tuple[_Floats, _Floats]:
    """Return mean and standard deviation of a mixture of normal laws."""
    means = np.stack([mean for mean, _ in parts])
    mean = share @ means
    variance = share @ np.stack([std**2 for _, std in parts]) + share @ (means - mean) ** 2
    return mean, np.sqrt(variance)


def _solve(series: _Series, places: list[int], wander_s: float) -> _Fit:
    """Solve levels, drift and steps for one strength of the walk.

    With levels o, drift d and steps s the cost is ``sum p_i (y_i - o_i)^2 + sum w_i (o_i+1 - o_i -
    d dt_i - s_i)^2``, ``w_i = 1 / (wander^2 dt_i)``.
    """
    n = series.times_s.size
    steps_s = np.maximum(np.diff(series.times_s), 1e-3)
    w = 1.0 / (wander_s**2 * steps_s)
    # Clips at one moment tie their levels as firmly as rounding lets the factor bear.
    w = np.minimum(w, _STIFFEST * float(series.precision.max()))
    diagonal = series.precision.copy()
    diagonal[:-1] += w
    diagonal[1:] += w
    band = np.zeros((2, n))
    band[1] = diagonal
    band[0, 1:] = -w
    # Increments that drift and steps explain: rows of the border.
    explained = np.zeros((n - 1, 1 + len(places)))
    explained[:, 0] = steps_s
    for k, place in enumerate(places):
        explained[place, 1 + k] = 1.0
    pulled = w[:, None] * explained
    coupling = np.zeros((n, explained.shape[1]))
    coupling[1:] -= pulled
    coupling[:-1] += pulled
    corner = explained.T @ pulled
    corner[0, 0] += 1.0 / _DRIFT_STD**2
    factor = cholesky_banded(band)
    weighed = series.precision * series.offsets_s
    free = cho_solve_banded((factor, False), weighed)
    spread = cho_solve_banded((factor, False), coupling)
    schur = corner - coupling.T @ spread
    border_covariance = np.linalg.inv(schur)
    border = border_covariance @ (-coupling.T @ free)
    levels = free - spread @ border
    inverse_diagonal = _inverse_diagonal(factor)
    variance = inverse_diagonal + np.einsum("ij,jk,ik->i", spread, border_covariance, spread)
    increments = np.diff(levels) - explained @ border
    quadratic = float(series.precision @ (series.offsets_s - levels) ** 2 + w @ increments**2)
    quadratic += float(border[0] ** 2) / _DRIFT_STD**2
    logdet = 2.0 * float(np.sum(np.log(factor[1]))) + float(np.linalg.slogdet(schur)[1])
    known = series.precision[series.precision > 0.0]
    minus_2ll = quadratic + logdet - float(np.sum(np.log(known))) - float(np.sum(np.log(w)))
    return _Fit(
        levels,
        np.sqrt(np.maximum(variance, 0.0)),
        border,
        np.sqrt(np.maximum(np.diag(border_covariance), 0.0)),
        minus_2ll,
        wander_s,
    )


def _inverse_diagonal(factor: _Floats) -> _Floats:
    """Return the diagonal of the inverse of a tridiagonal matrix from its banded Cholesky factor.

    Recursion of Takahashi, Fagan and Chin (1973) for ``A = U^T U`` with U upper bidiagonal.
    """
    upper, diagonal = factor[0], factor[1]
    n = diagonal.size
    inverse = np.empty(n)
    inverse[-1] = 1.0 / diagonal[-1] ** 2
    for i in range(n - 2, -1, -1):
        ratio = upper[i + 1] / diagonal[i]
        inverse[i] = 1.0 / diagonal[i] ** 2 + ratio**2 * inverse[i + 1]
    return inverse
