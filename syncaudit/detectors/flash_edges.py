"""Find the edges of bright bands in a frame, coarsely, and fit each."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter1d

from syncaudit.detectors.flash_background import LitFrame
from syncaudit.detectors.flash_fit import MIN_KNOWN_BLOCKS, EdgeFit, fit_edge
from syncaudit.detectors.flash_shape import PulseShape

__all__ = ["BandEdge", "coarse_edges", "fit_edges", "row_profile", "step_scale"]

Floats = NDArray[np.float64]

# Lengths of the step filter that are tried, as shares of the picture's height.
SCALES = (0.0125, 0.025, 0.05, 0.1)
# A step counts from this share of the frame's largest.
MIN_STEP_SHARE = 0.4
# Plateau rows that an edge needs on both sides.
MIN_PLATEAU = 6
MIN_SIGNIFICANCE = 25.0
MAX_ROW_STD = 2.0
MIN_CONTRAST = 5.0
MAX_UNEXPLAINED = 0.1
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


def row_profile(lit: LitFrame) -> Floats:
    """Return the excess of each row over its background, median of the blocks, shape (h,)."""
    share = lit.excess / (lit.background + 16.0)
    if lit.is_clean.all():
        return np.asarray(np.median(share, axis=1), dtype=np.float64)
    ordered = np.sort(np.where(lit.is_clean, share, np.inf), axis=1)
    n_clean = np.count_nonzero(lit.is_clean, axis=1)
    middle = np.take_along_axis(ordered, (n_clean // 2)[:, None].clip(max=share.shape[1] - 1), 1)
    return np.where(n_clean > 0, middle[:, 0], 0.0).astype(np.float64)


def _steps(profile: Floats, length: int) -> Floats:
    """Return mean of the `length` rows below each row minus mean of those above it."""
    sums = np.concatenate(([0.0], np.cumsum(profile)))
    rows = np.arange(profile.size)
    low, high = np.maximum(rows - length, 0), np.minimum(rows + length, profile.size)
    below = (sums[high] - sums[rows]) / (high - rows)
    above = (sums[rows] - sums[low]) / np.maximum(rows - low, 1)
    steps = below - above
    edge = min(MIN_PLATEAU, length)
    steps[:edge] = 0.0
    steps[profile.size - edge :] = 0.0
    return steps


def step_scale(profile: Floats) -> int:
    """Return the shortest filter that sees the frame's largest step almost fully."""
    lengths = [max(3, round(share * profile.size)) for share in SCALES]
    largest = [float(np.max(np.abs(_steps(profile, length)))) for length in lengths]
    top = max(largest)
    return next(n for n, step in zip(lengths, largest, strict=True) if step >= 0.8 * top)


def coarse_edges(profile: Floats, length: int) -> list[tuple[int, bool]]:
    """Return (row, is_upper) of the edges in a profile, in row order.

    Extrema of a step filter that reach two fifths of the largest.
    """
    steps = _steps(profile, length)
    limit = MIN_STEP_SHARE * float(np.max(np.abs(steps)))
    found: list[tuple[int, bool]] = []
    if limit <= 0.0:
        return found
    for sign in (1.0, -1.0):
        left = sign * steps
        while True:
            row = int(np.argmax(left))
            if left[row] < limit:
                break
            found.append((row, sign > 0.0))
            left = left.copy()
            left[max(0, row - length) : row + length + 1] = 0.0
    return sorted(found)


def explained_share(
    profile: Floats, coarse: list[tuple[int, bool]], shape: PulseShape
) -> float | None:
    """Return the lit share of a frame, or None where bands do not explain its profile.

    Bands of one height between the coarse edges must leave no more than `MAX_UNEXPLAINED` of the
    profile's variance: scenery that moves brightens rows irregularly.
    """
    if not coarse:
        return None
    rows = np.arange(profile.size, dtype=np.float64)
    light = np.zeros(profile.size)
    for row, is_upper in coarse:
        light += (1.0 if is_upper else -1.0) * shape.cdf(rows - row)
    light -= light.min()
    centred, y = light - light.mean(), profile - profile.mean()
    power = float(np.dot(centred, centred))
    total = float(np.dot(y, y))
    step = float(np.dot(centred, y)) / max(power, 1e-12)
    if step <= 0.0 or total - step**2 * power > MAX_UNEXPLAINED * total:
        return None
    return float(np.clip(light, 0.0, 1.0).mean())


def fit_edges(lit: LitFrame, shape: PulseShape, length: int) -> list[BandEdge]:
    """Return the edges of a frame that many column blocks see alike.

    Each edge is fitted in a window of its own that ends before the ramps of its neighbours, so
    that brightness which changes over the picture matters little.

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
    coarse = coarse_edges(profile, length)
    lit_share = explained_share(profile, coarse, shape)
    if lit_share is None:
        return []
    height = lit.excess.shape[0]
    before, after = shape.half_px, shape.reach_px
    rows = [row for row, _ in coarse]
    first, last = rows[0] - before, rows[-1] + after
    n_above = _undisturbed(profile[::-1], height - first, is_lit=not coarse[0][1])
    n_below = _undisturbed(profile, last, is_lit=coarse[-1][1])
    top, bottom = first - n_above, last + n_below
    edges = []
    for i, (row, is_upper) in enumerate(coarse):
        plateau = max(2.0 * MIN_PLATEAU, 0.5 * (before + after), 0.04 * height)
        low = row - before - plateau
        high = row + after + plateau
        if i > 0:
            low = max(low, rows[i - 1] + after)
        if i + 1 < len(rows):
            high = min(high, rows[i + 1] - before)
        low, high = max(0.0, top, low), min(float(height), bottom, high)
        if row - low < before + MIN_PLATEAU or high - row < after + MIN_PLATEAU:
            continue
        fit = fit_edge(lit, float(row), (round(low), round(high)), shape.cdf, shape.slope)
        if fit is not None and is_convincing(fit, is_upper=is_upper):
            edges.append(BandEdge(lit.index, is_upper, fit, lit_share))
    return edges


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


def is_convincing(fit: EdgeFit, *, is_upper: bool) -> bool:
    """Tell whether an edge is one: right sign, strong, sharp, and alike across the picture."""
    return (
        (fit.step > 0.0) == is_upper
        and fit.significance > MIN_SIGNIFICANCE
        and fit.row_std < MAX_ROW_STD
        and fit.contrast > MIN_CONTRAST
        and fit.n_agreeing >= MIN_KNOWN_BLOCKS
        and 2 * fit.n_agreeing >= fit.n_usable
    )
