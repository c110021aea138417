"""Predict increments from a driver at many delays, cross-validated over blocks of time.

A dozen joint rates and their products with the pose explain a third of any slow signal of ten
seconds by chance. So every delay is judged by how well a fit on some blocks of the clip predicts
the others (Stone, "Cross-validatory choice and assessment of statistical predictions", J. R. Stat.
Soc. B 36, 1974, doi:10.1111/j.2517-6161.1974.tb00994.x).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syncaudit.dsp.integral import RunningIntegral
from syncaudit.estimators.delay.increments import Increments
from syncaudit.model.arrays import Bools, Floats

N_BLOCKS = 6
RIDGES = (1e-3, 1e-2, 1e-1)


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


def joined(parts: Sequence[Moments]) -> Moments:
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
