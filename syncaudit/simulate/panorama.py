"""The far world: sky, clouds, hills and a skyline at infinity, as four sides of a box."""

import cv2
import numpy as np
from numpy.typing import NDArray

from .textures import GROUND_LUMA, HAZE_LUMA, Texture, octave_noise

TEXELS_PER_UNIT = 640.0  # box units are tangents: about one texel per pixel at focal length 640 px
BOX_HALF_WIDTH = 1.04  # sides overlap a little, so that no seam shows at the edges
TAN_UP, TAN_DOWN = 1.3, 0.08  # the ground hides anything lower
_COLUMNS_PER_TURN = 4096
_ROWS_PER_TAN = _COLUMNS_PER_TURN / (2 * np.pi)


def paint_panorama(rng: np.random.Generator) -> list[Texture]:
    """Return the four sides of the far box: looking along +x, +y, -x and -y of the world.

    Columns run to the right as seen from inside; rows run down from `TAN_UP` to ``-TAN_DOWN``.
    """
    turn = _cylinder(rng)
    width = round(2 * BOX_HALF_WIDTH * TEXELS_PER_UNIT)
    height = round((TAN_UP + TAN_DOWN) * TEXELS_PER_UNIT)
    right = (np.arange(width) + 0.5) / TEXELS_PER_UNIT - BOX_HALF_WIDTH
    up = TAN_UP - (np.arange(height) + 0.5) / TEXELS_PER_UNIT
    tan_elevation = up[:, None] / np.hypot(1.0, right)[None, :]
    rows = ((TAN_UP - tan_elevation) * _ROWS_PER_TAN).astype(np.float32)
    sides = []
    for quarter in range(4):
        azimuth = quarter * np.pi / 2 - np.arctan(right)  # azimuth grows to the left
        columns = (azimuth / (2 * np.pi)) % 1.0 * _COLUMNS_PER_TURN
        grid = np.broadcast_to(columns.astype(np.float32), rows.shape)
        side = cv2.remap(
            turn, np.ascontiguousarray(grid), rows, cv2.INTER_LINEAR, borderMode=cv2.BORDER_WRAP
        )
        sides.append(Texture.from_luma(np.asarray(side, np.float32), TEXELS_PER_UNIT))
    return sides


def _cylinder(rng: np.random.Generator) -> NDArray[np.float32]:
    """Paint azimuth against tangent of elevation, shape (rows, columns)."""
    n_rows = round((TAN_UP + TAN_DOWN) * _ROWS_PER_TAN) + 2
    shape = (n_rows, _COLUMNS_PER_TURN)
    tan_elevation = TAN_UP - np.arange(n_rows)[:, None] / _ROWS_PER_TAN
    clouds = octave_noise(shape, 256, rng, is_periodic=True, slope=0.6, finest_px=6)
    sky = HAZE_LUMA + 30 * np.clip(tan_elevation, 0, 1) + 14 * np.clip(clouds, -0.5, 2)
    luma = np.asarray(sky, dtype=np.float32)
    azimuth = np.arange(_COLUMNS_PER_TURN) / _COLUMNS_PER_TURN * 2 * np.pi
    for layer in range(3):  # far hills are paler and higher, near ones darker and lower
        crest = 0.10 - 0.03 * layer
        for wave in rng.integers(2, 60, 14):
            crest = crest + 0.05 / np.sqrt(wave) * np.cos(
                wave * azimuth + rng.uniform(0, 2 * np.pi)
            )
        crest = np.maximum(crest, 0.01)
        woods = octave_noise(shape, 48, rng, is_periodic=True, slope=0.9)
        shade = 150.0 - 22 * layer + (7 + 5 * layer) * woods
        luma = np.where(tan_elevation < crest, shade, luma).astype(np.float32)
    _skyline(luma, rng)
    luma = np.asarray(cv2.GaussianBlur(luma, (0, 0), 0.8), dtype=np.float32)
    floor = HAZE_LUMA + (GROUND_LUMA - HAZE_LUMA) * np.clip(-tan_elevation / 0.005, 0, 1)
    return np.where(tan_elevation < 0, floor, luma).astype(np.float32)


def _skyline(luma: NDArray[np.float32], rng: np.random.Generator) -> None:
    """Put distant towers with window rows on the horizon."""
    horizon = round(TAN_UP * _ROWS_PER_TAN)
    for _ in range(70):
        left = int(rng.integers(0, _COLUMNS_PER_TURN - 60))
        width, height = int(rng.integers(12, 55)), int(rng.integers(25, 120))
        shade = rng.uniform(85, 165)
        tower = luma[horizon - height : horizon, left : left + width]
        tower[:] = shade
        for row in range(5, height - 5, 9):
            for column in range(3, width - 5, 8):
                value = shade + rng.choice([-45.0, -25.0, 0.0, 35.0])
                tower[row : row + 5, column : column + 4] = value
