"""Learn the ramp and the pattern that all flashes of a camera share, and time them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import median_filter
from scipy.optimize import least_squares

from syncaudit.detectors.flash.edges import Edge, FrameEdges, fit_rows, rough_edges, time_edges
from syncaudit.detectors.flash.pattern import LitFrames, find_pattern, row_light
from syncaudit.detectors.flash.shape import RampShape

__all__ = ["Learnt", "learn"]

Floats = NDArray[np.float64]

# Full light is what the brighter of the lit rows show.
FULL_PERCENTILE = 85
MEDIAN_ROWS = 61
N_ROUNDS = 6
SETTLED = 0.02
# Frames that the shape is learnt from.
N_LEARNT = 16
# Ramps that are tried first, in rows.
FIRST_RAMPS_PX = (2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0)
FIRST_BEND = 0.1
# A tail is believed where it leaves this share of what a box leaves.
TAIL_GAIN = 0.8
FIRST_TAIL = 0.9
MAX_BEND = 0.9
MAX_TAIL = 0.98
MIN_TAIL = 0.03
MAX_RAMP_PX = 1500.0
# Misfits beyond so many deviations count linearly.
ROBUST_SIGMAS = 10.0
N_STEPS = 10


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Learnt:
    """Edges of all frames, and what they have in common.

    Parameters
    ----------
    edges : list of Edge
        In the order of frames and rows.
    n_tried : int
        Edges that were tried.
    shape : RampShape
        Of their ramps.
    half_std_px : float
        Error of the half-light row of that shape.
    """

    edges: list[Edge]
    n_tried: int
    shape: RampShape
    half_std_px: float


def learn(lit: LitFrames) -> Learnt | None:
    """Return the edges of light in some frames, None where there are none.

    What full light adds to each cell, the shape of the ramps and the rows of the edges are
    estimated in turn until the shape settles. The shape is fitted with the rows free (variable
    projection, by a few Gauss-Newton steps inside of each).

    Parameters
    ----------
    lit : LitFrames
        From `gather_lit`.
    """
    light = _first_light(lit)
    shape = RampShape(FIRST_RAMPS_PX[4], 0.0, FIRST_BEND)
    has_tail = False
    found: tuple[list[Edge], Floats, int] | None = None
    for n_round in range(N_ROUNDS):
        pattern = find_pattern(lit, np.clip(light, 0.0, 1.0))
        light, info = row_light(lit, pattern)
        if n_round == 0:
            full = _scale(light, info)
            pattern, light, info = pattern * full, light / full, info * full**2
            shape = _first_shape(light, info)
        rough = _rough(light, info, shape)
        chosen = _to_learn(rough)
        if not chosen:
            return None
        before = shape
        if n_round == 1:
            shape, has_tail = _with_or_without_tail(light, info, rough, chosen, shape)
        else:
            shape = _fit_shape(light, info, rough, chosen, shape, has_tail=has_tail)[0]
        rough = _rough(light, info, shape)
        found = time_edges(lit, pattern, light, info, rough, shape)
        light = found[1]
        change = abs(shape.length_px - before.length_px) / shape.length_px
        if n_round > 1 and max(change, abs(shape.bend - before.bend)) < SETTLED:
            break
    assert found is not None
    return Learnt(
        edges=found[0],
        n_tried=found[2],
        shape=shape,
        half_std_px=max(1.5, 0.02 * shape.length_px),
    )


def _first_light(lit: LitFrames) -> Floats:
    """Return light as a share of the brightest that each row shows."""
    share = np.where(lit.is_known, lit.share, np.nan)
    share[share < 0.2 * np.nanmax(share, axis=0)] = np.nan
    has_any = ~np.isnan(share).all(axis=0)
    rows = np.arange(share.shape[1])
    full = np.nanpercentile(share[:, has_any], FULL_PERCENTILE, axis=0)
    full = median_filter(np.interp(rows, rows[has_any], full), MEDIAN_ROWS, mode="nearest")
    return np.clip(np.where(lit.is_known, lit.share, 0.0) / np.maximum(full, 1e-3), 0.0, 1.2)


def _scale(light: Floats, info: Floats) -> float:
    is_lit = (light > 0.4) & (info > 0.0)
    return float(np.percentile(light[is_lit], 75)) if is_lit.any() else 1.0


def _rough(light: Floats, info: Floats, shape: RampShape) -> list[FrameEdges]:
    return [
        rough_edges(row, weight > 0.0, shape.length_px)
        for row, weight in zip(light, info, strict=True)
    ]


def _to_learn(rough: Sequence[FrameEdges]) -> list[int]:
    """Return the frames with edges, or an even choice of them."""
    some = [i for i, edges in enumerate(rough) if edges.rows]
    return some[:: max(1, len(some) // N_LEARNT)]


def _misfit(
    light: Floats,
    info: Floats,
    rough: Sequence[FrameEdges],
    chosen: Sequence[int],
    shape: RampShape,
    n: int,
) -> Floats:
    """Return the weighted residuals of some frames, their rows fitted."""
    parts = []
    for i in chosen:
        _, curve, _ = fit_rows(light[i], info[i], rough[i], shape, n)
        parts.append(np.sqrt(info[i]) * (light[i] - curve))
    return np.concatenate(parts)


def _first_shape(light: Floats, info: Floats) -> RampShape:
    shapes = [RampShape(ramp, 0.0, FIRST_BEND) for ramp in FIRST_RAMPS_PX]
    costs = []
    for shape in shapes:
        rough = _rough(light, info, shape)
        chosen = _to_learn(rough)
        left = _misfit(light, info, rough, chosen, shape, 4) if chosen else np.array([np.inf])
        costs.append(float(np.sum(np.minimum(left**2, ROBUST_SIGMAS**2))))
    return shapes[int(np.argmin(costs))]


def _with_or_without_tail(
    light: Floats,
    info: Floats,
    rough: Sequence[FrameEdges],
    chosen: Sequence[int],
    start: RampShape,
) -> tuple[RampShape, bool]:
    box, box_cost = _fit_shape(light, info, rough, chosen, start, has_tail=False)
    length = start.ramp_px
    tailed = RampShape(length * (1.0 - FIRST_TAIL), 0.5 * length * FIRST_TAIL, start.bend)
    tail, tail_cost = _fit_shape(light, info, rough, chosen, tailed, has_tail=True)
    return (tail, True) if tail_cost < TAIL_GAIN * box_cost else (box, False)


def _fit_shape(
    light: Floats,
    info: Floats,
    rough: Sequence[FrameEdges],
    chosen: Sequence[int],
    start: RampShape,
    *,
    has_tail: bool,
) -> tuple[RampShape, float]:
    """Return the shape that draws some frames best, and what it leaves."""
    settled = list(rough)
    for i in chosen:
        rows, _, _ = fit_rows(light[i], info[i], rough[i], start)
        settled[i] = FrameEdges(
            rows=tuple(rows.tolist()), signs=rough[i].signs, is_lit=rough[i].is_lit
        )

    def shape_of(x: Floats) -> RampShape:
        length = float(np.exp(x[0]))
        part = float(x[2]) if has_tail else 0.0
        if part < MIN_TAIL:
            return RampShape(length, 0.0, float(x[1]))
        return RampShape(length * (1.0 - part), 0.5 * length * part, float(x[1]))

    def residuals(x: Floats) -> Floats:
        return _misfit(light, info, settled, chosen, shape_of(x), 2)

    length = start.ramp_px + 2.0 * start.tail_px
    first = [np.log(length), start.bend, 2.0 * start.tail_px / length]
    low = np.array([0.0, -MAX_BEND, -1e-9])
    high = np.array([np.log(MAX_RAMP_PX), MAX_BEND, MAX_TAIL])
    n = 3 if has_tail else 2
    margin = 1e-3
    found = least_squares(
        residuals,
        np.clip(first, low + margin, high - margin)[:n],
        bounds=(low[:n], high[:n]),
        loss="soft_l1",
        f_scale=ROBUST_SIGMAS,
        diff_step=0.02,
        max_nfev=N_STEPS,
    )
    return shape_of(found.x), float(found.cost)
