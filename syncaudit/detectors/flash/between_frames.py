"""Add the lights that went on or off between two frames of a rolling shutter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from syncaudit.detectors.flash.lighting import BLACK_LEVELS
from syncaudit.model.evidence import FlashEdges

__all__ = ["is_no_gain", "with_intervals"]

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]
_Value = TypeVar("_Value", np.int64, np.float64)

# Light falls unevenly on an image: by at least this share, and by at least this many times the
# difference between two halves of the frames (an F test: with thirty cells, one in 8,000 images
# brightened by gain would pass). Gain acts on all cells equally.
MIN_UNEVEN = 0.02
MIN_OVER_NOISE = 2.0
# Largest increase of grey levels by a change of exposure, as a share: 1.3 stops, through a tone
# curve with an exponent of 1 / 2.2.
MAX_GAIN_SHARE = 0.5
# Width of the middle 90 % of a normal distribution, rather than the middle half: a light may affect
# less than half of the image.
NINETY_PERCENT_SIGMAS = 3.29


def is_no_gain(excess: Singles, background: Singles) -> bool:
    """Return whether a light changed rather than the exposure.

    Light adds to each cell according to where it falls. A gain brightens each cell according to its
    brightness, whatever the tone curve and wherever the cell lies. And an exposure changes by no
    more than a stop or so from one frame to the next.

    Parameters
    ----------
    excess, background : ndarray of float32, shape (f, h, b)
        Light, and brightness without it, of at least two frames that show the complete change, in
        levels.
    """
    shares = excess / (background + BLACK_LEVELS)
    if np.median(shares) > MAX_GAIN_SHARE:
        return True
    shares = shares / np.maximum(np.mean(np.abs(shares), axis=(1, 2), keepdims=True), 1e-6)
    # Lights go on and off in turn: split by pairs, so that both halves have as many of each.
    n = shares.shape[0]
    is_first = np.arange(n) // min(2, n - 1) % 2 == 0
    halves = np.median(shares[is_first], axis=0), np.median(shares[~is_first], axis=0)
    share, noise = 0.5 * (halves[0] + halves[1]), 0.5 * (halves[0] - halves[1])
    brightness = np.median(background, axis=0)
    by_gain = np.polynomial.Polynomial.fit(brightness.ravel(), share.ravel(), 2)(brightness)
    return _spread(share - by_gain) > max(MIN_UNEVEN, MIN_OVER_NOISE * _spread(noise))


def _spread(values: Singles) -> float:
    """Return a standard deviation that ignores 5 % of the values at either end."""
    low, high = np.percentile(values, (5.0, 95.0))
    return float(high - low) / NINETY_PERCENT_SIGMAS


def with_intervals(edges: FlashEdges, whole: Mapping[int, int], frame_s: Floats) -> FlashEdges:
    """Return the edges of lasting lights together with the changes that no row shows.

    If a frame is the first to show a light in all rows, the light went on after the exposure of the
    previous frame began, and before its own did. Where readout or exposure is not known, exposures
    may follow one another without a pause.

    Parameters
    ----------
    edges : FlashEdges
        Dated by rows, with `sense`.
    whole : mapping of int to int
        Frames that are the first to show a light on or off in all rows, to +1 (on) or -1 (off).
    frame_s : ndarray, shape (n,)
        Times of all frames.
    """
    if edges.sense is None:
        return edges
    shown = {*edges.frame_index.tolist(), *(edges.frame_index + 1).tolist()}
    index = np.array([k for k in sorted(whole) if k not in shown and k > 0], dtype=np.int64)
    if not index.size:
        return edges
    before, now = frame_s[index - 1], frame_s[index]
    if edges.line_delay_s is None or edges.exposure_s is None:
        begin, end = now - 1.5 * (now - before), now
    else:
        reach_s = 0.5 * (edges.line_delay_s * edges.height_px + edges.exposure_s)
        # A change that begins with the exposure of the first rows cannot be seen in them.
        begin, end = before - reach_s, now - reach_s + edges.exposure_s
        # Nor is a light visible before the first row that it reaches is read.
        end = end + edges.line_delay_s * (edges.view_px[0] + 0.5 * (edges.height_px - 1))
    zeros = np.zeros(index.size)
    order = np.argsort(np.concatenate([edges.frame_index, index]), kind="stable")

    band = int(edges.band.max(initial=-1)) + 1 + np.arange(index.size)
    sense = np.array([whole[k] for k in index.tolist()], dtype=np.int64)
    return replace(
        edges,
        frame_index=_joined(order, edges.frame_index, index),
        frame_s=_joined(order, edges.frame_s, 0.5 * (begin + end)),
        row_px=_joined(order, edges.row_px, zeros),
        row_std_px=_joined(order, edges.row_std_px, zeros),
        exposure_part=_joined(order, edges.exposure_part, zeros),
        band=_joined(order, edges.band, band),
        sense=_joined(order, edges.sense, sense),
        half_s=_joined(order, np.zeros(edges.band.size), 0.5 * (end - begin)),
        late_s=None if edges.late_s is None else _joined(order, edges.late_s, zeros),
    )


def _joined(order: Ints, own: NDArray[_Value], added: NDArray[_Value]) -> NDArray[_Value]:
    return np.concatenate([own, added])[order]
