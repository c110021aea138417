"""Fit the edges of bands, over all column blocks and many windows at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syncaudit.detectors.flash_cells import EdgeWindow, stack_cells
from syncaudit.detectors.flash_pool import BandProfile
from syncaudit.detectors.flash_shape import PulseShape
from syncaudit.detectors.flash_solver import KNOWN_ROWS, EdgeSolver

__all__ = ["EdgeFit", "fit_windows"]

Floats = NDArray[np.float64]

N_ITERATIONS = 14
CONVERGED_ROWS = 0.02
# Column blocks agree within this.
AGREE_ROWS = 3.0
# Least error: interlocking of rows and transform blocks, and an error of the encoded levels on the
# way through a ramp, common to all blocks, that grows with what a frame's coding leaves in single
# cells (measured with x264 at crf 23-28: 0.2 levels where cells are left with 0.35, 0.36 where with
# 0.75).
FLOOR_ROWS = 0.05
FLOOR_LEVELS = 0.13
CODED_SHARE = 0.38
# What encoders round off of ramps that no plateau follows, in rows, and the plateau, in ramps, from
# which that does not matter.
ROUNDED_ROWS = 1.2
MIN_PLATEAU = 0.5
# What an encoder does to the half-light row of a pulse with a tail, in rows of error for a pulse
# that is all tail; boxes are symmetric.
SKEWED_ROWS = 0.5
# What scenery that changes its brightness along a ramp (a horizon) does to the row, as a share of
# the half-light rows for each unit of its deviation over its mean; and how far around it counts.
TEXTURE_SHARE = 0.08
TEXTURE_ROWS = 4
# How far a ramp may leave its window, in half-light rows.
MIN_WHOLE = -0.2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EdgeFit:
    """Where an edge lies and how well it is known.

    Parameters
    ----------
    row, row_std : float
        Row of the picture (0 is the first) and its one-sigma error.
    converged_rows : float
        Largest step of the last iteration.
    is_whole : bool
        Whether all of its ramp lies in the window.
    step : float
        Mean height of the edge in luma levels, negative where the fitted light is inverted.
    misfit : float
        Deviation of the light around the edge from the fit, in steps, without noise.
    significance : float
        Step in units of its own error.
    contrast : float
        Step in units of the residual's deviation, median of the blocks.
    n_usable, n_agreeing : int
        Column blocks that are not clipped, and those of them that know the edge by themselves
        and agree with the others.
    profile : BandProfile
        What the shape of the pulse is pooled from.
    block_shift, block_info, block_step : ndarray, shape (b,)
        How many rows lower each block sees the edge, the inverse variance of that, and its step.
    """

    row: float
    row_std: float
    converged_rows: float
    is_whole: bool
    step: float
    misfit: float
    significance: float
    contrast: float
    n_usable: int
    n_agreeing: int
    profile: BandProfile
    block_shift: Floats
    block_info: Floats
    block_step: Floats


def fit_windows(
    windows: Sequence[EdgeWindow], shape: PulseShape
) -> list[tuple[EdgeFit | None, ...]]:
    """Return the row of every edge of every window, None where it does not converge.

    Model, in block b and row r of a window whose edges j have signs s (+1 upper, -1 lower)::

        excess = n0_b + n1_b * background + (a_b + c_b * background) * sum_j s_j * F(r - row_j)

    The flash lights surfaces as their brightness says (c) and, by another direction or through the
    black level, not only (a); n takes up what the background misses. The four linear coefficients
    of each block are eliminated, the rows are found by Gauss-Newton steps (variable projection with
    Kaufman's approximation, "A variable projection method for solving separable nonlinear least
    squares problems", BIT 15, 1975, doi:10.1007/BF01932995), with Cauchy weights on cells and on
    blocks. The error is the larger of a HAC estimate along the rows and of the scatter over the
    blocks: background that moved is correlated both ways.

    Parameters
    ----------
    windows : sequence of EdgeWindow
        All of one number of edges.
    shape : PulseShape
        Light below an edge.
    """
    if not windows:
        return []
    solver = EdgeSolver(stack_cells(windows, shape), windows, shape)
    for _ in range(N_ITERATIONS):
        solver.improve()
        if np.max(np.abs(solver.move[solver.is_inside]), initial=0.0) < CONVERGED_ROWS:
            break
    return _results(solver, _textures(windows, solver))


def _results(solver: EdgeSolver, textures: Floats) -> list[tuple[EdgeFit | None, ...]]:
    usable, step = solver.usable, solver.step
    certain = np.where(usable, 1.0 / (solver.variance * solver.step_var), 0.0)
    precision = np.maximum(certain.sum(axis=1), 1e-12)
    steps = np.sum(certain * step, axis=1) / precision
    contrasts = np.abs(step) / np.sqrt(solver.variance)
    agreeing = (solver.std < KNOWN_ROWS) & (np.abs(solver.shift) < AGREE_ROWS)
    agreeing &= (usable & (step * steps[:, None] > 0.0))[:, None]
    lights, powers = solver.lights()
    misfits = _misfits(solver, lights, powers)
    plateaus = _plateaus(solver)
    left = np.abs(steps) / np.maximum(_medians_of(contrasts, usable), 1e-9)
    uneven = (TEXTURE_SHARE * solver.shape.half_px * textures) ** 2
    stds = np.sqrt(
        solver.variances() + _systematic_variances(solver, steps, left, plateaus) + uneven
    )
    found: list[tuple[EdgeFit | None, ...]] = []
    for i in range(len(steps)):
        if not solver.is_inside[i]:
            found.append((None,) * solver.x.shape[1])
            continue
        is_used = powers[i] > 0.0
        profile = BandProfile(
            solver.cells.rows[i][is_used],
            lights[i][is_used],
            powers[i][is_used],
            solver.x[i],
            solver.signs[i],
        )
        found.append(
            tuple(
                EdgeFit(
                    row=float(solver.x[i, j]),
                    row_std=float(stds[i, j]),
                    converged_rows=float(np.max(np.abs(solver.move[i]))),
                    is_whole=bool(plateaus[i, j] > MIN_WHOLE * solver.shape.half_px),
                    step=float(steps[i]),
                    misfit=float(misfits[i]),
                    significance=float(abs(steps[i]) * np.sqrt(precision[i])),
                    contrast=float(np.median(contrasts[i][usable[i]])),
                    n_usable=int(np.count_nonzero(usable[i])),
                    n_agreeing=int(np.count_nonzero(agreeing[i, j])),
                    profile=profile,
                    block_shift=solver.shift[i, j],
                    block_info=solver.info[i, j],
                    block_step=step[i],
                )
                for j in range(solver.x.shape[1])
            )
        )
    return found


def _textures(windows: Sequence[EdgeWindow], solver: EdgeSolver) -> Floats:
    """Return the deviation of the background along each ramp over its mean, shape (w, j)."""
    half = solver.shape.half_px + TEXTURE_ROWS
    textures = np.zeros(solver.x.shape)
    for i, window in enumerate(windows):
        background = window.lit.background
        for j, row in enumerate(solver.x[i].tolist()):
            start, stop = max(0, round(row - half)), max(0, round(row + half) + 1)
            info = np.where(np.isfinite(solver.info[i, j]), solver.info[i, j], 0.0)
            near = background[start:stop]
            if near.shape[0] > 1 and info.sum() > 0.0:
                uneven = near.std(axis=0) / np.maximum(near.mean(axis=0), 1.0)
                textures[i, j] = float(info @ uneven / info.sum())
    return textures


def _misfits(solver: EdgeSolver, lights: Floats, powers: Floats) -> Floats:
    left = np.sum(powers * (lights - solver.curves.sum(axis=1)) ** 2, axis=1)
    # Noise alone leaves one unit for every bin.
    left = np.maximum(left - solver.cells.n_bins, 0.0)
    return np.asarray(np.sqrt(left / np.maximum(powers.sum(axis=1), 1e-12)))


def _plateaus(solver: EdgeSolver) -> Floats:
    """Return the rows between each edge's ramp and the next one or the window's end, (w, j)."""
    x, before, after = solver.x, solver.shape.half_px, solver.shape.reach_px
    starts = np.concatenate((solver.start, x[:, :-1] + after), axis=1)
    stops = np.concatenate((x[:, 1:] - before, solver.stop), axis=1)
    return np.asarray(np.minimum(x - before - starts, stops - x - after))


def _medians_of(values: Floats, is_value: NDArray[np.bool_]) -> Floats:
    """Return the median of each row's values that are any, 0 where none is."""
    chosen = [row[is_one] for row, is_one in zip(values, is_value, strict=True)]
    return np.array([float(np.median(row)) if row.size else 0.0 for row in chosen])


def _systematic_variances(
    solver: EdgeSolver, steps: Floats, left: Floats, plateaus: Floats
) -> Floats:
    """Return the variance of what shifts edges alike in all blocks, shape (w, j).

    `left` is the deviation of single cells from the fit, in luma levels, shape (w,).
    """
    half = solver.shape.half_px
    level = (
        np.maximum(FLOOR_LEVELS, CODED_SHARE * left) * 2.0 * half / np.maximum(np.abs(steps), 1.0)
    )
    rounded = ROUNDED_ROWS * np.clip(1.0 - plateaus / (2.0 * MIN_PLATEAU * half), 0.0, 1.0)
    skewed = SKEWED_ROWS * solver.shape.skewness
    variances: Floats = FLOOR_ROWS**2 + level[:, None] ** 2 + rounded**2 + skewed**2
    return variances
