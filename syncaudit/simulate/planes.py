"""The world as textured rectangles, the form used for ray casting."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .motion import FloatArray
from .panorama import BOX_HALF_WIDTH, TAN_UP
from .textures import Texture
from .world import Block, Mark

_DOWN = np.array([0.0, 0.0, -1.0])
# The arrays of `Planes` for zero rectangles.
_ARRAYS: dict[str, Any] = {
    "corner_m": np.zeros((0, 3)),
    "axes": np.zeros((0, 3, 3)),
    "size_m": np.zeros((0, 2)),
    "velocity_mps": np.zeros((0, 3)),
    "owner": np.zeros(0, np.int64),
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Planes:
    """Hold n textured rectangles."""

    corner_m: FloatArray  # shape (n, 3): world position of the texture's first texel
    # shape (n, 3, 3): rows: direction of columns, direction of rows, and their cross product, which
    # points away from any viewer that can see the rectangle
    axes: FloatArray
    size_m: FloatArray  # shape (n, 2): extent along columns and rows
    velocity_mps: FloatArray  # shape (n, 3)
    owner: NDArray[np.int64]  # shape (n,): number of the block that it belongs to
    textures: tuple[Texture, ...]

    def select(self, chosen: NDArray[np.int64]) -> "Planes":
        """Return the chosen rectangles in the order given."""
        arrays = {name: getattr(self, name)[chosen] for name in _ARRAYS}
        return Planes(**arrays, textures=tuple([self.textures[k] for k in chosen.tolist()]))

    def corners(self) -> FloatArray:
        """Return the four corners, clockwise from the first texel, shape (3, 4, n)."""
        across = self.axes[:, 0] * self.size_m[:, :1]
        along = self.axes[:, 1] * self.size_m[:, 1:]
        first = self.corner_m
        four = np.stack([first, first + across, first + across + along, first + along])
        return np.ascontiguousarray(np.moveaxis(four, 2, 0))


def merge(parts: Sequence[Planes]) -> Planes:
    """Join rectangles; owners keep their numbers."""
    arrays = {
        name: np.concatenate([empty, *(getattr(part, name) for part in parts)])
        for name, empty in _ARRAYS.items()
    }
    textures = tuple([texture for part in parts for texture in part.textures])
    return Planes(**arrays, textures=textures)


def block_planes(block: Block, owner: int, velocity_mps: FloatArray | None = None) -> Planes:
    """Return the four sides of a block, each with its columns from left to right as seen."""
    cos, sin = np.cos(block.yaw_rad), np.sin(block.yaw_rad)
    ahead, left = np.array([cos, sin, 0.0]), np.array([-sin, cos, 0.0])
    half_x, half_y = block.half_size_m
    top = np.array([*block.centre_m, block.height_m])
    corners, axes, sizes = [], [], []
    for outward, run, depth, half in (
        (ahead, left, half_x, half_y),
        (left, -ahead, half_y, half_x),
        (-ahead, -left, half_x, half_y),
        (-left, ahead, half_y, half_x),
    ):
        corners.append(top + outward * depth - run * half)
        axes.append(np.stack([run, _DOWN, -outward]))
        sizes.append([2 * half, block.height_m])
    speed = np.zeros(3) if velocity_mps is None else np.array([*velocity_mps, 0.0])
    return Planes(
        corner_m=np.array(corners),
        axes=np.array(axes),
        size_m=np.array(sizes),
        velocity_mps=np.tile(speed, (4, 1)),
        owner=np.full(4, owner, dtype=np.int64),
        textures=block.sides,
    )


def mark_planes(marks: Sequence[Mark]) -> Planes:
    """Return road marks as rectangles seen from above."""
    parts = []
    for mark in marks:
        cos, sin = np.cos(mark.yaw_rad), np.sin(mark.yaw_rad)
        ahead, right = np.array([cos, sin, 0.0]), np.array([sin, -cos, 0.0])
        centre = np.array([*mark.centre_m, 0.0])
        corner = centre - ahead * mark.half_size_m[0] - right * mark.half_size_m[1]
        parts.append(
            single_plane(
                corner, np.stack([ahead, right, _DOWN]), mark.texture, 2 * mark.half_size_m
            )
        )
    return merge(parts)


def far_planes(panorama: Sequence[Texture]) -> Planes:
    """Return the sides of the far box, one unit around the eye."""
    parts = []
    for quarter, texture in enumerate(panorama):
        angle = quarter * np.pi / 2
        forward = np.array([np.cos(angle), np.sin(angle), 0.0])
        right = np.array([np.sin(angle), -np.cos(angle), 0.0])
        corner = forward - BOX_HALF_WIDTH * right - TAN_UP * _DOWN
        parts.append(single_plane(corner, np.stack([right, _DOWN, forward]), texture))
    return merge(parts)


def single_plane(
    corner: FloatArray, axes: FloatArray, texture: Texture, size: FloatArray | None = None
) -> Planes:
    """Return one static rectangle, by default as large as its texture."""
    if size is None:
        height, width = texture.levels[0][0].shape
        size = np.array([width, height]) / texture.texels_per_m
    return Planes(
        corner_m=corner[None],
        axes=axes[None],
        size_m=size[None],
        velocity_mps=np.zeros((1, 3)),
        owner=np.zeros(1, dtype=np.int64),
        textures=(texture,),
    )
