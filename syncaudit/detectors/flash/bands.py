"""Determine which edges belong to one flash, and which instant of its light each dates.

The effect of a video encoder's dead zone on the edges is removed first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from syncaudit.detectors.flash.edges import Edge
from syncaudit.detectors.flash.shape import LIKE_EXPOSURE, RampShape
from syncaudit.dsp.robust import cauchy_weights, mad_std
from syncaudit.model.arrays import Floats, Ints

# Two edges form a band if their distance matches the common one within this many rows plus this
# share of it.
GAP_ROWS = 3.0
GAP_SHARE = 0.1
# Minimum number of bands for their scatter to be used.
MIN_BANDS = 4
# Share of the bands that must have the common height for flashes to count as equally long.
MIN_EQUAL = 0.5

_NONE, _NO_INTS = np.empty(0), np.empty(0, dtype=np.int64)

# With fewer edges, the slope over the blocks is noise.
MIN_EDGES = 4
# Single-block edges farther off than this (rows) have another cause.
MAX_BLOCK_SHIFT = 6.0
# Maximum weight of one block in an edge.
MAX_BLOCK_SHARE = 0.2
# Share of the shift that remains after correction, measured with x264 at crf 26-28 for
# exposures of 2-15 ms and flashes of 25-60 levels: 0.3-0.6.
LEFT_SHARE = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class DatedRows:
    """Rows that date lights, shape (n,): columns of `FlashEdges`, from the top of the image.

    `index` and `band` are the frame and the number of the band; `row`, `row_std` and `part` the
    row, its error, and the part of the exposure that lies between row and instant; `sense` is 0 for
    the half-light instants of pulses, +1 and -1 for a light that goes on or off. `half_px` are the
    rows from onset to half-light, 0 where onsets are dated themselves, and `half_std_px` their
    error, from the scatter of the band heights.
    """

    index: Ints
    band: Ints
    row: Floats
    row_std: Floats
    part: Floats
    sense: Ints
    half_px: float
    half_std_px: float = 0.0


NO_ROWS = DatedRows(_NO_INTS, _NO_INTS, _NONE, _NONE, _NONE, _NO_INTS, 0.0)


def date_rows(
    edges: Sequence[Edge],
    *,
    shape: RampShape,
    exposure_px: float | None,
    least_exposure_px: float = 0.0,
    half_std_px: float = 0.0,
    stays: bool = False,
) -> DatedRows:
    """Group edges into bands, widen errors by the scatter of their heights, and choose parts.

    A light of w rows under an exposure of e rows draws a trapezoid whose edges lie max(w, e) apart
    with ramps of min(w, e) rows.

    - If the light is shorter than the exposure, the edges date the instant of half its light by the
      end (+1/2) and the beginning (-1/2) of their rows' exposures.
    - If it is longer and all flashes are equally long, the mean of both edges dates half-light
      (part 0); a single edge is moved by half of the common height.
    - If it is longer and the flashes vary in length, or it outlasts the exposure of the whole
      image, each edge by itself dates the light going on or off (part 0).

    Lights that stay on for frames (`stays`) are longer. A stated exposure identifies other longer
    lights: it then matches the ramps rather than the height of the bands. Bands without a common
    height have ramps as long as the exposure, or blurred by it. Where the exposure is not known in
    rows, flashes are assumed to be shorter if their bands share one height, or if their ramps are
    shorter than the least possible exposure (rows are read within a frame period).

    Equally long flashes have bands of the same true height; where heights scatter more than the
    errors predict (encoder, moving background), the excess is added to every error.

    There must be some edges. `half_std_px` is the error of the half-light row on a ramp, which
    moves the two edges of a band apart or together: it affects a single edge that stands in for the
    middle of its band.
    """
    index = np.array([edge.index for edge in edges], dtype=np.int64)
    rows = np.array([edge.row for edge in edges])
    stds = np.array([edge.row_std for edge in edges])
    is_upper = np.array([edge.is_upper for edge in edges])
    up, low = _candidates(edges, rows, shape.ramp_px / LIKE_EXPOSURE)
    n_frames = np.unique(index[up]).size
    height = _common_height(rows[low] - rows[up], stds[up] ** 2 + stds[low] ** 2, exposure_px)
    up, low = _pairs(up, low, rows[low] - rows[up] - height, GAP_ROWS + GAP_SHARE * height)
    is_equal = up.size > MIN_EQUAL * max(n_frames, 1)
    ramp = shape.ramp_px
    if stays:
        is_longer, is_equal = True, False
    elif exposure_px is None:
        is_longer = not is_equal and LIKE_EXPOSURE * ramp > least_exposure_px
    else:
        limit = _log_ratio(height, exposure_px) if is_equal else math.log(LIKE_EXPOSURE)
        is_longer = (shape.blur_px > 0.0 and not is_equal) or _log_ratio(ramp, exposure_px) < limit
    nothing = np.zeros(rows.size, dtype=np.int64)
    number = np.arange(rows.size, dtype=np.int64)
    if is_longer and (not is_equal or up.size < MIN_BANDS):
        sense = np.where(is_upper, 1, -1).astype(np.int64)
        return DatedRows(index, number, rows, stds, np.zeros(rows.size), sense, 0.0)
    gaps = rows[low] - rows[up]
    off = gaps - np.median(gaps) if gaps.size else gaps
    if gaps.size >= MIN_BANDS:
        limit = 3.0 * mad_std(off)
        scatter = float(np.sum(np.clip(off, -limit, limit) ** 2)) / (gaps.size - 1)
        claimed = float(np.mean(stds[up] ** 2 + stds[low] ** 2))
        stds = np.sqrt(stds**2 + max(0.0, 0.5 * (scatter - claimed)))
    number[low] = up
    part = np.where(is_upper, 0.5, -0.5)
    if not is_longer:
        return DatedRows(index, number, rows, stds, part, nothing, shape.half_px)
    rows += part * height
    rows[up] = 0.5 * (rows[up] + rows[low])
    single = np.setdiff1d(np.arange(rows.size), (up, low))
    stds[up] = 0.5 * np.hypot(stds[up], stds[low])
    stds[single] = np.hypot(stds[single], half_std_px)
    kept = np.setdiff1d(np.arange(rows.size), low)
    return DatedRows(
        index[kept],
        number[kept],
        rows[kept],
        stds[kept],
        np.zeros(kept.size),
        nothing[kept],
        0.5 * height,
        0.5 * mad_std(off),
    )


def dated_by_ends(dated: DatedRows, ramp_px: float) -> DatedRows:
    """Return both ends of every ramp instead of its middle, to constrain the exposure as well.

    A light that goes on or off and stays first affects rows at the end of their exposure (+1/2),
    and fully affects rows from the one whose exposure begins with the change (-1/2). All rows of
    `dated` date such lights, by ramps of `ramp_px`.
    """
    part = np.repeat([0.5, -0.5], dated.row.size)
    return replace(
        dated,
        index=np.tile(dated.index, 2),
        band=np.tile(dated.band, 2),
        row=np.tile(dated.row, 2) - part * ramp_px,
        # The mean of both is as uncertain as their middle.
        row_std=np.tile(dated.row_std, 2) * math.sqrt(2.0),
        part=part,
        sense=np.tile(dated.sense, 2),
    )


def _log_ratio(one: float, other: float) -> float:
    return abs(math.log(max(one, 1e-3) / max(other, 1e-3)))


def _candidates(edges: Sequence[Edge], rows: Floats, least_px: float) -> tuple[Ints, Ints]:
    """Return the upper and the lower of two edges of one frame between which light may lie.

    A band is at least as high as its ramps are long.
    """
    frames: dict[int, list[int]] = {}
    for i, edge in enumerate(edges):
        frames.setdefault(edge.index, []).append(i)
    found = [
        (up, low)
        for members in frames.values()
        for up in members
        for low in members
        if edges[up].is_upper and not edges[low].is_upper and rows[low] - rows[up] > least_px
    ]
    up, low = np.array(found, dtype=np.int64).reshape(-1, 2).T
    return up, low


def _common_height(heights: Floats, variance: Floats, exposure_px: float | None) -> float:
    """Return the distance from an upper to a lower edge that most bands share; 0 without any.

    Bands are weighted by how well their edges are known: where the image cuts a band, one of them
    is a guess. Flashes come irregularly, so other distances scatter. Among several about equally
    common distances, as of periodic pulses, the one nearest to the stated exposure is chosen, or
    else the shortest.
    """
    if not heights.size:
        return 0.0
    order = np.argsort(heights, kind="stable")
    ordered = heights[order]
    first = np.searchsorted(ordered, ordered - GAP_ROWS, side="left")
    last = np.searchsorted(ordered, ordered + GAP_ROWS, side="right")
    sums = np.append(0.0, np.cumsum(1.0 / (1.0 + variance[order])))
    counts = sums[last] - sums[first]
    common = ordered[2 * counts > counts.max()]
    chosen = common[0] if exposure_px is None else common[np.argmin(np.abs(common - exposure_px))]
    return float(np.median(ordered[np.abs(ordered - chosen) <= GAP_ROWS]))


def _pairs(up: Ints, low: Ints, off: Floats, limit: float) -> tuple[Ints, Ints]:
    """Return the candidates of about the common height, each edge in at most one pair."""
    taken: set[int] = set()
    pairs = []
    for i in np.argsort(np.abs(off), kind="stable").tolist():
        if abs(off[i]) < limit and not taken & {up[i], low[i]}:
            pairs.append(i)
            taken |= {up[i], low[i]}
    return up[pairs], low[pairs]


def without_dead_zone(edges: Sequence[Edge]) -> list[Edge]:
    """Return the edges of one camera where they would lie without an encoder's dead zone.

    Encoders quantise the difference from their prediction towards zero, so every ramp comes out
    some luma levels nearer to the prediction. Edges thus move away from the side that was predicted
    worse, by ``k / step`` rows: the fainter the flash, the more, up to three rows at 25 levels. The
    prediction is the previous frame, or that frame brightened as a whole (weighted prediction),
    which puts it between dark and lit by the share f of the frame that is lit. Hence, with sign +1
    for upper edges and -1 for lower ones::

        shift = sign * (k0 * (1 - 2 f) + k1) / step

    The column blocks of one edge have different steps: k0 and k1 are estimated from the scatter of
    single-block edges around their common edge, over all edges of the camera, without using the
    exposure or true times. What does not depend on the step (a tone curve) remains; it moves upper
    and lower edges apart equally and acts like a longer exposure.

    Not for lasting lights, as tone curves bend each cell according to its brightness, nor for tails
    (xenon tubes), whose foot lies in the dark: both look like a dead zone.
    """
    n = len(edges)
    if n < MIN_EDGES:
        return list(edges)
    signs = np.array([1.0 if edge.is_upper else -1.0 for edge in edges])
    shares = np.array([edge.lit_share for edge in edges])
    factors = np.stack((signs * (1.0 - 2.0 * shares), signs), axis=1)
    info = np.stack([edge.block_info for edge in edges])
    steps = np.stack([np.abs(edge.block_step) for edge in edges])
    shifts = np.stack([edge.block_shift for edge in edges])
    weights = info / info.sum(axis=1, keepdims=True)
    weights = np.minimum(weights, MAX_BLOCK_SHARE)
    weights = weights * (np.abs(shifts) < MAX_BLOCK_SHIFT) + 1e-12
    weights /= weights.sum(axis=1, keepdims=True)
    inverse = 1.0 / np.maximum(steps, 1.0)
    mean_inverse = np.sum(weights * inverse, axis=1)
    apart = inverse - mean_inverse[:, None]
    rows = (apart[:, :, None] * factors[:, None, :]).reshape(-1, 2)
    values = (shifts - np.sum(weights * shifts, axis=1, keepdims=True)).ravel()
    found, covariance = _robust_fit(rows, values, weights.ravel())
    columns = factors * mean_inverse[:, None]
    removed: Floats = columns @ found
    fit_variance = np.einsum("ni,ij,nj->n", columns, covariance, columns)
    left = LEFT_SHARE * float(np.sqrt(np.mean(removed**2)))
    added = np.sqrt(fit_variance + left**2)
    return [
        replace(edge, row=edge.row - shift, row_std=float(np.hypot(edge.row_std, std)))
        for edge, shift, std in zip(edges, removed.tolist(), added.tolist(), strict=True)
    ]


def _robust_fit(rows: Floats, values: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return weighted least-squares coefficients with Cauchy weights, and their covariance."""
    found: Floats = np.zeros(2)
    scale = max(mad_std(values), 1e-6)
    for _ in range(6):
        residuals = values - rows @ found
        scale = max(mad_std(residuals), 1e-6)
        used = weights * cauchy_weights(residuals / scale)
        normal = (rows * used[:, None]).T @ rows
        # A ridge of 1 %: the two columns are collinear where all frames are lit to the same share.
        normal += 0.01 * np.trace(normal) * np.eye(2) + 1e-12 * np.eye(2)
        found = np.linalg.inv(normal) @ (rows * used[:, None]).T @ values
    inverse = np.linalg.inv(normal)
    scores = rows * (used * (values - rows @ found))[:, None]
    covariance: Floats = inverse @ (scores.T @ scores) @ inverse
    return found, covariance
