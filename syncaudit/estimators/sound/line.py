"""Fit a robust line, with at most one step, to the offsets of blocks of sound."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from syncaudit.dsp.robust import spread, student_widening
from syncaudit.estimators.sound.blocks import MIN_BLOCKS
from syncaudit.model.arrays import Bools, Floats

# A speaker who moves by 1.7 m, or a change of speaker, changes the offset by 5 ms, which is not a
# step.
MIN_STEP_S = 5e-3
# A step must reduce the mean deviation from the line to this share of that without a step.
STEP_GAIN = 0.6
# A clock jumps at once, the path of a sound that passes by changes for seconds, and talkers who
# take turns scatter: share of the jump that the blocks beside it may lack, and all may scatter by.
MAX_GRADUAL = 0.1
# Smaller bends of the track are due to the rooms (reflections that come and go).
STEADY_S = 5e-5
# Blocks this close to the line have errors, but lie on it.
NEAR_S = 1e-4


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BlockLine:
    """Offset, drift and step of blocks."""

    # Offset at zero, and its change.
    level_s: float
    slope: float
    # Standard errors.
    level_std_s: float
    slope_std: float
    scatter_s: float  # scatter of the kept blocks about the line
    unsteady_s: float  # half of a jump too small to be reported as a step
    is_kept: Bools  # shape (n,): blocks that are not outliers
    is_near: Bools  # shape (n,): those, and blocks whose error is less than a lobe
    # Change of the offset, and its standard error.
    step_s: float | None = None
    step_std_s: float | None = None
    split: int | None = None  # first block after the step


def fit_blocks(x: Floats, y: Floats, *, bound_s: float, with_drift: bool) -> BlockLine:
    """Fit offset, drift and at most one step by least squares without outliers.

    Parameters
    ----------
    x : ndarray, shape (n,)
        Times in order, zero where the offset is wanted.
    y : ndarray, shape (n,)
        Offsets in seconds.
    bound_s : float
        Smallest error of a block: their scatter may be small by luck.
    with_drift : bool
        Whether a drift is wanted; shorter spans with many blocks get a slope all the same, since
        the drift is real there too.
    """
    is_kept = np.ones(x.size, dtype=bool)
    slopes = with_drift or x.size >= 8
    split, jump, gradual = _best_split(x, y, slopes)
    is_step = abs(jump) >= MIN_STEP_S and gradual <= MAX_GRADUAL * abs(jump)
    for _ in range(6):
        design = _design(x, slopes, split if is_step else None)
        beta, inverse, residual = _least_squares(design, y, is_kept)
        new = np.abs(residual) <= max(4.5 * spread(residual[is_kept], 0.0), 2e-6)
        if np.count_nonzero(new) < MIN_BLOCKS + is_step or np.array_equal(new, is_kept):
            break
        is_kept = new
    n = int(np.count_nonzero(is_kept))
    free = max(1, n - design.shape[1])
    scatter = float(np.sqrt(np.sum(residual[is_kept] ** 2) / free))
    wide = _kinship(residual[is_kept]) * student_widening(free)
    stds = wide * max(scatter, bound_s, 1e-12) * np.sqrt(np.diag(inverse))
    return BlockLine(
        level_s=float(beta[0]),
        slope=float(beta[1]) if slopes else 0.0,
        level_std_s=float(stds[0]),
        slope_std=float(stds[1]) if slopes else 0.0,
        scatter_s=scatter,
        unsteady_s=0.5 * abs(jump) if split is not None and not is_step else 0.0,
        is_kept=is_kept,
        is_near=is_kept | (np.abs(residual) < NEAR_S),
        step_s=float(beta[-1]) if is_step else None,
        step_std_s=float(np.hypot(stds[-1], gradual)) if is_step else None,
        split=split if is_step else None,
    )


def _design(x: Floats, slopes: bool, split: int | None) -> Floats:
    """Return columns level, slope, step; the step is zero on the side where x is zero."""
    columns = [np.ones_like(x)]
    if slopes:
        columns.append(x)
    if split is not None:
        is_after = np.arange(x.size) >= split
        zero_is_after = x[split - 1] + x[split] < 0.0
        columns.append(is_after.astype(np.float64) - float(zero_is_after))
    return np.column_stack(columns)


def _least_squares(design: Floats, y: Floats, is_kept: Bools) -> tuple[Floats, Floats, Floats]:
    """Return the parameters, their unit covariance and the residuals of all rows."""
    used = design[is_kept]
    inverse = np.linalg.pinv(used.T @ used)
    centre = float(np.mean(y[is_kept]))
    beta = inverse @ (used.T @ (y[is_kept] - centre))
    residual = y - centre - design @ beta
    beta[0] += centre
    return beta, np.asarray(inverse, dtype=np.float64), residual


def _best_split(x: Floats, y: Floats, slopes: bool) -> tuple[int | None, float, float]:
    """Return the first block after the best jump, its size, and by how much blocks depart from it.

    (None, 0, 0) if there is none.
    """
    if x.size < 2 * MIN_BLOCKS:
        return None, 0.0, 0.0
    plain, _, _ = _least_deviation(_design(x, slopes, None), y)
    best, at, jump, gradual = plain, None, 0.0, 0.0
    for split in range(MIN_BLOCKS, x.size - MIN_BLOCKS + 1):
        cost, beta, residual = _least_deviation(_design(x, slopes, split), y)
        if cost < best:
            best, at, jump = cost, split, float(beta[-1])
            gradual = max(abs(float(residual[split] - residual[split - 1])), spread(residual, 0.0))
    if at is None or best > STEP_GAIN * plain or abs(jump) < STEADY_S:
        return None, 0.0, 0.0
    return at, jump, gradual


def _least_deviation(design: Floats, y: Floats) -> tuple[float, Floats, Floats]:
    """Return the mean absolute deviation, the parameters and residuals (L1 by reweighting)."""
    centre = float(np.median(y))
    z = y - centre
    weight = np.ones(y.size)
    for _ in range(8):
        weighted = design * weight[:, None]
        beta = np.linalg.pinv(design.T @ weighted) @ (weighted.T @ z)
        residual = z - design @ beta
        weight = 1.0 / np.maximum(np.abs(residual), 1e-7)
    return float(np.mean(np.abs(residual))), np.asarray(beta), residual


def _kinship(residual: Floats) -> float:
    """Return the factor by which errors of sums grow, from the correlation of neighbours.

    First-order autoregression: ``sqrt((1 + r) / (1 - r))``, where r exceeds chance (2 / sqrt(n)).
    """
    if residual.size < 8:
        return 1.0
    power = float(np.sum(residual**2))
    r = float(np.sum(residual[1:] * residual[:-1])) / power if power > 0.0 else 0.0
    if r < 2.0 / np.sqrt(residual.size):
        return 1.0
    r = min(r, 0.98)
    return float(np.sqrt((1.0 + r) / (1.0 - r)))
