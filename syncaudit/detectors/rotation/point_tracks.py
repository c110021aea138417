"""Follow corners from one picture to the next.

Corners: FAST (Rosten & Drummond, "Machine learning for high-speed corner detection", ECCV 2006,
doi:10.1007/11744023_34), the strongest of every cell; the minimum eigenvalue of Shi & Tomasi costs
six times as much and tracks no better here. Tracking: pyramidal Lucas-Kanade (Bouguet, "Pyramidal
implementation of the Lucas Kanade feature tracker", Intel, 2001). False tracks, a third of all
where near walls fly by, are told by tracking back (Kalal, Mikolajczyk & Matas, "Forward-backward
error", ICPR 2010, doi:10.1109/ICPR.2010.675); one level from the old place is enough for that and
costs a sixth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

__all__ = ["PointTracks", "track_points"]

Floats = NDArray[np.float64]

# Corners looked for, and how many of the best are followed.
MAX_CORNERS = 250
MAX_POINTS = 80
MIN_POINTS = 12
# Contrast of a corner in luma levels: the second where the first leaves few.
FAST_THRESHOLDS = (20, 12)
ENOUGH_CORNERS = 100
CELL_PX = 20
PER_CELL = 2
# Eight columns are one step of the processor's: eleven cost a third more and tell no more.
WINDOW_PX = (8, 11)
LEVELS = 2
# A true track leads back to within this distance.
MAX_RETURN_PX = 0.3
BORDER_PX = 2.0
# A point's neighbour lies within this distance.
NEIGHBOUR_PX = 40.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PointTracks:
    """Points followed from one picture to the next.

    Parameters
    ----------
    before, after : ndarray, shape (n, 2)
        Positions (x, y) in pixels.
    mean_corner_row_px : float
        Mean row of all corners of the first picture, followed or not.
    """

    before: Floats
    after: Floats
    mean_corner_row_px: float


def track_points(
    before: NDArray[np.uint8], after: NDArray[np.uint8], *, earlier: PointTracks | None = None
) -> PointTracks | None:
    """Return where corners of `before` lie in both pictures.

    Parameters
    ----------
    before, after : ndarray of uint8, shape (h, w)
        Neighbouring pictures.
    earlier : PointTracks, optional
        Tracks that end in `before`: at steady speed the flow at a place hardly changes, and near
        walls move farther between pictures than a search from standstill reaches.

    Returns
    -------
    PointTracks or None
        None with fewer than twelve good tracks.
    """
    height, width = before.shape
    corners = _find_corners(before)
    if len(corners) < MIN_POINTS:
        return None
    mean_row_px = float(corners[:, 0, 1].mean())
    corners = corners[:MAX_POINTS]  # sorted, the best first
    moved, found, _ = cv2.calcOpticalFlowPyrLK(
        before,
        after,
        corners,
        _guess(corners, earlier),
        winSize=WINDOW_PX,
        maxLevel=LEVELS,
        criteria=(cv2.TERM_CRITERIA_EPS | cv2.TERM_CRITERIA_COUNT, 8, 0.02),
        flags=cv2.OPTFLOW_USE_INITIAL_FLOW,
    )
    back, found_back, _ = cv2.calcOpticalFlowPyrLK(
        after,
        before,
        moved,
        corners.copy(),
        winSize=WINDOW_PX,
        maxLevel=0,
        criteria=(cv2.TERM_CRITERIA_EPS | cv2.TERM_CRITERIA_COUNT, 5, 0.03),
        flags=cv2.OPTFLOW_USE_INITIAL_FLOW,
    )
    p = corners.reshape(-1, 2).astype(np.float64)
    q = moved.reshape(-1, 2).astype(np.float64)
    apart = np.abs(back.reshape(-1, 2) - p).max(axis=1)
    good = (found.ravel() == 1) & (found_back.ravel() == 1) & (apart < MAX_RETURN_PX)
    good &= np.all((q > BORDER_PX) & (q < np.array([width, height]) - BORDER_PX - 1.0), axis=1)
    if int(good.sum()) < MIN_POINTS:
        return None
    return PointTracks(before=p[good], after=q[good], mean_corner_row_px=mean_row_px)


def _find_corners(picture: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Return corners spread over the picture, the strongest of each cell first, shape (n, 1, 2)."""
    found: Sequence[cv2.KeyPoint] = ()
    for threshold in FAST_THRESHOLDS:
        if len(found) < ENOUGH_CORNERS:
            detector = cv2.FastFeatureDetector.create(threshold=threshold, nonmaxSuppression=True)
            found = detector.detect(picture)
    if not found:
        return np.zeros((0, 1, 2), dtype=np.float32)
    places = np.asarray(cv2.KeyPoint.convert(found), dtype=np.float32)
    # Strengths are levels of luma: cell and strength, or rank and strength, sort as one number.
    weakness = 255 - np.array([point.response for point in found]).astype(np.int64)
    column, row = (places * (1.0 / CELL_PX)).astype(np.int64).T
    cell = row * (picture.shape[1] // CELL_PX + 1) + column
    order = np.argsort(256 * cell + weakness, kind="stable")
    cell = cell[order]
    rank = np.arange(order.size) - np.searchsorted(cell, cell)
    is_kept = rank < PER_CELL
    order, rank = order[is_kept], rank[is_kept]
    best = order[np.argsort(256 * rank + weakness[order], kind="stable")[:MAX_CORNERS]]
    return places[best, None, :]


def _guess(corners: NDArray[np.float32], earlier: PointTracks | None) -> NDArray[np.float32]:
    """Return where the corners will be if they move on like their neighbours before."""
    if earlier is None:
        return corners.copy()
    places = corners[:, 0, :]
    known = earlier.after.astype(np.float32)
    apart = np.square(places[:, :1] - known[:, 0]) + np.square(places[:, 1:] - known[:, 1])
    nearest = np.argmin(apart, axis=1)
    flow = (earlier.after - earlier.before)[nearest]
    flow[apart[np.arange(len(places)), nearest] > NEIGHBOUR_PX**2] = 0.0
    return np.asarray((places + flow)[:, None, :], dtype=np.float32)
