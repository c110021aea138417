"""Fit the edges of bright bands in windows of their own, and keep those that convince."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter1d

from syncaudit.detectors.flash_background import LitFrame
from syncaudit.detectors.flash_cells import EdgeWindow
from syncaudit.detectors.flash_coarse import MIN_PLATEAU, coarse_edges, row_profile, unexplained
from syncaudit.detectors.flash_fit import EdgeFit, fit_windows
from syncaudit.detectors.flash_shape import PulseShape
from syncaudit.detectors.flash_solver import MIN_KNOWN_BLOCKS

__all__ = ["BandEdge", "fit_edges", "without_vague"]

Floats = NDArray[np.float64]

MIN_SIGNIFICANCE = 25.0
MAX_ROW_STD = 2.0
# Two pulses that overlap, clipped light and moving scenery leave more of the light unexplained;
# what encoders leave of single pulses is 0-0.004.
MAX_MISFIT = 0.008
# Last step of a fit that is taken as converged.
CONVERGED_ROWS = 0.2
MIN_CONTRAST = 5.0
# Edges this much less certain than the camera's usual ones are left out where it has plenty.
VAGUE = 1.7
PLENTY = 60
# Part of a frame's variance that bands need not explain: scenery that moves is irregular.
MAX_UNEXPLAINED = 0.1
# Edges that are fitted together at most.
MAX_JOINT = 4
# Edges are fitted together unless as much of a ramp lies between their ramps: the coarse edges of
# narrow bands are found too far apart.
JOINT_SHARE = 0.6
# Bend of a border, as a share of the profile's range, that is a ramp: where the plateau is dark,
# and where it is lit and brightness varies with the scenery.
MAX_BEND = 0.06
MAX_BEND_LIT = 0.25


@dataclass(frozen=True, slots=True, eq=False)
class BandEdge:
    """A fitted edge.

    Parameters
    ----------
    index : int
        Frame in file order.
    is_upper : bool
        Whether light begins below it (the rows' exposures end in the pulse).
    fit : EdgeFit
        Row and error.
    """

    index: int
    is_upper: bool
    fit: EdgeFit
    lit_share: float


def edge_windows(lit: LitFrame, shape: PulseShape, length: int) -> list[EdgeWindow]:
    """Return the edges of a frame in the windows they are fitted in.

    Each edge has a window of its own that ends before the ramps of its neighbours, so that
    brightness which changes over the picture matters little. Edges with no plateau between them
    share a window.

    Parameters
    ----------
    lit : LitFrame
        Frame.
    shape : PulseShape
        Shape of the pulse.
    length : int
        Length of the step filter in rows.
    """
    profile = row_profile(lit)
    coarse = coarse_edges(profile, length, shape.half_px + shape.reach_px)
    if not coarse:
        return []
    left, lit_share = unexplained(profile, coarse, shape)
    if left > MAX_UNEXPLAINED:
        return []
    height = lit.excess.shape[0]
    before, after = shape.half_px, shape.reach_px
    rows = [row for row, _ in coarse]
    first, last = rows[0] - before, rows[-1] + after
    n_above = _undisturbed(profile[::-1], height - first, is_lit=not coarse[0][1])
    n_below = _undisturbed(profile, last, is_lit=coarse[-1][1])
    top, bottom = max(0.0, first - n_above), min(float(height), last + n_below)
    plateau = max(2.0 * MIN_PLATEAU, 0.5 * (before + after), 0.04 * height)
    groups: list[list[int]] = [[0]]
    for i in range(1, len(rows)):
        if rows[i] - rows[i - 1] < (1.0 + JOINT_SHARE) * (before + after) + MIN_PLATEAU:
            groups[-1].append(i)
        else:
            groups.append([i])
    windows = []
    for group in groups:
        i, k = group[0], group[-1]
        low = max(top, rows[i] - before - plateau)
        high = min(bottom, rows[k] + after + plateau)
        if i > 0:
            low = max(low, rows[i - 1] + after)
        if k + 1 < len(rows):
            high = min(high, rows[k + 1] - before)
        if rows[i] - low < before + MIN_PLATEAU or high - rows[k] < after + MIN_PLATEAU:
            continue
        if len(group) <= MAX_JOINT:
            windows.append(
                EdgeWindow(
                    lit=lit,
                    rows=tuple(float(rows[m]) for m in group),
                    is_upper=tuple(coarse[m][1] for m in group),
                    start=round(low),
                    stop=round(high),
                    lit_share=lit_share,
                )
            )
    return windows


def fit_edges(
    lits: Sequence[LitFrame], shape: PulseShape, length: int, *, is_rough: bool = False
) -> tuple[list[BandEdge], int]:
    """Return the edges of frames that many column blocks see alike, and how many were tried.

    Parameters
    ----------
    lits : sequence of LitFrame
        Frames.
    shape, length
        As for `edge_windows`.
    is_rough : bool
        Whether the shape is a guess that no block is known to agree with.
    """
    windows = [window for lit in lits for window in edge_windows(lit, shape, length)]
    edges = []
    for n_edges in range(1, MAX_JOINT + 1):
        chosen = [window for window in windows if len(window.rows) == n_edges]
        for window, fits in zip(chosen, fit_windows(chosen, shape), strict=True):
            edges += [
                BandEdge(window.lit.index, is_upper, fit, window.lit_share)
                for is_upper, fit in zip(window.is_upper, fits, strict=True)
                if fit is not None
                and is_convincing(fit, is_rough=is_rough)
                and (is_rough or _is_inside(fit, window, shape))
            ]
    n_tried = sum(len(window.rows) for window in windows)
    return sorted(edges, key=lambda edge: (edge.index, edge.fit.row)), n_tried


def without_vague(edges: Sequence[BandEdge]) -> list[BandEdge]:
    """Return the edges without the least certain: where the scenery changes along a ramp."""
    if len(edges) < PLENTY:
        return list(edges)
    usual = float(np.median([edge.fit.row_std for edge in edges]))
    return [edge for edge in edges if edge.fit.row_std < VAGUE * usual]


def _undisturbed(profile: Floats, outer: float, *, is_lit: bool) -> int:
    """Return how many rows from `outer` to the end of a profile lie on its plateau.

    A band that lies mostly outside the picture has no plateau to be found by, but its ramp bends
    the picture's first or last rows.
    """
    rest = profile[max(0, math.ceil(outer)) :]
    if rest.size < 2 * MIN_PLATEAU:
        return int(rest.size)
    share = MAX_BEND_LIT if is_lit else MAX_BEND
    level = uniform_filter1d(rest, 3, mode="nearest")
    bent = np.abs(level - float(np.median(rest[:MIN_PLATEAU]))) > share * float(np.ptp(profile))
    if not bent[-3:].all():
        return int(rest.size)
    straight = np.flatnonzero(~bent)
    n_straight = int(straight[-1]) - 2 if straight.size else 0
    return n_straight if n_straight >= 2 * MIN_PLATEAU else 0


def _is_inside(fit: EdgeFit, window: EdgeWindow, shape: PulseShape) -> bool:
    """Tell whether all of a ramp lies in the picture: its cut end is drawn by nothing."""
    is_below = fit.row - shape.half_px > 0.0
    return is_below and fit.row + shape.reach_px < window.lit.excess.shape[0]


def is_convincing(fit: EdgeFit, *, is_rough: bool = False) -> bool:
    """Tell whether an edge is one: right sign, strong, sharp, and alike across the picture."""
    if fit.step <= 0.0 or fit.significance < MIN_SIGNIFICANCE:
        return False
    return is_rough or (
        fit.converged_rows < CONVERGED_ROWS
        and fit.is_whole
        and fit.row_std < MAX_ROW_STD
        and fit.misfit < MAX_MISFIT
        and fit.contrast > MIN_CONTRAST
        and fit.n_agreeing >= MIN_KNOWN_BLOCKS
        and 3 * fit.n_agreeing >= 2 * fit.n_usable
    )
