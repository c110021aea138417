"""Take the light of a frame's rows apart into steps of one height: pulses that overlap add up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from syncaudit.detectors.flash.shape import RampShape

__all__ = ["OverlappingPulses", "find_stairs", "first_unit", "improve_stairs", "stairs_light"]

Floats = NDArray[np.float64]

# Steps are looked for on a grid of about as many rows, in as many bins.
N_GRID = 120
# Price of a unit of steps, as a share of the light: the fewest steps that explain it are wanted.
FIRST_PRICE = 0.1
PRICE = 0.05
MAX_NNLS = 1500
# Steps of one sign that lie closer than this share of a ramp are one.
SAME_SHARE = 0.35
# Least height of a step, in units.
MIN_UNIT = 0.5
# Ramps that are tried first, and tails of pulses that are nearly all tail, as shares of the height.
FIRST_RAMPS = tuple(np.geomspace(0.012, 0.3, 12).tolist())
FIRST_TAILS = (0.02, 0.04, 0.08, 0.16)
TAIL_RAMP = 0.1
# Rows over which errors hang together, as a share of the height.
CORRELATED_SHARE = 1.0 / 40.0
N_STEPS = 3
MAX_MOVE_PX = 10.0


@dataclass(frozen=True, slots=True, eq=False)
class OverlappingPulses:
    """Steps of a frame.

    Parameters
    ----------
    x : ndarray, shape (j,)
        Half-light rows.
    signs : ndarray, shape (j,)
        +1 where light begins below (upper edges), -1 where it ends.
    """

    x: Floats
    signs: Floats


def stairs_light(stairs: OverlappingPulses, rows: Floats, shape: RampShape) -> Floats:
    """Return the light of steps of one unit in each row, up to a constant, shape (n,)."""
    below = rows - stairs.x[:, None]
    return np.asarray(stairs.signs @ shape.cdf(below)) if stairs.x.size else np.zeros(rows.size)


def find_stairs(
    light: Floats, weights: Floats, rows: Floats, shape: RampShape, unit: float | None = 1.0
) -> tuple[list[OverlappingPulses], float]:
    """Return the steps of frames, and the unit of light.

    Non-negative least squares over a grid of upper and of lower edges, with a price on each, so
    that few remain (Tibshirani, "Regression shrinkage and selection via the lasso", J. R. Statist.
    Soc. B 58, 1996); neighbours of one sign are joined.

    Parameters
    ----------
    light, weights : ndarray, shape (m, n)
        Light of the rows and inverse variances.
    rows : ndarray, shape (n,)
        Rows that the columns of `light` are of, evenly spaced.
    shape : RampShape
        Of one pulse.
    unit : float, optional
        Light of one pulse; found where not given.
    """
    every = max(1, rows.size // N_GRID)
    n = rows.size // every
    thin = rows[: n * every].reshape(n, every).mean(axis=1)
    weight = weights[:, : n * every].reshape(-1, n, every)
    total = np.maximum(weight.sum(axis=2), 1e-12)
    binned = (light[:, : n * every].reshape(-1, n, every) * weight).sum(axis=2) / total
    roots = np.sqrt(np.minimum(total / np.median(total, axis=1, keepdims=True), 1.0))
    pitch = float(thin[1] - thin[0])
    grid = np.arange(rows[0] - shape.reach_px, rows[-1] + shape.half_px, pitch)
    curves = shape.cdf(thin[:, None] - grid)
    table = np.concatenate((curves, -curves, np.ones((n, 1)), -np.ones((n, 1))), axis=1)
    price = np.full((1, table.shape[1]), FIRST_PRICE if unit is None else PRICE * unit)
    price[0, -2:] = 0.0
    found = []
    for y, root in zip(binned, roots, strict=True):
        system = np.concatenate((table * root[:, None], price))
        heights, _ = nnls(system, np.append(y * root, 0.0), maxiter=MAX_NNLS)
        found.append(_joined(heights[:-2].reshape(2, -1), grid, SAME_SHARE * 2.0 * shape.half_px))
    if unit is None:
        all_heights = np.array([height for steps in found for _, _, height in steps] or [1.0])
        tall = all_heights > 0.4 * np.quantile(all_heights, 0.95)
        unit = float(np.median(all_heights[tall]))
    kept = [[step for step in steps if step[2] > MIN_UNIT * unit] for steps in found]
    return [OverlappingPulses(*np.array(steps).reshape(-1, 3).T[:2]) for steps in kept], unit


def _joined(heights: Floats, grid: Floats, apart: float) -> list[tuple[float, float, float]]:
    """Return (row, sign, height) of groups of neighbouring grid steps, in row order."""
    steps = []
    for sign, column in zip((1.0, -1.0), heights, strict=True):
        used = np.flatnonzero(column > 1e-6)
        for group in np.split(used, np.flatnonzero(np.diff(grid[used]) > apart) + 1):
            if group.size:
                height = float(column[group].sum())
                steps.append((float(grid[group] @ column[group]) / height, sign, height))
    return sorted(steps)


def first_unit(light: Floats, rows: Floats, height: int) -> tuple[RampShape, float]:
    """Return the shape of a pulse and its unit that explain light best by few equal steps.

    Any light is a sum of many small steps. The shape is chosen by misfit and number of steps
    (Schwarz, "Estimating the dimension of a model", Ann. Statist. 6, 1978).

    Parameters
    ----------
    light : ndarray, shape (m, n)
        Of some frames.
    rows : ndarray, shape (n,)
        Rows of the picture.
    height : int
        Of the picture.
    """
    shapes = [RampShape(share * height) for share in FIRST_RAMPS]
    shapes += [RampShape(TAIL_RAMP * share * height, share * height) for share in FIRST_TAILS]
    tried = []
    for shape in shapes:
        stairs, unit = find_stairs(light, np.ones_like(light), rows, shape, None)
        stairs = [
            improve_stairs(one, y / unit, np.ones(y.size), rows, shape)
            for one, y in zip(stairs, light, strict=True)
        ]
        left = [
            y - unit * stairs_light(one, rows, shape) for one, y in zip(stairs, light, strict=True)
        ]
        misfit = float(np.mean([np.var(values) for values in left]))
        n_steps = float(np.mean([one.x.size for one in stairs]))
        n_free = 1.0 / CORRELATED_SHARE
        tried.append(
            (n_free * np.log(misfit + 1e-12) + 2.0 * np.log(n_free) * n_steps, shape, unit)
        )
    _, shape, unit = min(tried, key=lambda one: one[0])
    return shape, unit


def improve_stairs(
    stairs: OverlappingPulses, light: Floats, weights: Floats, rows: Floats, shape: RampShape
) -> OverlappingPulses:
    """Return stairs after some Gauss-Newton steps of their rows, the light's constant free."""
    x, signs = stairs.x, stairs.signs
    if not x.size:
        return stairs
    for _ in range(N_STEPS):
        below = rows - x[:, None]
        columns = np.concatenate((np.ones((1, rows.size)), -signs[:, None] * shape.slope(below)))
        weighted = columns * weights
        normal = weighted @ columns.T
        normal += 1e-6 * np.trace(normal) / len(normal) * np.eye(len(normal))
        moves = np.linalg.solve(normal, weighted @ (light - signs @ shape.cdf(below)))[1:]
        x = x + np.clip(moves, -MAX_MOVE_PX, MAX_MOVE_PX)
    return OverlappingPulses(x, signs)
