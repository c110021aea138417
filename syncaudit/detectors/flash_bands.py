"""Tell which edges belong to one pulse, and what part of the exposure dates each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syncaudit.detectors.flash_edges import BandEdge
from syncaudit.detectors.flash_shape import PulseShape
from syncaudit.dsp.robust import mad_std

__all__ = ["DatedRows", "date_rows"]

Floats = NDArray[np.float64]

# Two edges are of one band where their distance is the common one, within this many rows and this
# share of it.
GAP_ROWS = 3.0
GAP_SHARE = 0.1
# Fewest bands whose scatter is believed.
MIN_BANDS = 4


@dataclass(frozen=True, slots=True, eq=False)
class DatedRows:
    """Rows that date pulses: columns of `FlashEdges`, rows counted from the top of the picture.

    Parameters
    ----------
    index, band : ndarray of int64, shape (n,)
        Frame and number of the band.
    row, row_std, part : ndarray, shape (n,)
        Row, its error, and the part of the exposure that lies between row and half-light.
    half_px : float
        Rows from onset to half-light.
    """

    index: NDArray[np.int64]
    band: NDArray[np.int64]
    row: Floats
    row_std: Floats
    part: Floats
    half_px: float


def date_rows(
    edges: Sequence[BandEdge],
    rows: Floats,
    stds: Floats,
    *,
    shape: PulseShape,
    exposure_px: float | None,
) -> DatedRows:
    """Group edges to bands, widen errors by the scatter of their heights, and choose parts.

    A pulse of w rows under an exposure of e rows draws a trapezoid whose edges lie max(w, e)
    apart with ramps of min(w, e) rows: pictures alone do not tell one from the other. Pulses are
    taken as shorter than the exposure: edges date the half-light instant by the end (+1/2) and
    the begin (-1/2) of their rows' exposures. Only where exposure and line delay are stated and
    fit the ramps but not the height, the pulse is the longer: then the edges are the begin and
    the end of the light by the middle of the exposure, and their mean alone dates half-light
    (part 0). A single edge of such a band is moved by half of the common height.

    The true height is the same in all bands of a camera; where heights scatter more than the
    errors say (encoder, moving background), what is missing is added to every error.

    Parameters
    ----------
    edges : sequence of BandEdge
        At least one.
    rows, stds : ndarray, shape (n,)
        Corrected rows of the edges and their errors.
    shape : PulseShape
        Shape as fitted to single edges.
    exposure_px : float, optional
        Exposure in rows, where stated.
    """
    pairs = _pairs(edges, rows, exposure_px)
    gaps = np.array([rows[low] - rows[up] for up, low in pairs])
    stds = _widened(stds, pairs, gaps)
    band = np.arange(rows.size)
    for up, low in pairs:
        band[low] = up
    index = np.array([edge.index for edge in edges], dtype=np.int64)
    part = np.array([0.5 if edge.is_upper else -0.5 for edge in edges])
    height = float(np.median(gaps)) if gaps.size else 0.0
    if exposure_px is None or not _is_longer(shape, height, exposure_px):
        return DatedRows(index, band.astype(np.int64), rows, stds, part, shape.half_px)
    rows = rows + part * height
    paired = {low for _, low in pairs}
    for up, low in pairs:
        rows[up] = 0.5 * (rows[up] + rows[low])
        stds[up] = 0.5 * float(np.hypot(stds[up], stds[low]))
    kept = np.array([i not in paired for i in range(rows.size)])
    numbers = band[kept].astype(np.int64)
    zeros = np.zeros(int(kept.sum()))
    return DatedRows(index[kept], numbers, rows[kept], stds[kept], zeros, 0.5 * height)


def _is_longer(shape: PulseShape, height: float, exposure_px: float) -> bool:
    """Tell whether the ramps, not the height, are as long as the stated exposure."""
    if height <= 0.0:
        return False
    ramp = 2.0 * shape.half_px
    return abs(math.log(ramp / exposure_px)) + 0.2 < abs(math.log(height / exposure_px))


def _pairs(
    edges: Sequence[BandEdge], rows: Floats, exposure_px: float | None
) -> list[tuple[int, int]]:
    """Return (upper, lower) of the edges that are of one band."""
    frames: dict[int, list[int]] = {}
    for i, edge in enumerate(edges):
        frames.setdefault(edge.index, []).append(i)
    candidates = [
        (up, low)
        for members in frames.values()
        for up in members
        for low in members
        if edges[up].is_upper and not edges[low].is_upper and rows[low] > rows[up]
    ]
    if not candidates:
        return []
    gaps = np.array([rows[low] - rows[up] for up, low in candidates])
    apart = np.abs(gaps - _common_height(gaps, exposure_px))
    limit = GAP_ROWS + GAP_SHARE * (gaps + apart)
    taken: set[int] = set()
    pairs = []
    for i in np.argsort(apart, kind="stable").tolist():
        if apart[i] < limit[i] and not taken & set(candidates[i]):
            pairs.append(candidates[i])
            taken |= set(candidates[i])
    return sorted(pairs)


def _common_height(gaps: Floats, exposure_px: float | None) -> float:
    """Return the distance from an upper to a lower edge that most bands share.

    Pulses come irregularly: other distances scatter. Where several are about as common, as those of
    periodic pulses are, the one nearest to the stated exposure, else the shortest.
    """
    ordered = np.sort(gaps)
    first = np.searchsorted(ordered, ordered - GAP_ROWS, side="left")
    last = np.searchsorted(ordered, ordered + GAP_ROWS, side="right")
    counts = last - first
    common = ordered[2 * counts > counts.max()]
    chosen = common[0] if exposure_px is None else common[np.argmin(np.abs(common - exposure_px))]
    near = np.abs(ordered - chosen) <= GAP_ROWS
    return float(np.median(ordered[near]))


def _widened(stds: Floats, pairs: list[tuple[int, int]], gaps: Floats) -> Floats:
    """Return errors with what the scatter of the heights shows to be missing."""
    if gaps.size < MIN_BANDS:
        return stds.copy()
    apart = gaps - np.median(gaps)
    limit = 3.0 * mad_std(apart)
    scatter = float(np.sum(np.clip(apart, -limit, limit) ** 2)) / (gaps.size - 1)
    claimed = float(np.mean([stds[up] ** 2 + stds[low] ** 2 for up, low in pairs]))
    return np.asarray(np.sqrt(stds**2 + max(0.0, 0.5 * (scatter - claimed))))
