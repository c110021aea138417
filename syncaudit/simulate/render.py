"""Pictures of the world as one camera sees it, with rolling shutter."""

import numpy as np
from numpy.typing import NDArray

from .camera import CameraConfig
from .ground import Ground
from .motion import FloatArray
from .planes import Planes, block_planes, far_planes, mark_planes, merge
from .raycast import Shot
from .visibility import Extents, find_hidden, paint_order
from .world import World, mover_block

FAR_M = 100.0
_MARKS_M = 45.0
_SKY_LUMA = 210


class Renderer:
    """Render frames of a world.

    Every row has its own rotation and position; movers go on moving during the read-out. Lenses are
    ideal pinholes. What hides what is decided by blocks (see `paint_order`).

    Parameters
    ----------
    world : World
    camera : CameraConfig
    """

    def __init__(self, world: World, camera: CameraConfig) -> None:
        self._world = world
        self._camera = camera
        width, height = camera.size_px
        self._body_from_camera = camera.body_from_camera()
        self._columns = np.ones((2, width), dtype=np.float32)
        self._columns[0] = (np.arange(width) - (width - 1) / 2) / camera.focal_px
        rows = np.arange(height, dtype=np.float64)
        self._row_y = (rows - (height - 1) / 2) / camera.focal_px
        self._ground = Ground(world.ground)
        self._far = far_planes(world.panorama)
        self._marks = mark_planes(world.marks)
        self._blocks = merge([block_planes(block, i) for i, block in enumerate(world.blocks)])
        self._centres = np.array([block.centre_m for block in world.blocks]).reshape(-1, 2)

    def render(self, time_s: float) -> NDArray[np.uint8]:
        """Return the luma of the frame whose middle row is exposed around `time_s`.

        Returns
        -------
        ndarray of uint8, shape (height, width)
        """
        n_parts = self._camera.n_subexposures
        if n_parts == 1:
            return self._render_once(time_s)
        total = np.zeros(self._camera.size_px[::-1], dtype=np.float32)
        for part in range(n_parts):
            shift_s = ((part + 0.5) / n_parts - 0.5) * self._camera.exposure_s
            total += self._render_once(time_s + shift_s)
        return np.asarray(np.rint(total / n_parts), dtype=np.uint8)

    def _render_once(self, time_s: float) -> NDArray[np.uint8]:
        times = self._camera.row_times_s(time_s)
        rotation = self._world.motion.orientation(times)
        lever_arm = rotation @ np.array(self._camera.lever_arm_m)
        shot = Shot(
            columns=self._columns,
            row_y=self._row_y,
            rotation=rotation @ self._body_from_camera,
            centre=self._world.motion.position(times) + lever_arm,
            row_shift_s=times - time_s,
            focal_px=self._camera.focal_px,
            luma=np.full(self._camera.size_px[::-1], _SKY_LUMA, dtype=np.uint8),
        )
        eye = shot.centre[len(times) // 2]
        self._paint_far(shot)
        self._ground.paint(shot)
        self._paint_marks(shot, eye)
        self._paint_blocks(shot, eye, time_s)
        return shot.luma

    def _paint_far(self, shot: Shot) -> None:
        seen, extents = _in_view(shot, self._far, None, is_far=True)
        shot.paint(seen, extents, is_far=True)

    def _paint_marks(self, shot: Shot, eye_m: FloatArray) -> None:
        away = np.hypot(*(self._marks.corner_m[:, :2] - eye_m[:2]).T)
        near = self._marks.select(np.flatnonzero(away < _MARKS_M))
        shot.paint(*_in_view(shot, near, eye_m))

    def _paint_blocks(self, shot: Shot, eye_m: FloatArray, time_s: float) -> None:
        """Paint near blocks and movers from the farthest on, but for those that are hidden."""
        away = np.hypot(*(self._centres - eye_m[:2]).T)
        parts = [self._blocks.select(np.flatnonzero((away < FAR_M)[self._blocks.owner]))]
        for number, mover in enumerate(self._world.movers, len(self._centres)):
            block, velocity = mover_block(self._world, mover, time_s)
            if np.hypot(*(block.centre_m - eye_m[:2])) < FAR_M:
                parts.append(block_planes(block, number, velocity))
        every = merge(parts)
        seen, extents = _in_view(shot, every, eye_m)
        if not seen.textures:
            return
        owners, place = np.unique(seen.owner, return_inverse=True)
        sides = np.flatnonzero(np.isin(every.owner, owners))  # four of each, in their order
        sides = sides[np.argsort(every.owner[sides], kind="stable")]
        corners = every.corner_m[sides, :2].reshape(-1, 4, 2)
        outward = -every.axes[sides, 2, :2].reshape(-1, 4, 2)
        order = paint_order(eye_m[:2], corners, outward)
        is_hidden = find_hidden(extents, place, order, shot.luma.shape[1])
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        chosen = np.argsort(rank[place], kind="stable")
        chosen = chosen[~is_hidden[chosen]]
        shot.paint(seen.select(chosen), _choose(extents, chosen), has_haze=True)


def _in_view(
    shot: Shot, planes: Planes, eye_m: FloatArray | None, *, is_far: bool = False
) -> tuple[Planes, Extents]:
    """Keep the rectangles that face the eye and reach into the picture."""
    if eye_m is not None:
        towards = np.einsum("nc,nc->n", planes.corner_m - eye_m, planes.axes[:, 2])
        planes = planes.select(np.flatnonzero(towards > 0.02))
    extents = shot.extents(planes.corners(), planes.velocity_mps, is_far=is_far)
    size = extents.boxes[:, 1::2] - extents.boxes[:, ::2]
    seen = np.flatnonzero((size > 0).all(axis=1))
    return planes.select(seen), _choose(extents, seen)


def _choose(extents: Extents, chosen: NDArray[np.int64]) -> Extents:
    return Extents(
        boxes=extents.boxes[chosen],
        depth_m=extents.depth_m[chosen],
        inner=extents.inner[chosen],
    )
