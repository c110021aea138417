"""The ground: an endless tiled plane, painted in bands of rows."""

from itertools import pairwise

import cv2
import numpy as np

from .motion import FloatArray
from .raycast import SHARPNESS, Shot
from .textures import GROUND_LUMA, Texture
from .world import GROUND_TEXELS_PER_M, GROUND_TILE_M

_REACH_M = 100.0
_FADE_M = 40.0  # contrast fades with distance, before the repetition of tiles shows
_PAD = 2


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
        """Paint all rows that look down steeply enough, each from the fitting reduction.

        The reduction lies between the footprints along and across the line of sight: the wider one
        alone would blur the road, the narrower one alone would shimmer.
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
        picture = cv2.remap(tile, places[0], places[1], cv2.INTER_LINEAR)
        keep = np.exp(-height / steepness[rows] / _FADE_M).astype(np.float32)[:, None]
        faded = (picture * keep + np.float32(GROUND_LUMA) * (1 - keep)).astype(np.uint8)
        if is_below.all():
            shot.luma[rows] = faded
        else:
            shot.luma[rows] = np.where(is_below, faded, shot.luma[rows])
