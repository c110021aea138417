"""Find the delay at which a state foretells what is seen: cross-validated over blocks of time.

A dozen joint rates and their products with the pose explain a third of any slow signal of ten
seconds by chance. So every delay is judged by what a fit on some blocks of the clip foretells of
the others (Stone, "Cross-validatory choice and assessment of statistical predictions", J. R. Stat.
Soc. B 36, 1974, doi:10.1111/j.2517-6161.1974.tb00994.x), with the ridge that foretells best.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syncaudit.dsp.integral import RunningIntegral
from syncaudit.estimators.delay_curve import DelayCurve
from syncaudit.estimators.increments import Increments

__all__ = ["Foretold", "search_state"]

Floats = NDArray[np.float64]

N_BLOCKS = 6
RIDGES = (1e-3, 1e-2, 1e-1)
# Rows that must overlap at a delay, and those used for the search.
MIN_OVERLAP = 0.6
MAX_ROWS = 450
CHUNK = 40
# Serial correlation of residuals is summed up to this many rows.
MAX_LAG_ROWS = 30
# Mixtures of what is seen that are kept, and the least share of one that must be foretold.
MAX_MIXTURES = 6
MIN_MIXTURE_SHARE = 0.05


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Foretold:
    """Result of `search_state`.

    Parameters
    ----------
    curve : DelayCurve
        Log-likelihood in units of independent values: correlation in time and between what is
        seen is allowed for.
    n_values : float
        Independent values.
    share : float
        Part of the variance that is foretold at the best delay, typical of what is seen.
    mixtures : ndarray, shape (m, r)
        Mixtures of what is seen that the state foretells best at that delay.
    mixing : ndarray, shape (p, r)
        What the driver's channels contribute to them.
    """

    curve: DelayCurve
    n_values: float
    share: float
    mixtures: Floats
    mixing: Floats


@dataclass(frozen=True, slots=True, eq=False)
class _Sums:
    """Moments of each block at each delay."""

    gram: Floats  # (b, l, p, p)
    cross: Floats  # (b, l, p, m)
    energy: Floats  # (b, l, m)
    is_enough: NDArray[np.bool_]  # (l,)


def search_state(
    increments: Increments, driver: RunningIntegral, delays_s: Floats
) -> Foretold | None:
    """Return how well the driver foretells the increments at each delay.

    Parameters
    ----------
    increments : Increments
        n rows, m columns.
    driver : RunningIntegral
        p channels.
    delays_s : ndarray, shape (l,)
        Evenly spaced.

    Returns
    -------
    Foretold or None
        None where no delay has enough overlap, or nothing is foretold at any.
    """
    n = increments.values.shape[0]
    if n > MAX_ROWS:
        increments = increments.rows(np.linspace(0, n - 1, MAX_ROWS).astype(np.intp))
        n = MAX_ROWS
    values = _clipped(increments.values)
    sums = _sums(increments, values, driver, delays_s)
    if not sums.is_enough.any():
        return None
    energy = sums.energy.sum(axis=0) + 1e-30
    if not np.any(increments.values):
        return None
    best: tuple[float, float, Floats] | None = None
    for ridge in RIDGES:
        missed = _missed(sums, ridge)
        left = np.minimum(missed / energy, 1.0)
        curve = -0.5 * n * np.log(np.maximum(left, 1e-9)).sum(axis=1)
        curve[~sums.is_enough] = -np.inf
        if best is None or curve.max() > best[0]:
            best = (float(curve.max()), ridge, curve)
    if best is None or best[0] <= 0.0:
        return None
    _, ridge, curve = best
    top = int(np.argmax(curve))
    total = sums.gram.sum(axis=0)[top]
    mixing = np.linalg.solve(total + _penalty(total, ridge), sums.cross.sum(axis=0)[top])
    delay_s = float(delays_s[top])
    covered = driver.covers(increments.start_s + delay_s, increments.stop_s + delay_s)
    rows = increments.rows(covered)
    foretold = (driver.at(rows.stop_s + delay_s) - driver.at(rows.start_s + delay_s)) @ mixing
    residuals = values[covered] - foretold
    per_value = _independent_share(residuals)
    mixtures = _mixtures(foretold, residuals)
    return Foretold(
        curve=DelayCurve(delays_s=delays_s, log_likelihood=curve * per_value),
        n_values=n * values.shape[1] * per_value,
        share=1.0 - math.exp(-2.0 * float(curve[top]) / (n * values.shape[1])),
        mixtures=mixtures,
        mixing=mixing @ mixtures,
    )


def _clipped(values: Floats) -> Floats:
    """Limit what single bad increments do: six robust standard deviations, and none below."""
    spread = np.quantile(np.abs(values), 0.9, axis=0) + 1e-15
    return np.clip(values, -6.0 * spread, 6.0 * spread)


def _sums(
    increments: Increments, values: Floats, driver: RunningIntegral, delays_s: Floats
) -> _Sums:
    blocks = np.array_split(np.arange(values.shape[0]), N_BLOCKS)
    grams, crosses, energies, enough = [], [], [], []
    for chunk in np.array_split(delays_s, max(1, delays_s.size // CHUNK)):
        begin = increments.start_s[None, :] + chunk[:, None]
        end = increments.stop_s[None, :] + chunk[:, None]
        covered = driver.covers(begin, end)
        begin = np.clip(begin, driver.start_s, driver.stop_s)
        end = np.clip(end, driver.start_s, driver.stop_s)
        change = (driver.at(end) - driver.at(begin)) * covered[:, :, None]
        turned = np.swapaxes(change, 1, 2)
        grams.append(np.stack([turned[:, :, b] @ change[:, b] for b in blocks]))
        crosses.append(np.stack([turned[:, :, b] @ values[b] for b in blocks]))
        energies.append(np.stack([covered[:, b] @ values[b] ** 2 for b in blocks]))
        enough.append(covered.mean(axis=1) >= MIN_OVERLAP)
    return _Sums(
        gram=np.concatenate(grams, axis=1),
        cross=np.concatenate(crosses, axis=1),
        energy=np.concatenate(energies, axis=1),
        is_enough=np.concatenate(enough),
    )


def _penalty(gram: Floats, ridge: float) -> Floats:
    """Return the ridge: a part of each channel's own energy, and of the mean of all."""
    own = np.einsum("...pp->...p", gram)
    strength = ridge * (0.5 * own + 0.5 * own.mean(axis=-1, keepdims=True)) + 1e-12
    penalty: Floats = strength[..., None] * np.eye(gram.shape[-1])
    return penalty


def _missed(sums: _Sums, ridge: float) -> Floats:
    """Return what is not foretold of each block by the others, summed up, shape (l, m)."""
    gram, cross = sums.gram.sum(axis=0), sums.cross.sum(axis=0)
    missed: Floats = np.zeros_like(sums.energy[0])
    for own_gram, own_cross, own_energy in zip(sums.gram, sums.cross, sums.energy, strict=True):
        rest = gram - own_gram
        mixing = np.linalg.solve(rest + _penalty(rest, ridge), cross - own_cross)
        missed += own_energy - 2.0 * np.sum(mixing * own_cross, axis=1)
        missed += np.sum(mixing * (own_gram @ mixing), axis=1)
    return missed


def _independent_share(residuals: Floats) -> float:
    """Return independent values over values, from the correlation of residuals.

    Of N correlated values ``N^2 / sum(rho^2)`` count in a sum of squares (Bartlett, "On the
    theoretical specification and sampling properties of autocorrelated time-series", Suppl. J. R.
    Stat. Soc. 8, 1946, doi:10.2307/2983611).
    """
    n, m = residuals.shape
    scaled = residuals / (residuals.std(axis=0) + 1e-30)
    between = scaled.T @ scaled / n
    lags = np.arange(1, min(MAX_LAG_ROWS, n // 4) + 1)
    along = np.array([np.mean(scaled[lag:] * scaled[:-lag]) for lag in lags])
    return float(m / np.sum(between**2) / (1.0 + 2.0 * np.sum(along**2)))


def _mixtures(foretold: Floats, residuals: Floats) -> Floats:
    """Return the mixtures with the largest foretold part, shape (m, r)."""
    noise = residuals.T @ residuals
    noise += (1e-3 * np.trace(noise) / len(noise) + 1e-30) * np.eye(len(noise))
    root = np.linalg.inv(np.linalg.cholesky(noise))
    strength, vectors = np.linalg.eigh(root @ (foretold.T @ foretold) @ root.T)
    order = np.argsort(-strength)[:MAX_MIXTURES]
    share = strength[order] / (1.0 + strength[order])
    order = order[share >= min(MIN_MIXTURE_SHARE, float(share[0]))]
    return np.asarray(root.T @ vectors[:, order])
