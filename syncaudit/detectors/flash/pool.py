"""Pool the shape of a pulse over all bands of a camera."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from syncaudit.detectors.flash.shape import MIN_RAMP_PX, RampShape

__all__ = ["BandProfile", "half_light_std_px", "pool_shape"]

Floats = NDArray[np.float64]

# Fewest windows whose scatter tells the error of the half-light time.
MIN_PROFILES = 4
# What an encoder adds to the half-light row, in rows: measured with x264 at crf 23-28.
ENCODED_ROWS = 1.5
# Relative step of numeric derivatives; most steps of the search, and where its tail begins.
STEP = 0.01
N_STEPS = 10
LEAST_TAIL = 0.02


@dataclass(frozen=True, slots=True, eq=False)
class BandProfile:
    """Light around neighbouring edges, averaged over the column blocks and scaled to one pulse.

    Parameters
    ----------
    rows : ndarray, shape (n,)
    light : ndarray, shape (n,)
        The sum of the edges' signs (+1 upper, -1 lower) times their shares of arrived light.
    weights : ndarray, shape (n,)
        Inverse variances.
    edges, signs : ndarray, shape (j,)
        Rows and signs of the edges.
    """

    rows: Floats
    light: Floats
    weights: Floats
    edges: Floats
    signs: Floats


def pool_shape(profiles: Sequence[BandProfile], start: RampShape) -> RampShape:
    """Return the shape that all edges share.

    Weighted least squares over ramp and tail; each window keeps a level and a step of its own, each
    edge a shift (linearised).

    Parameters
    ----------
    profiles : sequence of BandProfile
        At least one.
    start : RampShape
        First guess.
    """
    return _fit(_padded(profiles), start)


def half_light_std_px(profiles: Sequence[BandProfile], shape: RampShape) -> float | None:
    """Return the one-sigma error of the half-light row of a pooled shape.

    What the windows' own misfits say, by the sandwich formula with derivatives by differences
    (White, "Maximum likelihood estimation of misspecified models", Econometrica 50, 1982,
    doi:10.2307/1912526), and `ENCODED_ROWS`. None below four windows.
    """
    n = len(profiles)
    if n < MIN_PROFILES:
        return None
    table = _padded(profiles)
    nudges = (
        (STEP * shape.ramp_px, 0.0),
        (0.0, STEP * shape.half_px if shape.tail_px > 0.0 else 0.0),
    )
    start = _residuals(table, shape)
    slopes, halves = [], []
    for ramp, tail in nudges:
        if ramp or tail:
            other = RampShape(shape.ramp_px + ramp, shape.tail_px + tail)
            slopes.append((_residuals(table, other) - start) / (ramp + tail))
            halves.append((other.half_px - shape.half_px) / (ramp + tail))
    jacobian = np.stack(slopes, axis=-1)  # (profiles, rows, parameters)
    normal = np.einsum("eni,enj->ij", jacobian, jacobian)
    inverse = np.linalg.inv(normal + 1e-9 * np.trace(normal) * np.eye(len(slopes)))
    scores = np.einsum("eni,en->ei", jacobian, start)
    scores -= scores.mean(axis=0)
    covariance = inverse @ (scores.T @ scores) @ inverse * n / (n - 2.0)
    gradient = np.array(halves)
    random_px = np.sqrt(gradient @ covariance @ gradient)
    return float(np.hypot(random_px, ENCODED_ROWS))


_Table = tuple[Floats, ...]


def _padded(profiles: Sequence[BandProfile]) -> _Table:
    """Stack offsets (p, j, n), signs (p, j, 1), light and roots of weights (p, n).

    Padding has sign 0 and weight 0.
    """
    n = max(profile.light.size for profile in profiles)
    n_edges = max(profile.edges.size for profile in profiles)
    offsets = np.zeros((len(profiles), n_edges, n))
    signs = np.zeros((len(profiles), n_edges, 1))
    light, root = np.zeros((2, len(profiles), n))
    for i, profile in enumerate(profiles):
        k, m = profile.light.size, profile.edges.size
        offsets[i, :m, :k] = profile.rows - profile.edges[:, None]
        signs[i, :m, 0] = profile.signs
        light[i, :k] = profile.light
        root[i, :k] = np.sqrt(profile.weights / np.sum(profile.weights))
    return offsets, signs, light, root


def _fit(table: _Table, start: RampShape) -> RampShape:
    """Search ramp (by its logarithm) and tail, both in half-light rows of the first guess."""
    unit = start.half_px

    def shape_of(x: Floats) -> RampShape:
        return RampShape(max(unit * float(np.exp(x[0])), MIN_RAMP_PX), unit * float(x[1]))

    def residuals(x: Floats) -> Floats:
        return _residuals(table, shape_of(x)).ravel()

    found = least_squares(
        residuals,
        [np.log(start.ramp_px / unit), max(start.tail_px / unit, LEAST_TAIL)],
        bounds=([-5.0, 0.0], [3.0, 5.0]),
        diff_step=[STEP, STEP],
        xtol=1e-3,
        ftol=1e-4,
        max_nfev=N_STEPS,
    )
    return shape_of(found.x)


def _residuals(table: _Table, shape: RampShape) -> Floats:
    """Return what a shape leaves of each window, times the roots of the weights."""
    offsets, signs, light, root = table
    curve = np.sum(signs * shape.cdf(offsets), axis=1, keepdims=True)
    slopes = np.abs(signs) * shape.slope(offsets)
    columns = np.concatenate((np.ones_like(curve), curve, slopes), axis=1) * root[:, None]
    target = light * root
    normal = columns @ columns.swapaxes(1, 2) + 1e-12 * np.eye(columns.shape[1])
    found = np.linalg.solve(normal, columns @ target[..., None])
    residuals: Floats = target - (columns * found).sum(axis=1)
    return residuals
