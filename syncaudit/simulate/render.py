"""Render the world as seen by one camera, with rolling shutter."""

from itertools import pairwise

import cv2
import numpy as np
from numpy.typing import NDArray

from .camera import CameraConfig
from .motion import FloatArray
from .planes import block_planes, far_planes, mark_planes, merge
from .raycast import SHARPNESS, Shot, pixel_rays
from .textures import GROUND_LUMA, Texture
from .visibility import find_hidden, paint_order
from .world import GROUND_TEXELS_PER_M, GROUND_TILE_M, World, mover_block

_REACH_M = 100.0
_FADE_M = 40.0  # contrast fades with distance, before the repetition of tiles shows
_PAD = 2

FAR_M = 100.0
_MARKS_M = 45.0
_SKY_LUMA = 210


class Renderer:
    """Render frames of a world.

    Every row has its own rotation and position; movers keep moving during the readout. Lenses are
    ideal pinholes. Occlusion is resolved per block (see `paint_order`).
    """

    def __init__(self, world: World, camera: CameraConfig) -> None:
        self._world = world
        self._camera = camera
        self._body_from_camera = camera.body_from_camera()
        self._columns, self._row_y = pixel_rays(camera)
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
        shot.paint(*shot.in_view(self._far, is_far=True), is_far=True)
        self._ground.paint(shot)
        self._paint_marks(shot, eye)
        self._paint_blocks(shot, eye, time_s)
        return shot.luma

    def _paint_marks(self, shot: Shot, eye_m: FloatArray) -> None:
        away = np.hypot(*(self._marks.corner_m[:, :2] - eye_m[:2]).T)
        near = self._marks.select(np.flatnonzero(away < _MARKS_M))
        shot.paint(*shot.in_view(near, eye_m))

    def _paint_blocks(self, shot: Shot, eye_m: FloatArray, time_s: float) -> None:
        """Paint visible near blocks and movers, farthest first."""
        away = np.hypot(*(self._centres - eye_m[:2]).T)
        parts = [self._blocks.select(np.flatnonzero((away < FAR_M)[self._blocks.owner]))]
        for number, mover in enumerate(self._world.movers, len(self._centres)):
            block, velocity = mover_block(self._world, mover, time_s)
            if np.hypot(*(block.centre_m - eye_m[:2])) < FAR_M:
                parts.append(block_planes(block, number, velocity))
        every = merge(parts)
        seen, extents = shot.in_view(every, eye_m)
        if not seen.textures:
            return
        owners, place = np.unique(seen.owner, return_inverse=True)
        sides = np.flatnonzero(np.isin(every.owner, owners))  # four per block, in order
        sides = sides[np.argsort(every.owner[sides], kind="stable")]
        corners = every.corner_m[sides, :2].reshape(-1, 4, 2)
        outward = -every.axes[sides, 2, :2].reshape(-1, 4, 2)
        order = paint_order(eye_m[:2], corners, outward)
        is_hidden = find_hidden(extents, place, order, shot.luma.shape[1])
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        chosen = np.argsort(rank[place], kind="stable")
        chosen = chosen[~is_hidden[chosen]]
        shot.paint(seen.select(chosen), extents.select(chosen), has_haze=True)


class Ground:
    """Paint the ground.

    Parameters
    ----------
    texture : Texture
        A tile that wraps in both directions.
    """

    def __init__(self, texture: Texture) -> None:
        n_levels = min(len(texture.levels), len(texture.levels[0]))
        self._tiles = [np.pad(texture.levels[i][i], _PAD, mode="wrap") for i in range(n_levels)]

    def paint(self, shot: Shot) -> None:
        """Paint all rows that look down steeply enough, each from a suitable reduction.

        The reduction lies between the footprints along and across the line of sight: the wider one
        alone would blur the road, the narrower one alone would alias.
        """
        down_x = -shot.rotation[:, 2, 0]  # downward part of the ray: down_x * x + down_1
        down_1 = -(shot.rotation[:, 2, 1] * shot.row_y + shot.rotation[:, 2, 2])
        height = shot.centre[:, 2]
        is_ground = down_1 + np.abs(down_x) * shot.columns[0, -1] > height / _REACH_M
        if not is_ground.any():
            return
        top = int(np.argmax(is_ground))
        steepness = np.maximum(down_1, height / _REACH_M)
        footprint = height / steepness / shot.focal_px * GROUND_TEXELS_PER_M
        texels = 0.25 * footprint / steepness + 0.5 * footprint / np.sqrt(steepness)
        level = np.rint(np.log2(np.maximum(texels, 1e-3)) - SHARPNESS)
        level = np.clip(level, 0, len(self._tiles) - 1).astype(int)
        edges = [top, *(np.flatnonzero(np.diff(level[top:])) + top + 1).tolist(), len(level)]
        for start, stop in pairwise(edges):
            rows = slice(start, stop)
            self._paint_rows(shot, rows, int(level[start]), down_x, down_1, steepness)

    def _paint_rows(
        self,
        shot: Shot,
        rows: slice,
        level: int,
        down_x: FloatArray,
        down_1: FloatArray,
        steepness: FloatArray,
    ) -> None:
        tile = self._tiles[level]
        n_texels = tile.shape[0] - 2 * _PAD
        origin = np.floor(shot.centre[rows.start, :2] / GROUND_TILE_M)  # keeps float32 exact
        height = shot.centre[rows, 2]
        den = shot.linear(down_x[rows], down_1[rows])
        is_below = den > 0
        np.maximum(den, np.float32(height[0] / (1.5 * _REACH_M)), out=den)
        np.reciprocal(den, out=den)
        places = []
        for axis in (0, 1):
            ray_x = shot.rotation[rows, axis, 0]
            ray_1 = shot.rotation[rows, axis, 1] * shot.row_y[rows] + shot.rotation[rows, axis, 2]
            in_tiles = height / GROUND_TILE_M
            place = shot.linear(in_tiles * ray_x, in_tiles * ray_1)
            place *= den
            shift = shot.centre[rows, axis] / GROUND_TILE_M - origin[axis]
            place += shift.astype(np.float32)[:, None]
            place -= np.floor(place)
            place *= np.float32(n_texels)
            place += np.float32(_PAD - 0.5)
            places.append(place)
        image = cv2.remap(tile, places[0], places[1], cv2.INTER_LINEAR)
        keep = np.exp(-height / steepness[rows] / _FADE_M).astype(np.float32)[:, None]
        faded = (image * keep + np.float32(GROUND_LUMA) * (1 - keep)).astype(np.uint8)
        if is_below.all():
            shot.luma[rows] = faded
        else:
            shot.luma[rows] = np.where(is_below, faded, shot.luma[rows])
