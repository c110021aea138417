"""Luma textures with detail at every scale, and their reductions against aliasing."""

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

Luma = NDArray[np.uint8]
HAZE_LUMA = 176.0  # haze level at a distance; also the luma of the horizon
GROUND_LUMA = 96.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Texture:
    """Hold a texture and its octave reductions, separately along columns and rows.

    A wall seen at a grazing angle shrinks far more along the road than vertically, so one isotropic
    pyramid would blur it; ``levels[i][j]`` is reduced by ``2**i`` in columns and ``2**j`` in rows.
    """

    levels: tuple[tuple[Luma, ...], ...]
    texels_per_m: float

    @classmethod
    def from_luma(cls, luma: NDArray[np.float32], texels_per_m: float) -> "Texture":
        """Clip a float image to 8 bits and reduce it by area averaging."""
        full = np.clip(luma, 0, 255).astype(np.uint8)
        columns = [full]
        while columns[-1].shape[1] > 4 and len(columns) < 8:
            columns.append(_halve(columns[-1], axis=1))
        levels = []
        for column in columns:
            rows = [column]
            while rows[-1].shape[0] > 4 and len(rows) < 8:
                rows.append(_halve(rows[-1], axis=0))
            levels.append(tuple(rows))
        return cls(levels=tuple(levels), texels_per_m=texels_per_m)


def _halve(luma: Luma, axis: int) -> Luma:
    height, width = luma.shape
    size = (max(width // 2, 1), height) if axis == 1 else (width, max(height // 2, 1))
    return np.asarray(cv2.resize(luma, size, interpolation=cv2.INTER_AREA), dtype=np.uint8)


def octave_noise(
    shape: tuple[int, int],
    coarsest_px: float,
    rng: np.random.Generator,
    *,
    finest_px: float = 3.0,
    slope: float = 0.8,
    is_periodic: bool = False,
) -> NDArray[np.float32]:
    """Sum smooth noise over octaves, unit standard deviation, shape `shape`.

    Parameters
    ----------
    shape : tuple of int
        Rows and columns.
    coarsest_px, finest_px : float
        Grid spacing of the first octave and the limit of the last.
    rng : numpy.random.Generator
    slope : float
        Amplitude ratio of one octave to the next coarser one.
    is_periodic : bool
        Whether columns wrap around.
    """
    rows, columns = shape
    total = np.zeros(shape, dtype=np.float32)
    spacing, amplitude = coarsest_px, 1.0
    while spacing >= finest_px:
        n_columns = max(int(np.ceil(columns / spacing)), 2)
        grid = rng.standard_normal((int(rows / spacing) + 3, n_columns)).astype(np.float32)
        pad = 3
        if is_periodic:
            wide = np.concatenate([grid[:, -pad:], grid, grid[:, :pad]], axis=1)
        else:
            wide = np.pad(grid, ((0, 0), (pad, pad)), mode="reflect" if n_columns > pad else "wrap")
        margin = round(pad * columns / n_columns)
        size = (columns + 2 * margin, rows)
        octave = cv2.resize(wide, size, interpolation=cv2.INTER_CUBIC)[:, margin : margin + columns]
        total += np.float32(amplitude) * octave
        spacing, amplitude = spacing / 2, amplitude * slope
    return np.asarray((total - total.mean()) / total.std(), dtype=np.float32)


def facade(width_m: float, height_m: float, rng: np.random.Generator) -> Texture:
    """Paint a building front: stained wall, irregular windows, a few signs."""
    scale = 40.0
    shape = (round(height_m * scale), round(width_m * scale))
    base = rng.uniform(70, 165)
    luma = base + 11 * octave_noise(shape, 160, rng)
    storey_m, bay_m = rng.uniform(2.6, 3.4), rng.uniform(1.8, 3.2)
    for bottom_m in np.arange(0.8, height_m - 1.5, storey_m):
        for left_m in np.arange(rng.uniform(0.3, 0.9), width_m - 1.2, bay_m):
            if rng.random() < 0.12:
                continue
            size = rng.uniform(0.8, min(1.5, bay_m - 0.4)), rng.uniform(1.0, 1.7)
            corner = left_m + rng.uniform(0, 0.2), height_m - bottom_m - size[1]
            _rectangle(luma, corner, size, base + rng.uniform(30, 60), scale, frame_m=0.1)
            _rectangle(luma, corner, size, rng.uniform(25, 80), scale)
            if rng.random() < 0.5:
                blind = size[0], size[1] * rng.uniform(0.2, 0.7)
                _rectangle(luma, corner, blind, rng.uniform(120, 210), scale)
    for _ in range(rng.integers(2, 5)):
        size = rng.uniform(0.5, 2.0), rng.uniform(0.3, 0.8)
        corner = rng.uniform(0, max(width_m - 2, 0.1)), height_m - rng.uniform(0.9, 3.2)
        _rectangle(luma, corner, size, rng.choice([30.0, 60.0, 200.0, 225.0]), scale)
    return _finish(luma, scale, rng)


def patchwork(width_m: float, height_m: float, rng: np.random.Generator) -> Texture:
    """Paint a small object (pole, cabinet, car side): noise with a few bold rectangles."""
    scale = 48.0
    shape = (max(round(height_m * scale), 8), max(round(width_m * scale), 8))
    luma = rng.uniform(60, 180) + 16 * octave_noise(shape, max(shape) / 3, rng)
    for _ in range(6):
        size = rng.uniform(0.15, 0.6) * width_m, rng.uniform(0.08, 0.3) * height_m
        corner = rng.uniform(-0.1, 0.8) * width_m, rng.uniform(0, 0.9) * height_m
        _rectangle(luma, corner, size, rng.uniform(25, 225), scale)
    return _finish(luma, scale, rng)


def ground(rng: np.random.Generator, *, tile_m: float, texels_per_m: float) -> Texture:
    """Paint a square tile of asphalt that wraps in both directions."""
    n_texels = round(tile_m * texels_per_m)
    noise = octave_noise((n_texels, n_texels), n_texels / 8, rng, is_periodic=True, slope=0.95)
    ramp = np.abs(np.linspace(-1, 1, n_texels, dtype=np.float32))[:, None] ** 6  # wrap rows too
    noise = np.asarray((1 - ramp / 2) * noise + ramp / 2 * noise[::-1], dtype=np.float32)
    luma = np.asarray(GROUND_LUMA + 9 * noise, dtype=np.float32)
    for _ in range(60):  # patches, cracks, leaves: corners to track
        size = rng.uniform(0.08, 0.7, 2)
        corner = rng.uniform(0.1, tile_m - 0.9, 2)
        _rectangle(luma, tuple(corner), tuple(size), rng.uniform(50, 150), texels_per_m)
    luma += np.float32(GROUND_LUMA - luma.mean())
    return _finish(luma, texels_per_m, rng)


def paint_mark(width_m: float, height_m: float, rng: np.random.Generator) -> Texture:
    """Paint a worn white road marking."""
    scale = 40.0
    shape = (max(round(height_m * scale), 4), max(round(width_m * scale), 4))
    return _finish(200 + 14 * octave_noise(shape, 20, rng), scale, rng)


def _rectangle(
    luma: NDArray[np.float32],
    corner_m: tuple[float, ...],
    size_m: tuple[float, ...],
    value: float,
    scale: float,
    *,
    frame_m: float = 0.0,
) -> None:
    left, top = (round(max(c - frame_m, 0) * scale) for c in corner_m)
    right, bottom = (
        round((c + s + frame_m) * scale) for c, s in zip(corner_m, size_m, strict=True)
    )
    luma[top:bottom, left:right] = value + 0.3 * (luma[top:bottom, left:right] - luma.mean())


def _finish(luma: NDArray[np.float32], scale: float, rng: np.random.Generator) -> Texture:
    grain = rng.standard_normal(luma.shape, dtype=np.float32)
    soft = cv2.GaussianBlur(luma + 7 * grain, (0, 0), 0.9)
    return Texture.from_luma(np.asarray(soft, dtype=np.float32), scale)
