"""Measure the bands that flashes leave in rolling-shutter frames, and check their height."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from syncaudit.dsp.robust import spread
from syncaudit.formatting import word_duration, word_measure
from syncaudit.model import FlashEdges
from syncaudit.model.arrays import Bools, Floats, Ints

# Bands contradict the stated values beyond this many standard errors, and beyond this part of the
# stated height: no camera times its rows more precisely.
MAX_STATED_Z = 4.5
STATED_TOLERANCE = 0.005
# Rows by which encoders were seen to move the two edges of a band apart, one sigma. That looks like
# a different exposure; up to this many sigmas are allowed for.
EDGE_SHIFT_PX = 4.0
MAX_SHIFTS = 3.0
# A median band height needs at least this many bands.
MIN_HEIGHTS = 3

# Probability of taking bands of other causes for lights.
MAX_CHANCE = 1e-3


def band_height_px(edges: FlashEdges) -> tuple[float, float] | None:
    """Return the median height of the bands with two edges (exposure over line delay).

    Returns
    -------
    tuple of float or None
        Height and its standard error; None with fewer than three such bands.
    """
    heights, std_px = _heights(edges)
    if heights.size < MIN_HEIGHTS:
        return None
    height = float(np.median(heights))
    if height <= 0.0:
        return None
    formal = float(np.median(std_px)) * 2.0
    return height, 1.2533 * max(spread(heights, height), formal) / np.sqrt(heights.size)


def _heights(edges: FlashEdges) -> tuple[Floats, Floats]:
    """Return the heights of the bands with two edges, and the errors of their mean rows."""
    bands = FlashBands.of(edges)
    both = (bands.n_upper > 0) & (bands.n_lower > 0)
    return (bands.lower_px - bands.upper_px)[both], bands.std_px[both]


def are_equally_high(edges: FlashEdges) -> bool:
    """Return whether the bands are more alike in height than chance allows.

    All lights leave bands as high as the exposure. Whatever else changes in bands of rows, such as
    texture in a shaking image, has heights of its own: were they spread evenly from zero on, all
    other n - 1 would come within a share r of the largest with the probability ``r^(n - 1)``.
    """
    heights, _ = _heights(edges)
    if heights.size < MIN_HEIGHTS or not heights.min() > 0.0:
        return False
    share = float(np.ptp(heights) / heights.max())
    return bool(share ** (heights.size - 1) <= MAX_CHANCE)


def agree_with_bands(edges: FlashEdges, height: tuple[float, float]) -> bool:
    """Return whether the stated exposure and line delay agree with the measured band height.

    Parameters
    ----------
    edges : FlashEdges
        If one of the two is not stated, any height agrees.
    height : tuple of float
        As returned by `band_height_px`.
    """
    if edges.exposure_s is None or not edges.line_delay_s:
        return True
    stated_px = edges.exposure_s / edges.line_delay_s
    limit_px = max(
        MAX_STATED_Z * height[1], STATED_TOLERANCE * stated_px, MAX_SHIFTS * EDGE_SHIFT_PX
    )
    return abs(height[0] - stated_px) <= limit_px


def apparent_height_px(edges: FlashEdges, height: tuple[float, float]) -> tuple[float, float]:
    """Return how far apart the edges of bands appear, of which the image cuts some, and its error.

    The mean of the measured height and of the stated one, from which encoders shift the edges. Both
    edges of a band fit into the image only where it hardly cuts them if exposure and readout are
    about equally long, and then the measured height is poor.

    Parameters
    ----------
    edges : FlashEdges
        Of one camera.
    height : tuple of float
        As returned by `band_height_px`.
    """
    if edges.exposure_s is None or not edges.line_delay_s or not agree_with_bands(edges, height):
        return height
    stated_px = edges.exposure_s / edges.line_delay_s
    weights = np.array([max(height[1], 1e-3), EDGE_SHIFT_PX]) ** -2.0
    return (
        float(np.average([height[0], stated_px], weights=weights)),
        float(weights.sum() ** -0.5),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FlashBands:
    """Means over the edges of each band."""

    number: Ints
    frame_s: Floats
    n_upper: Floats
    n_lower: Floats
    upper_px: Floats
    lower_px: Floats
    free_px: Floats
    n_free: Floats
    std_px: Floats
    half_s: Floats
    sense: Ints | None

    @classmethod
    def of(cls, edges: FlashEdges) -> FlashBands:
        """Return the bands that a camera's edges form."""
        number, inverse = np.unique(edges.band, return_inverse=True)
        m = number.size

        def total(values: Floats | Bools) -> Floats:
            sums = np.bincount(inverse, weights=values.astype(np.float64), minlength=m)
            return sums.astype(np.float64)

        rows, counts = [], []
        for part in (0.5, -0.5, 0.0):
            mask = edges.exposure_part == part
            n = total(mask)
            counts.append(n)
            rows.append(total(mask * edges.row_px) / np.maximum(n, 1.0))
        n_all = np.maximum(total(np.ones(inverse.size)), 1.0)
        return cls(
            number=number.astype(np.int64),
            frame_s=total(edges.frame_s) / n_all,
            n_upper=counts[0],
            n_lower=counts[1],
            upper_px=rows[0],
            lower_px=rows[1],
            free_px=rows[2],
            n_free=counts[2],
            std_px=np.sqrt(total(edges.row_std_px**2)) / n_all,
            half_s=np.zeros(m) if edges.half_s is None else total(edges.half_s) / n_all,
            sense=None
            if edges.sense is None
            else np.sign(total(edges.sense.astype(np.float64))).astype(np.int64),
        )


def why_bands_contradict(edges: FlashEdges) -> str | None:
    """Return why the bands contradict the stated exposure and line delay, or None."""
    height = band_height_px(edges)
    if height is None or agree_with_bands(edges, height):
        return None
    assert edges.exposure_s is not None and edges.line_delay_s is not None  # noqa: S101, PT018
    found_s, std_s = (edges.line_delay_s * each for each in height)
    return (
        f"the stated exposure of {word_duration(edges.exposure_s)} and line delay of "
        f"{word_duration(edges.line_delay_s)} contradict the flashes: at this line delay the "
        f"exposure is {word_measure(found_s, std_s)}. Correct the manifest; until then flashes "
        "are dated without it, but the camera's rotation is not."
    )
