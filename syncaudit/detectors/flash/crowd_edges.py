"""Tell how well the steps of a crowded frame are known, and which of them convince."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syncaudit.detectors.flash.edges import FLOOR_ROWS, MIN_BLOCKS, Edge
from syncaudit.detectors.flash.overlapping_pulses import OverlappingPulses
from syncaudit.detectors.flash.shape import RampShape
from syncaudit.detectors.flash.still import StillPicture

__all__ = ["CrowdedFrame", "crowded_edges"]

Singles = NDArray[np.float32]
Floats = NDArray[np.float64]

# Error of the encoded levels on the way through a ramp: every frame of a strobe differs from the
# one it was predicted by in all of its rows (measured with x264 at crf 23).
ENCODED_LEVELS = 0.5
# Largest misfit around an edge, in units of light.
MAX_MISFIT = 0.06
# An edge must be as high as one pulse within this and so many errors.
HEIGHT_TOLERANCE = 0.15
HEIGHT_SIGMAS = 3.0
# Blocks agree that see an edge within this of the others.
AGREE_ROWS = 6.0
MAX_ROW_STD = 2.0
# Rows that an edge needs on either side of its ramp, and over which errors hang together.
MIN_PLATEAU = 6
CORRELATED_ROWS = 12


@dataclass(frozen=True, slots=True, eq=False)
class CrowdedFrame:
    """A frame with its steps.

    Parameters
    ----------
    index : int
        Frame in file order.
    levels, clean : ndarray, shape (n, b)
        Brightness of its cells, and 1 where they are not clipped.
    stairs : OverlappingPulses
        Its steps.
    light : ndarray, shape (n,)
        Light of its rows in units of one pulse.
    """

    index: int
    levels: Singles
    clean: Singles
    stairs: OverlappingPulses
    light: Floats


def crowded_edges(
    frame: CrowdedFrame, picture: StillPicture, rows: Floats, shape: RampShape
) -> list[Edge]:
    """Return the convincing edges of a frame with their errors.

    The error of a row is the largest of the model's own, of a HAC estimate along the rows and of
    the scatter over the column blocks, each for all edges of the frame together: edges that overlap
    are known less well. What encoders do is added.

    Parameters
    ----------
    frame : CrowdedFrame
        Frame.
    picture : StillPicture
        What the light falls on.
    rows : ndarray, shape (n,)
        Rows of the cells.
    shape : RampShape
        Of one pulse.
    """
    x, signs = frame.stairs.x, frame.stairs.signs
    if not x.size:
        return []
    weights = (frame.clean * picture.gain**2 / picture.variance).astype(np.float64)
    info = weights.sum(axis=1)
    below = rows - x[:, None]
    curves = signs[:, None] * shape.cdf(below)
    slopes = np.concatenate((np.ones((1, rows.size)), -signs[:, None] * shape.slope(below)))
    model = curves.sum(axis=0)
    offset = float(np.average(frame.light - model, weights=np.maximum(info, 1e-9)))
    residual = frame.light - model - offset
    inverse = _inverse((slopes * info) @ slopes.T)
    known = np.where(picture.gain > 0.0, picture.gain, 1.0)
    apart = (frame.levels - picture.dark) / known - (model + offset)[:, None]
    across = (inverse @ slopes @ (weights * apart))[1:]  # (j, b)
    block_info = (slopes[1:] ** 2) @ weights
    n_lags = max(1, round(CORRELATED_ROWS / (rows[1] - rows[0])))
    random = np.maximum(
        np.diag(inverse)[1:],
        np.maximum(_along(inverse @ (slopes * info * residual), n_lags)[1:], _scatter(across)),
    )
    heights, height_stds = _heights(curves, info, residual + model, n_lags)
    shifts = across * block_info.sum(axis=1, keepdims=True) / np.maximum(block_info, 1e-9)
    steps = np.average(picture.gain, axis=0, weights=np.maximum(info, 1e-9)).astype(np.float64)
    ramp = 2.0 * shape.half_px
    n_blocks = np.count_nonzero(block_info > 0.1 * block_info.max(initial=1e-12), axis=1)
    edges = []
    for j in range(x.size):
        near = np.abs(below[j] - 0.5 * (shape.reach_px - shape.half_px)) < ramp
        misfit = float(np.sqrt(np.mean(residual[near] ** 2))) if near.any() else np.inf
        step = float(np.average(steps, weights=block_info[j] + 1e-12))
        encoded = ENCODED_LEVELS * ramp / max(step, 1.0)
        std = float(np.sqrt(random[j] + FLOOR_ROWS**2 + encoded**2))
        used = block_info[j] > 0.1 * block_info[j].max()
        n_agreeing = int(np.count_nonzero(used & (np.abs(shifts[j]) < AGREE_ROWS)))
        is_whole = (
            x[j] - shape.half_px > rows[0] + MIN_PLATEAU
            and x[j] + shape.reach_px < rows[-1] - MIN_PLATEAU
        )
        is_one = abs(heights[j] - 1.0) < HEIGHT_TOLERANCE + HEIGHT_SIGMAS * height_stds[j]
        if not (
            is_whole
            and is_one
            and misfit < MAX_MISFIT
            and std < MAX_ROW_STD
            and n_agreeing >= MIN_BLOCKS
            and 3 * n_agreeing >= 2 * n_blocks[j]
        ):
            continue
        edges.append(
            Edge(
                index=frame.index,
                is_upper=bool(signs[j] > 0.0),
                row=float(x[j]),
                row_std=std,
                lit_share=0.5,
                block_shift=shifts[j],
                block_info=block_info[j],
                block_step=steps,
            )
        )
    return edges


def _inverse(normal: Floats) -> Floats:
    ridge = 1e-9 * np.trace(normal) / len(normal) + 1e-12
    return np.asarray(np.linalg.inv(normal + ridge * np.eye(len(normal))))


def _along(scores: Floats, n_lags: int) -> Floats:
    """Return the variance of sums of scores that hang together along the rows (Newey-West)."""
    total = np.sum(scores**2, axis=1)
    for lag in range(1, min(n_lags, scores.shape[1] - 1) + 1):
        share = 2.0 * (1.0 - lag / (n_lags + 1.0))
        total += share * np.sum(scores[:, lag:] * scores[:, :-lag], axis=1)
    return np.asarray(np.maximum(total, 0.0))


def _scatter(across: Floats) -> Floats:
    """Return the variance that the scatter of the blocks says, shape (j,)."""
    n = max(2, int(np.count_nonzero(np.abs(across).sum(axis=0) > 0.0)))
    return np.asarray(np.sum(across**2, axis=1) * n / (n - 1.0))


def _heights(curves: Floats, info: Floats, light: Floats, n_lags: int) -> tuple[Floats, Floats]:
    """Return the height of each step, where they lie, and its error, shape (j,)."""
    columns = np.concatenate((np.ones((1, curves.shape[1])), curves))
    inverse = _inverse((columns * info) @ columns.T)
    found = inverse @ (columns * info) @ light
    scores = inverse @ (columns * info * (light - found @ columns))
    return found[1:], np.sqrt(_along(scores, n_lags))[1:]
