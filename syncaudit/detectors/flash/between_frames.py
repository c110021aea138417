"""Add the lights that went on or off between two frames of a rolling shutter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from syncaudit.detectors.flash.lighting import BLACK_LEVELS
from syncaudit.model.evidence import FlashEdges

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


@dataclass(frozen=True, slots=True, eq=False)
class BetweenFrames:
    """Lasting lights that changed between two frames, in time order.

    Parameters
    ----------
    first, last : ndarray of int, shape (m,)
        Last frame that shows none of the change, and first that shows all of it.
    begin_s, end_s : ndarray, shape (m,)
        Interval within which the light changed.
    sense : ndarray of int, shape (m,)
        +1 where it went on, -1 where it went off.
    """

    first: Ints
    last: Ints
    begin_s: Floats
    end_s: Floats
    sense: Ints

    @classmethod
    def of_whole(
        cls, whole: Mapping[int, int], edges: FlashEdges, frame_s: Floats
    ) -> BetweenFrames:
        """Return the changes of which no row shows a part.

        If a frame is the first to show a light in all rows, the light went on after the exposure
        of the previous frame began, and before its own did. Where readout or exposure is not known,
        exposures may follow one another without a pause.

        Parameters
        ----------
        whole : mapping of int to int
            Frames that are the first to show a light on or off in all rows, to +1 (on) or -1 (off).
        edges : FlashEdges
            Of that camera.
        frame_s : ndarray, shape (n,)
            Times of all frames.
        """
        last = np.array([k for k in sorted(whole) if k > 0], dtype=np.int64)
        before, now = frame_s[last - 1], frame_s[last]
        if edges.line_delay_s is None or edges.exposure_s is None:
            begin, end = now - 1.5 * (now - before), now
        else:
            reach_s = 0.5 * (edges.line_delay_s * edges.height_px + edges.exposure_s)
            # A change that begins with the exposure of the first rows cannot be seen in them.
            begin, end = before - reach_s, now - reach_s + edges.exposure_s
            # Nor is a light visible before the first row that it reaches is read.
            end = end + edges.line_delay_s * (edges.view_px[0] + 0.5 * (edges.height_px - 1))
        sense = np.array([whole[k] for k in last.tolist()], dtype=np.int64)
        return cls(last - 1, last, begin, end, sense)

    def apart_from(self, frames: Ints) -> BetweenFrames:
        """Return the changes of which none of some frames may show a part."""
        taken = np.unique(frames)
        n_before = np.searchsorted(taken, self.first)
        is_apart = n_before == np.searchsorted(taken, self.last, side="right")
        columns = (self.first, self.last, self.begin_s, self.end_s, self.sense)
        return BetweenFrames(*(own[is_apart] for own in columns))


def with_intervals(edges: FlashEdges, between: BetweenFrames) -> FlashEdges:
    """Return the edges of lasting lights together with the changes that no row dates.

    Parameters
    ----------
    edges : FlashEdges
        Dated by rows, with `sense`.
    between : BetweenFrames
        Changes, whether or not rows date them.
    """
    if edges.sense is None:
        return edges
    between = between.apart_from(edges.frame_index)
    n = between.last.size
    if not n:
        return edges
    zeros = np.zeros(n)
    order = np.argsort(np.concatenate([edges.frame_index, between.last]), kind="stable")
    band = int(edges.band.max(initial=-1)) + 1 + np.arange(n)
    middle_s = 0.5 * (between.begin_s + between.end_s)
    own_half_s = np.zeros(edges.band.size) if edges.half_s is None else edges.half_s
    return replace(
        edges,
        frame_index=_joined(order, edges.frame_index, between.last),
        frame_s=_joined(order, edges.frame_s, middle_s),
        row_px=_joined(order, edges.row_px, zeros),
        row_std_px=_joined(order, edges.row_std_px, zeros),
        exposure_part=_joined(order, edges.exposure_part, zeros),
        band=_joined(order, edges.band, band),
        sense=_joined(order, edges.sense, between.sense),
        half_s=_joined(order, own_half_s, between.end_s - middle_s),
        late_s=None if edges.late_s is None else _joined(order, edges.late_s, zeros),
    )


def _joined(order: Ints, own: NDArray[_Value], added: NDArray[_Value]) -> NDArray[_Value]:
    return np.concatenate([own, added])[order]
