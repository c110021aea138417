"""Track corners from one image to the next, and stack the tracks of pairs of frames.

Corners: FAST (Rosten & Drummond, "Machine learning for high-speed corner detection", ECCV 2006,
doi:10.1007/11744023_34), the strongest of every cell; the minimum eigenvalue of Shi & Tomasi costs
six times as much and tracks no better here. Tracking: pyramidal Lucas-Kanade (Bouguet, "Pyramidal
implementation of the Lucas Kanade feature tracker", Intel, 2001). False tracks, a third of all
where near walls pass by, are detected by tracking back (Kalal, Mikolajczyk & Matas,
"Forward-backward error", ICPR 2010, doi:10.1109/ICPR.2010.675); one level from the old position is
enough for that and costs a sixth.

Points fixed to the camera are found and left out: burnt-in text, a bonnet, a gripper, dirt. They do
not move while the scene does. Robust weights spare most scenes a few of them, but not noisy ones:
sharp letters are tracked best of all, and near the border they have the most leverage.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import cv2
import numpy as np
from numpy.typing import NDArray

from syncaudit.detectors.rotation.fit import MIN_POINTS
from syncaudit.detectors.rotation.lens import Lens
from syncaudit.model.arrays import Bools, Floats
from syncaudit.model.clip import Scan, direction_of

# Corners searched for, and how many of the best are tracked.
MAX_CORNERS = 250
MAX_POINTS = 80
# Contrast of a corner in luma levels: the second value is used if the first finds too few.
FAST_THRESHOLDS = (20, 12)
ENOUGH_CORNERS = 100
CORNER_CELL_PX = 20
PER_CELL = 2
# Eight columns are one SIMD step of the processor: eleven cost a third more and are no better.
WINDOW_PX = (8, 11)
LEVELS = 2
# A correct track leads back to within this distance.
MAX_RETURN_PX = 0.3
BORDER_PX = 2.0
# A point's neighbour lies within this distance.
NEIGHBOUR_PX = 40.0

# Points are counted in cells of this size.
COUNTING_CELL_PX = 10
# The scene moves if most points move by a pixel. What is fixed to the camera moves by no more than
# the noise of a track.
MOVED_PX = 1.0
STILL_PX = 0.15
# A cell is fixed to the camera if it was seen in this many pairs of frames in which the scene
# moved, and most of its points were still. Far points ahead of a vehicle are still in a pair now
# and then, in which the vehicle happens not to turn.
MIN_SEEN = 5
MIN_STILL = 0.5
# If more of all points lie in such cells, they are the scene, and what moves is an object.
MAX_FIXED = 0.5


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PointTracks:
    """Points tracked from one image to the next."""

    # shape (n, 2): positions (x, y) in pixels
    before: Floats
    after: Floats
    # shape (2,): mean position of all corners of the first image, tracked or not
    mean_corner_px: Floats


def track_points(
    before: NDArray[np.uint8], after: NDArray[np.uint8], *, earlier: PointTracks | None = None
) -> PointTracks | None:
    """Return the positions in both images of the corners of `before`.

    Parameters
    ----------
    before, after : ndarray of uint8, shape (h, w)
        Neighbouring images.
    earlier : PointTracks, optional
        Tracks that end in `before`: at steady speed the flow at a place hardly changes, and near
        walls move farther between images than a search from standstill can reach.

    Returns
    -------
    PointTracks or None
        None with fewer than twelve good tracks.
    """
    height, width = before.shape
    corners = _find_corners(before)
    if len(corners) < MIN_POINTS:
        return None
    mean_corner_px = corners[:, 0].mean(axis=0, dtype=np.float64)
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
    return PointTracks(before=p[good], after=q[good], mean_corner_px=mean_corner_px)


def _find_corners(frame: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Return corners spread over the image, the strongest of each cell first, shape (n, 1, 2)."""
    found: Sequence[cv2.KeyPoint] = ()
    for threshold in FAST_THRESHOLDS:
        if len(found) < ENOUGH_CORNERS:
            detector = cv2.FastFeatureDetector.create(threshold=threshold, nonmaxSuppression=True)
            found = detector.detect(frame)
    if not found:
        return np.zeros((0, 1, 2), dtype=np.float32)
    places = np.asarray(cv2.KeyPoint.convert(found), dtype=np.float32)
    # Strengths are luma levels: cell and strength, or rank and strength, sort as one number.
    weakness = 255 - np.array([point.response for point in found]).astype(np.int64)
    column, row = (places * (1.0 / CORNER_CELL_PX)).astype(np.int64).T
    cell = row * (frame.shape[1] // CORNER_CELL_PX + 1) + column
    order = np.argsort(256 * cell + weakness, kind="stable")
    cell = cell[order]
    rank = np.arange(order.size) - np.searchsorted(cell, cell)
    is_kept = rank < PER_CELL
    order, rank = order[is_kept], rank[is_kept]
    best = order[np.argsort(256 * rank + weakness[order], kind="stable")[:MAX_CORNERS]]
    return places[best, None, :]


def _guess(corners: NDArray[np.float32], earlier: PointTracks | None) -> NDArray[np.float32]:
    """Return where the corners will be if they move as their neighbours did before."""
    if earlier is None:
        return corners.copy()
    places = corners[:, 0, :]
    known = earlier.after.astype(np.float32)
    apart = np.square(places[:, :1] - known[:, 0]) + np.square(places[:, 1:] - known[:, 1])
    nearest = np.argmin(apart, axis=1)
    flow = (earlier.after - earlier.before)[nearest]
    flow[apart[np.arange(len(places)), nearest] > NEIGHBOUR_PX**2] = 0.0
    return np.asarray((places + flow)[:, None, :], dtype=np.float32)


@dataclass(frozen=True, kw_only=True, eq=False)  # no slots: the rotation is computed on demand
class FramePair:
    """Tracks between two frames, waiting to be fitted."""

    # The two frames.
    previous: int
    index: int
    tracks: PointTracks  # in pixels of the tracked image
    # Height and width of the tracked image and of the full one.
    shape: tuple[int, ...]
    full_shape: tuple[int, ...]

    @cached_property
    def turn_px(self) -> float:
        """Common displacement of the points: from sideways rotation, not from forward travel."""
        return float(np.hypot(*np.mean(self.tracks.after - self.tracks.before, axis=0)))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairStack:
    """Points of m pairs of frames of one size, up to n each."""

    frames: NDArray[np.intp]  # shape (m, 2): the two frames of each pair
    # shape (2, m, n, 2): positions before and after, from the centre of the tracked image
    places_px: Floats
    is_point: Bools  # shape (m, n): false where a pair has fewer points than n
    # shape (m,): mean row of the corners, from the middle one of the full image
    corner_rows_px: Floats
    # shape (2,): rows of the full image, in the order in which they are read, per pixel to the
    # right and down in the tracked image
    rows_per_px: Floats
    focal_px: float  # focal length in pixels of the tracked image

    @classmethod
    def of(
        cls,
        pairs: Sequence[FramePair],
        full_focal_px: float,
        scan: Scan | None,
        fixed: FixedParts,
    ) -> PairStack:
        """Stack pairs of frames of one size, without points fixed to the camera.

        `full_focal_px` and `scan` are those of the full image.
        """
        (height, width), full_shape = pairs[0].shape, pairs[0].full_shape
        n_most = max(len(pair.tracks.before) for pair in pairs)
        places = np.zeros((2, len(pairs), n_most, 2))
        is_point = np.zeros((len(pairs), n_most), dtype=np.bool_)
        for k, pair in enumerate(pairs):
            n = len(pair.tracks.before)
            places[0, k, :n], places[1, k, :n] = pair.tracks.before, pair.tracks.after
            is_point[k, :n] = True
        is_point &= ~fixed.hides(places[0])
        centre = np.array([(width - 1) / 2.0, (height - 1) / 2.0])
        places -= centre
        direction = np.array(direction_of(scan), dtype=np.float64)
        rows_per_px = direction * (full_shape[1] / width, full_shape[0] / height)
        corners_px = np.stack([pair.tracks.mean_corner_px for pair in pairs])
        return cls(
            frames=np.array([(pair.previous, pair.index) for pair in pairs]),
            places_px=places,
            is_point=is_point,
            corner_rows_px=(corners_px - centre) @ rows_per_px,
            rows_per_px=rows_per_px,
            focal_px=full_focal_px * width / full_shape[1],
        )

    def rows_px(self, pairs: NDArray[np.intp]) -> Floats:
        """Return the rows of the selected pairs' points in the full image, shape (2, k, n)."""
        return np.asarray(self.places_px[:, pairs] @ self.rows_per_px)

    def seen_through(self, lens: Lens | None) -> tuple[Floats, Floats, Bools, Floats | None]:
        """Return positions before and after, which are points, and the scale (`fit_rotations`)."""
        bent = self.places_px / self.focal_px
        if lens is None:
            return bent[0], bent[1], self.is_point, None
        sight = lens.sight(bent)
        is_point = self.is_point & sight.is_seen[0] & sight.is_seen[1]
        scale = np.sqrt(sight.scale[0] * sight.scale[1])
        return sight.places[0], sight.places[1], is_point, scale


@dataclass(slots=True)
class FixedParts:
    """Accumulate which cells of the images of one camera, all of one size, do not move."""

    # shape (3, rows, columns): points seen, those seen while the scene moved, and those of these
    # that were still
    _counts: NDArray[np.int64] | None = None

    def add(self, before: Floats, after: Floats, shape: tuple[int, ...]) -> None:
        """Count points that moved between two images of a shape (height, width).

        `before`, `after`, shape (n, 2): their positions (x, y) in pixels.
        """
        size = tuple(length // COUNTING_CELL_PX + 1 for length in shape)
        if self._counts is None or self._counts.shape[1:] != size:
            self._counts = np.zeros((3, *size), dtype=np.int64)
        moved_px = np.hypot(*(after - before).T)
        is_moving = np.full(moved_px.size, np.median(moved_px) >= MOVED_PX)
        kinds = (before, before[is_moving], before[is_moving & (moved_px < STILL_PX)])
        for counts, some in zip(self._counts, kinds, strict=True):
            np.add.at(counts, _cells(some), 1)

    def hides(self, places: Floats) -> Bools:
        """Return which positions (x, y) in pixels, shape (..., 2), are fixed to the camera."""
        if self._counts is None:
            return np.zeros(places.shape[:-1], dtype=np.bool_)
        n_all, n, n_still = self._counts
        is_fixed = (n >= MIN_SEEN) & (n_still > MIN_STILL * n)
        if n_all[is_fixed].sum() > MAX_FIXED * n_all.sum():
            return np.zeros(places.shape[:-1], dtype=np.bool_)
        return np.asarray(is_fixed[_cells(places)])


def _cells(places: Floats) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    cells = (places / COUNTING_CELL_PX).astype(np.intp)
    return cells[..., 1], cells[..., 0]
