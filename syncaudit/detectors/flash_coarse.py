"""Find the edges of bright bands in a frame, coarsely, by the brightness of its rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from syncaudit.detectors.flash_background import LitFrame
from syncaudit.detectors.flash_shape import PulseShape

__all__ = ["MIN_PLATEAU", "coarse_edges", "first_shape", "row_profile", "unexplained"]

Floats = NDArray[np.float64]

# Lengths of the step filter that are tried, as shares of the picture's height.
SCALES = (0.0125, 0.025, 0.05, 0.1)
# A step counts from this share of the frame's largest.
MIN_STEP_SHARE = 0.4
# Plateau rows that an edge needs on both sides.
MIN_PLATEAU = 6
# Profiles of fewer rows are not thinned out for a rough look.
MIN_SPARSE_ROWS = 200
# Ramps and tails that are tried first, in lengths of the step filter.
FIRST_SHAPES = (
    *((ramp, 0.0) for ramp in (0.5, 0.75, 1.0, 1.4, 2.0, 2.8)),
    *((0.1, tail) for tail in (0.25, 0.5, 0.75, 1.0, 1.4)),
)


def row_profile(lit: LitFrame) -> Floats:
    """Return the excess of each row over its background, median of the blocks, shape (h,)."""
    share = lit.excess / (lit.background + 16.0)
    if lit.is_clean.all():
        middle = share.shape[1] // 2
        return np.partition(share, middle, axis=1)[:, middle].astype(np.float64)
    ordered = np.sort(np.where(lit.is_clean, share, np.inf), axis=1)
    n_clean = np.count_nonzero(lit.is_clean, axis=1)
    medians = np.take_along_axis(ordered, (n_clean // 2)[:, None].clip(max=share.shape[1] - 1), 1)
    return np.where(n_clean > 0, medians[:, 0], 0.0).astype(np.float64)


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


def coarse_edges(profile: Floats, length: int, apart: float = 0.0) -> list[tuple[int, bool]]:
    """Return (row, is_upper) of the edges in a profile, in row order.

    Extrema of a step filter that reach two fifths of the largest, those of one sign at least its
    length and `apart` rows apart: a long ramp is one edge.
    """
    reach = max(length, round(apart))
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
            left[max(0, row - reach) : row + reach + 1] = 0.0
    return sorted(found)


def unexplained(
    profile: Floats, coarse: list[tuple[int, bool]], shape: PulseShape
) -> tuple[float, float]:
    """Return what part of a profile's variance bands do not explain, and the frame's lit share.

    Bands of one brightness between the coarse edges.
    """
    every = 4 if profile.size >= MIN_SPARSE_ROWS else 1
    profile = profile[::every]
    rows = every * np.arange(profile.size, dtype=np.float64)
    below = rows - np.array([[row] for row, _ in coarse])
    signs = np.array([[1.0 if is_upper else -1.0] for _, is_upper in coarse])
    light = np.sum(signs * shape.cdf(below), axis=0)
    light -= light.min()
    centred, y = light - light.mean(), profile - profile.mean()
    power = max(float(np.dot(centred, centred)), 1e-12)
    total = max(float(np.dot(y, y)), 1e-12)
    step = float(np.dot(centred, y)) / power
    left = 1.0 if step <= 0.0 else 1.0 - step**2 * power / total
    return left, float(np.clip(light, 0.0, 1.0).mean())


def first_shape(lits: Sequence[LitFrame]) -> tuple[PulseShape, int]:
    """Return what explains the frames' profiles best, and the length of the step filter."""
    profiles = [row_profile(lit) for lit in lits]
    length = int(np.median([step_scale(profile) for profile in profiles]))
    pairs = [(profile, coarse_edges(profile, length)) for profile in profiles]
    shapes = [PulseShape(ramp * length, tail * length) for ramp, tail in FIRST_SHAPES]
    left = [[unexplained(*pair, shape)[0] for pair in pairs if pair[1]] for shape in shapes]
    best = int(np.argmin([np.median(parts) if parts else 1.0 for parts in left]))
    return shapes[best], length
