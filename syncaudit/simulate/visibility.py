"""Find where rectangles fall in the image, which are hidden, and the order of painting."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .motion import FloatArray

NEAR_M = 0.08
_SLACK_PX = 3  # outlines fade over a texel, and rows between the sampled ones may extend further


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Extents:
    """Bounds of n rectangles in the image over the readout."""

    # shape (n, 4): columns [left, right) and rows [top, bottom), empty if outside
    boxes: NDArray[np.int64]
    depth_m: FloatArray  # shape (n,): mean depth of the corners
    # shape (n, 4): columns and rows (x, y of the left, x, y of the right) of a line that the
    # rectangle covers from there downwards in every row's pose; NaN where it reaches behind the eye
    inner: FloatArray

    def select(self, chosen: NDArray[np.int64]) -> "Extents":
        """Return the extents of the chosen rectangles in the order given."""
        return Extents(
            boxes=self.boxes[chosen], depth_m=self.depth_m[chosen], inner=self.inner[chosen]
        )


def find_extents(
    corners_m: FloatArray,
    velocity_mps: FloatArray,
    poses: list[tuple[FloatArray, FloatArray, float]],
    focal_px: float,
    size_px: tuple[int, int],
    near_m: float,
) -> Extents:
    """Project rectangles with a few poses during the readout.

    Corners have the shape (3, 4, n), velocities (n, 3). A pose is the rotation from camera to
    world, the centre, and the seconds since the middle row; `size_px` is width and height.
    """
    n_planes = corners_m.shape[2]
    middle = (np.array(size_px) - 1)[:, None] / 2
    low, high = np.full((2, n_planes), np.inf), np.full((2, n_planes), -np.inf)
    left_top, right_top = np.empty((2, 2, n_planes))
    left_top[:], right_top[:] = -np.inf, [[np.inf], [-np.inf]]
    depth = np.zeros(n_planes)
    for rotation, centre, shift_s in poses:
        moved = corners_m + velocity_mps.T[:, None] * shift_s - centre[:, None, None]
        local = (rotation.T @ moved.reshape(3, -1)).reshape(3, 4, n_planes)
        depth = np.maximum(local[2].mean(axis=0), 0.0)
        points, is_valid = _clip_to_near(local, near_m)
        pixels = points[:2] / points[2] * focal_px + middle[:, None]
        low = np.minimum(low, np.where(is_valid, pixels, np.inf).min(axis=1))
        high = np.maximum(high, np.where(is_valid, pixels, -np.inf).max(axis=1))
        is_whole = is_valid[:4].all(axis=0)
        left_top = np.maximum(left_top, np.where(is_whole, pixels[:, 0], np.nan))
        right_x = np.minimum(right_top[0], np.where(is_whole, pixels[0, 1], np.nan))
        right_top = np.stack([right_x, np.maximum(right_top[1], pixels[1, 1])])
    limit = np.array(size_px)[:, None]
    first = np.clip(np.floor(low) - _SLACK_PX + 1, 0, limit)
    last = np.clip(np.ceil(high) + _SLACK_PX, 0, limit)
    boxes = np.stack([first[0], last[0], first[1], last[1]], axis=1).astype(np.int64)
    inner = np.stack([*(left_top + _SLACK_PX), right_top[0] - _SLACK_PX, right_top[1] + _SLACK_PX])
    return Extents(boxes=boxes, depth_m=depth, inner=inner.T)


def _clip_to_near(local: FloatArray, near_m: float) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Return corners and, where some lie behind the near plane, the crossings of edges with it.

    Shape (3, 4, n) becomes (3, 4 or 8, n), with a mask of the valid ones.
    """
    z = local[2]
    is_front = z > near_m
    if is_front.all():
        return local, is_front
    following = np.roll(local, -1, axis=1)
    step = following[2] - z
    share = (near_m - z) / np.where(step == 0, 1.0, step)
    crossing = local + share * (following - local)
    crosses = is_front != (following[2] > near_m)
    points = np.concatenate([np.where(is_front, local, near_m), crossing], axis=1)
    points[2] = np.maximum(points[2], near_m)
    return points, np.concatenate([is_front, crosses])


def find_hidden(
    extents: Extents, owner: NDArray[np.int64], order: NDArray[np.int64], width_px: int
) -> NDArray[np.bool_]:
    """Return which rectangles are entirely behind nearer ones, shape (n,).

    Everything stands on the ground, so the foot of a nearer object is lower in the image: a column
    is covered from the highest nearer top downwards.

    `owner`, shape (n,): number of each rectangle's block in `order`. `order`: blocks,
    farthest first.
    """
    cover = np.full(width_px, np.inf)
    is_hidden = np.zeros(len(owner), dtype=bool)
    members: dict[int, list[int]] = {}
    for plane, block in enumerate(owner.tolist()):
        members.setdefault(block, []).append(plane)
    boxes, inner = extents.boxes.tolist(), extents.inner.tolist()
    for block in order[::-1].tolist():
        for plane in members[block]:
            left, right, top, _ = boxes[plane]
            is_hidden[plane] = cover[left:right].max() <= top
        for plane in members[block]:
            x_left, y_left, x_right, y_right = inner[plane]
            if is_hidden[plane] or not x_right - x_left > 4:  # also False for NaN
                continue
            start, stop = max(int(x_left) + 1, 0), min(int(x_right), width_px)
            if stop > start:
                slope = (y_right - y_left) / (x_right - x_left)
                line = y_left + slope * (np.arange(start, stop) - x_left)
                np.minimum(cover[start:stop], line, out=cover[start:stop])
    return is_hidden


def paint_order(eye_m: FloatArray, corners_m: FloatArray, outward: FloatArray) -> NDArray[np.int64]:
    """Sort convex footprints so that none is painted over by one that it hides.

    If all of B lies outside a side line of A, the eye decides: if it is outside too, A cannot hide
    B and goes first; if inside, B cannot hide A and goes first. Disjoint rectangles nearly always
    have such a line. Ties are broken by distance.

    The eye has the shape (2,), corners and outward normals of the sides (n, 4, 2): corner k starts
    side k.

    Returns
    -------
    ndarray of int, shape (n,)
        Indices, farthest first.
    """
    n_blocks = len(corners_m)
    limits = np.einsum("akc,akc->ak", outward, corners_m)
    reach = outward.reshape(-1, 2) @ corners_m.reshape(-1, 2).T
    reach = reach.reshape(n_blocks, 4, n_blocks, 4).min(axis=3)
    is_apart = reach >= limits[:, :, None] - 1e-6
    eye_outside = (outward @ eye_m > limits)[:, :, None]
    first = (is_apart & eye_outside).any(axis=1) | (is_apart & ~eye_outside).any(axis=1).T
    first &= ~first.T
    distance = np.square(corners_m - eye_m).sum(axis=2).min(axis=1)
    by_distance = np.argsort(-distance, kind="stable")
    waits_for = first.T[np.ix_(by_distance, by_distance)]  # [i, j]: j must be painted before i
    n_waiting = waits_for.sum(axis=1)
    order = []
    for _ in range(n_blocks):
        ready = int(np.argmin(n_waiting))  # the farthest among those with the fewest dependencies
        n_waiting -= waits_for[:, ready]
        n_waiting[ready] = 2 * n_blocks
        order.append(by_distance[ready])
    return np.array(order, dtype=np.int64)
