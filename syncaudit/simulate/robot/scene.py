"""The surroundings of the arm: a table with objects, a wall, a hand; all textured boxes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syncaudit.simulate.planes import Planes, merge, single_plane
from syncaudit.simulate.textures import Texture, octave_noise

from .arm import Link, links_at

Floats = NDArray[np.float64]

HAND_HALF_M = np.array([0.11, 0.04, 0.025])
_FAR_CAMERA_TEXELS_PER_M = 500.0
_TABLE_M = 1.6


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneStyle:
    """Appearance of the scene."""

    # contrast of table and wall; 1 is wood grain with clutter, 0.15 a plain table
    contrast: float = 1.0
    n_objects: int = 7
    has_hand: bool = False  # whether a person's hand moves about in the far half of the table


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scene:
    """Static parts of the scene, and the faces of moving parts."""

    ground: Planes  # table and wall
    objects: tuple[Link, ...]  # boxes on the table
    # six per box
    object_faces: tuple[tuple[Texture, ...], ...]
    link_faces: tuple[tuple[Texture, ...], ...]
    hand_faces: tuple[Texture, ...] = ()  # faces of a person's hand, empty if there is none


def draw_scene(style: SceneStyle, rng: np.random.Generator) -> Scene:
    """Draw a random workplace."""
    table = single_plane(
        np.array([-0.4, 0.5 * _TABLE_M, 0.0]),
        np.array([[1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, -1.0]]),
        _cluttered((_TABLE_M, _TABLE_M), style.contrast, rng),
    )
    wall = single_plane(
        np.array([1.0, 1.2, 0.9]),
        np.array([[0.0, -1.0, 0.0], [0.0, 0.0, -1.0], [1.0, 0.0, 0.0]]),
        _cluttered((2.4, 0.9), style.contrast, rng),
    )
    objects = []
    for _ in range(style.n_objects):
        distance_m, bearing = rng.uniform(0.16, 0.55), rng.uniform(-1.3, 1.3)
        half = rng.uniform((0.015, 0.015, 0.015), (0.04, 0.04, 0.06))
        turn = rng.uniform(0.0, np.pi)
        cos, sin = np.cos(turn), np.sin(turn)
        objects.append(
            Link(
                rotation=np.array([[cos, -sin, 0.0], [sin, cos, 0.0], [0.0, 0.0, 1.0]]),
                centre_m=np.array(
                    [distance_m * np.cos(bearing), distance_m * np.sin(bearing), half[2]]
                ),
                half_size_m=half,
            )
        )
    return Scene(
        ground=merge([wall, table]),
        objects=tuple(objects),
        object_faces=tuple(paint_faces(box.half_size_m, rng) for box in objects),
        link_faces=tuple(paint_faces(link.half_size_m, rng) for link in links_at(np.zeros(6))),
        hand_faces=paint_faces(HAND_HALF_M, rng) if style.has_hand else (),
    )


def box_planes(boxes: Sequence[Link], faces: Sequence[Sequence[Texture]]) -> Planes:
    """Return the six faces of each box, with the number of the box as owner."""
    corners, axes, sizes, owners = [], [], [], []
    for number, box in enumerate(boxes):
        for axis in range(3):
            for side in (-1.0, 1.0):
                outward = side * box.rotation[:, axis]
                run = box.rotation[:, (axis + 1) % 3]
                down = np.cross(-outward, run)  # run, down and the inward normal are right-handed
                half_run = box.half_size_m[(axis + 1) % 3]
                half_down = box.half_size_m[(axis + 2) % 3]
                middle = box.centre_m + outward * box.half_size_m[axis]
                corners.append(middle - run * half_run - down * half_down)
                axes.append(np.stack([run, down, -outward]))
                sizes.append([2.0 * half_run, 2.0 * half_down])
                owners.append(number)
    return Planes(
        corner_m=np.array(corners).reshape(-1, 3),
        axes=np.array(axes).reshape(-1, 3, 3),
        size_m=np.array(sizes).reshape(-1, 2),
        velocity_mps=np.zeros((len(corners), 3)),
        owner=np.array(owners, dtype=np.int64),
        textures=tuple(texture for box in faces for texture in box),
    )


def _cluttered(size_m: tuple[float, float], contrast: float, rng: np.random.Generator) -> Texture:
    """Paint grain, stains, sheets of paper and cables."""
    scale = _FAR_CAMERA_TEXELS_PER_M
    shape = (round(size_m[1] * scale), round(size_m[0] * scale))
    luma = 14.0 * octave_noise(shape, 250.0, rng)
    for _ in range(round(70 * size_m[0] * size_m[1])):
        width, height = (rng.uniform(0.01, 0.1, 2) * scale).astype(int)
        left, top = rng.integers(0, shape[1]), rng.integers(0, shape[0])
        luma[top : top + height, left : left + width] += rng.uniform(-55.0, 55.0)
    return Texture.from_luma(np.asarray(125.0 + contrast * luma, dtype=np.float32), scale)


def paint_faces(half_size_m: Floats, rng: np.random.Generator) -> tuple[Texture, ...]:
    """Paint the six faces of a box in the order of `box_planes`."""
    scale = 600.0
    base = rng.uniform(60.0, 200.0)
    faces = []
    for axis in range(3):
        size_m = 2.0 * half_size_m[[(axis + 2) % 3, (axis + 1) % 3]]
        shape = (max(8, round(size_m[0] * scale)), max(8, round(size_m[1] * scale)))
        for _ in range(2):
            luma = base + rng.uniform(-25.0, 25.0) + 10.0 * octave_noise(shape, 40.0, rng)
            for _ in range(5):
                width, height = (rng.uniform(0.006, 0.03, 2) * scale).astype(int)
                left, top = rng.integers(0, shape[1]), rng.integers(0, shape[0])
                luma[top : top + height, left : left + width] += rng.uniform(-70.0, 70.0)
            faces.append(Texture.from_luma(np.asarray(luma, dtype=np.float32), scale))
    return tuple(faces)
