"""Find the delay at which a state best predicts increments, cross-validated over time blocks.

A dozen joint rates and their products with the pose explain a third of any slow signal of ten
seconds by chance. So every delay is judged by how well a fit on some blocks of the clip predicts
the others, with the ridge that predicts best (Stone, "Cross-validatory choice and assessment of
statistical predictions", J. R. Stat. Soc. B 36, 1974, doi:10.1111/j.2517-6161.1974.tb00994.x).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from syncaudit.dsp.integral import RunningIntegral
from syncaudit.estimators.delay.fit import DelayFit, fit_delay
from syncaudit.estimators.delay.increments import Increments
from syncaudit.estimators.delay.search import DelayCurve
from syncaudit.model.arrays import Bools, Floats

# Share of the rows that must overlap at a delay, and number of rows used for the search.
MIN_OVERLAP = 0.6
MAX_ROWS = 450
CHUNK = 40
# Serial correlation of residuals is summed up to this many rows.
MAX_LAG_ROWS = 30
# Mixtures of the columns that are kept, and the smallest share of one that must be predicted.
MAX_MIXTURES = 6
MIN_MIXTURE_SHARE = 0.05
# Mixtures are recomputed until the delay moves by less than this part of its error.
NEAR_STD = 0.25
MAX_ROUNDS = 5

N_BLOCKS = 6
RIDGES = (1e-3, 1e-2, 1e-1)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Prediction:
    """Result of `search_state`."""

    # Log-likelihood in units of independent values: correlation in time and between columns is
    # allowed for.
    curve: DelayCurve
    n_values: float  # number of independent values
    share: float  # part of the variance that is predicted at the best delay, typical of the columns
    # shape (m, r): mixtures of the columns that the state predicts best at that delay
    mixtures: Floats
    mixing: Floats  # shape (p, r): contributions of the driver's channels to the mixtures
    is_by_size: bool  # see `search_state`


def search_state(
    increments: Increments, driver: RunningIntegral, delays_s: Floats, *, is_by_size: bool = False
) -> Prediction | None:
    """Return how well the driver predicts the increments at each delay.

    Parameters
    ----------
    increments : Increments
        n rows, m columns.
    driver : RunningIntegral
        p channels.
    delays_s : ndarray, shape (l,)
        Evenly spaced.
    is_by_size : bool
        Whether to choose the mixtures with the largest motion, regardless of the noise left.

    Returns
    -------
    Prediction or None
        None where no delay has enough overlap, or nothing is predicted at any.
    """
    increments = searched_rows(increments)
    values, n = increments.values, increments.values.shape[0]
    moments, is_enough = moments_at(increments, driver, delays_s)
    if not is_enough.any() or not np.any(values):
        return None
    best: tuple[float, float, Floats] | None = None
    for ridge in RIDGES:
        curve = log_likelihood(moments, n, ridge)
        curve[~is_enough] = -np.inf
        if best is None or curve.max() > best[0]:
            best = (float(curve.max()), ridge, curve)
    if best is None or best[0] <= 0.0:
        return None
    _, ridge, curve = best
    top = int(np.argmax(curve))
    total = moments.gram.sum(axis=0)[top]
    mixing = np.linalg.solve(total + penalty(total, ridge), moments.cross.sum(axis=0)[top])
    delay_s = float(delays_s[top])
    covered = driver.covers(increments.start_s + delay_s, increments.stop_s + delay_s)
    rows = increments.rows(covered)
    predicted = (driver.at(rows.stop_s + delay_s) - driver.at(rows.start_s + delay_s)) @ mixing
    residuals = values[covered] - predicted
    per_value = independent_share(residuals)
    mixtures = _mixtures(predicted, residuals, is_by_size=is_by_size)
    return Prediction(
        curve=DelayCurve(delays_s=delays_s, log_likelihood=curve * per_value),
        n_values=n * values.shape[1] * per_value,
        share=1.0 - math.exp(-2.0 * float(curve[top]) / (n * values.shape[1])),
        mixtures=mixtures,
        mixing=mixing @ mixtures,
        is_by_size=is_by_size,
    )


def searched_rows(increments: Increments) -> Increments:
    """Return the rows that are searched, with single bad values limited."""
    n = increments.values.shape[0]
    if n > MAX_ROWS:
        increments = increments.rows(np.linspace(0, n - 1, MAX_ROWS).astype(np.intp))
    return replace(increments, values=_clipped(increments.values))


def _clipped(values: Floats) -> Floats:
    """Clip single bad increments to six times the 90th percentile of each column's sizes."""
    spread = np.quantile(np.abs(values), 0.9, axis=0) + 1e-15
    return np.clip(values, -6.0 * spread, 6.0 * spread)


def moments_at(
    increments: Increments, driver: RunningIntegral, delays_s: Floats
) -> tuple[Moments, Bools]:
    """Return the moments at each delay, and where enough overlaps, shape (l,)."""
    values = increments.values
    blocks = blocks_of(values.shape[0])
    parts, enough = [], []
    for chunk in np.array_split(delays_s, max(1, delays_s.size // CHUNK)):
        change, covered = change_at(increments, driver, chunk)
        turned = np.swapaxes(change, 1, 2)
        parts.append(
            Moments(
                np.stack([turned[:, :, b] @ change[:, b] for b in blocks]),
                np.stack([turned[:, :, b] @ values[b] for b in blocks]),
                np.stack([covered[:, b] @ values[b] ** 2 for b in blocks]),
            )
        )
        enough.append(covered.mean(axis=1) >= MIN_OVERLAP)
    return _joined(parts), np.concatenate(enough)


def independent_share(residuals: Floats) -> float:
    """Return the ratio of independent to all values, from the correlation of residuals.

    N correlated values count as ``N^2 / sum(rho^2)`` in a sum of squares (Bartlett, "On the
    theoretical specification and sampling properties of autocorrelated time-series", Suppl. J. R.
    Stat. Soc. 8, 1946, doi:10.2307/2983611).
    """
    n, m = residuals.shape
    scaled = residuals / (residuals.std(axis=0) + 1e-30)
    between = scaled.T @ scaled / n
    lags = np.arange(1, min(MAX_LAG_ROWS, n // 4) + 1)
    along = np.array([np.mean(scaled[lag:] * scaled[:-lag]) for lag in lags])
    return float(m / np.sum(between**2) / (1.0 + 2.0 * np.sum(along**2)))


def _mixtures(predicted: Floats, residuals: Floats, *, is_by_size: bool) -> Floats:
    """Return the mixtures with the largest predicted part, shape (m, r)."""
    noise = residuals.T @ residuals
    if is_by_size:
        noise = np.trace(noise) / len(noise) * np.eye(len(noise))
    noise += (1e-3 * np.trace(noise) / len(noise) + 1e-30) * np.eye(len(noise))
    root = np.linalg.inv(np.linalg.cholesky(noise))
    strength, vectors = np.linalg.eigh(root @ (predicted.T @ predicted) @ root.T)
    order = np.argsort(-strength)[:MAX_MIXTURES]
    share = strength[order] / (1.0 + strength[order])
    order = order[share >= min(MIN_MIXTURE_SHARE, float(share[0]))]
    return np.asarray(root.T @ vectors[:, order])


def fit_mixtures(
    increments: Increments, driver: RunningIntegral, predicted: Prediction, *, start_s: float
) -> tuple[Increments, Floats, DelayFit | None]:
    """Fit a delay to the mixtures of the columns that the state predicts best.

    Mixtures computed at one delay are biased towards it: where the search ends 100 ms from the
    truth, one fit goes only half of the way. So they are recomputed at the delay that they give.

    Parameters
    ----------
    increments : Increments
        n rows of observations, m columns.
    driver : RunningIntegral
        p channels.
    predicted : Prediction
        At `start_s`.
    start_s : float
        Delay found by the search.

    Returns
    -------
    mixed : Increments
        The mixtures, r columns.
    mixing : ndarray, shape (p, r)
        Contributions of the driver's channels to the mixtures.
    fit : DelayFit or None
        None where `fit_delay` finds none.
    """
    at_s = start_s
    for _ in range(MAX_ROUNDS):
        values = increments.values @ predicted.mixtures
        mixed = replace(increments, values=values, weights=np.ones_like(values))
        fit = fit_delay(mixed, driver, start_s=at_s)
        if fit is None or abs(fit.offset_s - at_s) < NEAR_STD * fit.offset_std_s:
            break
        at = np.array([fit.offset_s])
        again = search_state(increments, driver, at, is_by_size=predicted.is_by_size)
        if again is None:
            break
        at_s, predicted = fit.offset_s, again
    return mixed, predicted.mixing, fit


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """Moments of b blocks of rows at l delays: p channels of the driver, m columns."""

    gram: Floats  # shape (b, l or 1, p, p): a single one where all delays share it
    cross: Floats  # shape (b, l, p, m)
    energy: Floats  # shape (b, l, m)


def blocks_of(n: int) -> list[NDArray[np.intp]]:
    """Return the rows of each block of n."""
    return np.array_split(np.arange(n), N_BLOCKS)


def change_at(
    increments: Increments, driver: RunningIntegral, delays_s: Floats
) -> tuple[Floats, Bools]:
    """Return the driver's change over each increment, zero where it does not cover it.

    Returns
    -------
    change : ndarray, shape (l, n, p)
    covered : ndarray of bool, shape (l, n)
    """
    begin = increments.start_s[None, :] + delays_s[:, None]
    end = increments.stop_s[None, :] + delays_s[:, None]
    covered = driver.covers(begin, end)
    begin = np.clip(begin, driver.start_s, driver.stop_s)
    end = np.clip(end, driver.start_s, driver.stop_s)
    return (driver.at(end) - driver.at(begin)) * covered[:, :, None], covered


def penalty(gram: Floats, ridge: float) -> Floats:
    """Return the ridge: a part of each channel's own energy, plus a part of the mean of all."""
    own = np.einsum("...pp->...p", gram)
    strength = ridge * (0.5 * own + 0.5 * own.mean(axis=-1, keepdims=True)) + 1e-12
    held: Floats = strength[..., None] * np.eye(gram.shape[-1])
    return held


def _missed(moments: Moments, ridge: float) -> Floats:
    """Return the energy of each block that the others do not predict, summed, shape (l, m)."""
    gram, cross = moments.gram.sum(axis=0), moments.cross.sum(axis=0)
    missed: Floats = np.zeros_like(moments.energy[0])
    for own_gram, own_cross, own_energy in zip(
        moments.gram, moments.cross, moments.energy, strict=True
    ):
        rest = gram - own_gram
        mixing = _solved(rest + penalty(rest, ridge), cross - own_cross)
        missed += own_energy - 2.0 * np.sum(mixing * own_cross, axis=1)
        missed += np.sum(mixing * (own_gram @ mixing), axis=1)
    return missed


def log_likelihood(moments: Moments, n_rows: int, ridge: float) -> Floats:
    """Return the gain over "no relation" at each delay, as if values were independent, (l,)."""
    return np.asarray(gains(moments, n_rows, ridge).sum(axis=1))


def gains(moments: Moments, n_rows: int, ridge: float) -> Floats:
    """Return the gain over "no relation" for each column, shape (l, m)."""
    return _gain(_missed(moments, ridge), moments.energy.sum(axis=0), n_rows)


def gains_of_one(moments: Moments, n_rows: int) -> Floats:
    """Return the gain of each single channel of the driver for each column, shape (l, p, m)."""
    own = np.einsum("blpp->blp", moments.gram)[..., None] + 1e-30
    missed = np.zeros_like(moments.cross[0])
    for block in range(len(own)):
        rest = np.delete(np.arange(len(own)), block)
        mixing = moments.cross[rest].sum(axis=0) / own[rest].sum(axis=0)
        missed += moments.energy[block][:, None, :] - 2.0 * mixing * moments.cross[block]
        missed += mixing**2 * own[block]
    return _gain(missed, moments.energy.sum(axis=0)[:, None, :], n_rows)


def _gain(missed: Floats, energy: Floats, n_rows: int) -> Floats:
    left = np.minimum((missed + 1e-30) / (energy + 1e-30), 1.0)  # rest cannot be predicted
    return np.asarray(-0.5 * n_rows * np.log(np.maximum(left, 1e-9)))


def _joined(parts: Sequence[Moments]) -> Moments:
    """Return the moments of several sets of delays as one."""
    return Moments(
        np.concatenate([part.gram for part in parts], axis=1),
        np.concatenate([part.cross for part in parts], axis=1),
        np.concatenate([part.energy for part in parts], axis=1),
    )


def _solved(matrix: Floats, right: Floats) -> Floats:
    """Solve for every delay; a matrix shared by all is factored once."""
    if matrix.shape[0] == right.shape[0]:
        return np.asarray(np.linalg.solve(matrix, right))
    n_delays, p, m = right.shape
    flat = np.linalg.solve(matrix[0], np.swapaxes(right, 0, 1).reshape(p, n_delays * m))
    return np.asarray(np.swapaxes(flat.reshape(p, n_delays, m), 0, 1))
