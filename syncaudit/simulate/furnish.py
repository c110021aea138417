"""Populate the surroundings of a drive: buildings, street furniture, road marks and cars."""

import numpy as np

from . import textures
from .motion import Motion
from .panorama import paint_panorama
from .textures import Texture
from .world import GROUND_TEXELS_PER_M, GROUND_TILE_M, Block, Mark, Mover, Road, World

_CAR_SIZE_M = (4.2, 1.8, 1.5)


def build_world(motion: Motion, rng: np.random.Generator, *, n_movers: int = 2) -> World:
    """Populate the surroundings of a drive.

    Movers are cars on the road: the first drives ahead, the second approaches the vehicle.
    """
    road = Road.from_motion(motion)
    blocks = [*_buildings(road, rng), *_furniture(road, rng)]
    return World(
        road=road,
        motion=motion,
        blocks=tuple(blocks),
        marks=tuple(_marks(road, rng)),
        movers=tuple(_movers(n_movers, rng)),
        ground=textures.ground(rng, tile_m=GROUND_TILE_M, texels_per_m=GROUND_TEXELS_PER_M),
        panorama=tuple(paint_panorama(rng)),
    )


def _buildings(road: Road, rng: np.random.Generator) -> list[Block]:
    library = []
    for _ in range(9):
        width, height = rng.uniform(7, 16), rng.uniform(4, 13)
        front, flank = (textures.facade(width, height, rng), textures.facade(7.0, height, rng))
        library.append((width, height, front, flank))
    blocks = []
    for side in (-1.0, 1.0):
        arc = road.arc_m[0] + rng.uniform(0, 8)
        while arc < road.arc_m[-1]:
            width, height, front, flank = library[rng.integers(len(library))]
            setback = rng.uniform(5.5, 13.0)
            centre, yaw = road.place(arc + width / 2, side * (setback + 3.5))
            block = Block(
                centre_m=centre,
                yaw_rad=yaw,
                half_size_m=np.array([width / 2, 3.5]),
                height_m=height,
                sides=(flank, front, flank, front),
            )
            if road.keeps_clear(block.centre_m, block.yaw_rad, block.half_size_m, 4.5):
                blocks.append(block)
            arc += width + rng.choice([0.3, 2.0, 9.0], p=[0.4, 0.4, 0.2]) + rng.uniform(0, 2)
    return blocks


def _furniture(road: Road, rng: np.random.Generator) -> list[Block]:
    library = []
    for size in ((0.22, 0.22, 4.5), (0.3, 0.3, 5.5), (0.8, 0.5, 1.3), (1.6, 1.2, 2.4), _CAR_SIZE_M):
        library += [(size, _box_sides(size, rng)) for _ in range(2)]
    blocks = []
    for side in (-1.0, 1.0):
        arc = road.arc_m[0]
        while arc < road.arc_m[-1]:
            arc += rng.uniform(4, 14)
            size, sides = library[rng.integers(len(library))]
            centre, yaw = road.place(arc, side * (rng.uniform(3.2, 4.8) + size[1] / 2))
            block = Block(
                centre_m=centre,
                yaw_rad=yaw,
                half_size_m=np.array(size[:2]) / 2,
                height_m=size[2],
                sides=sides,
            )
            if road.keeps_clear(block.centre_m, block.yaw_rad, block.half_size_m, 2.2):
                blocks.append(block)
    return blocks


def _marks(road: Road, rng: np.random.Generator) -> list[Mark]:
    dash = textures.paint_mark(3.0, 0.14, rng)
    marks = []
    for lane in (-1.8, 1.8):
        for arc in np.arange(road.arc_m[0], road.arc_m[-1], 7.5):
            centre, yaw = road.place(arc + rng.uniform(-0.3, 0.3), lane)
            half = np.array([1.5, 0.07])
            marks.append(Mark(centre_m=centre, yaw_rad=yaw, half_size_m=half, texture=dash))
    return marks


def _movers(n_movers: int, rng: np.random.Generator) -> list[Mover]:
    movers = []
    for index in range(n_movers):
        block = Block(
            centre_m=np.zeros(2),
            yaw_rad=0.0,
            half_size_m=np.array(_CAR_SIZE_M[:2]) / 2,
            height_m=_CAR_SIZE_M[2],
            sides=_box_sides(_CAR_SIZE_M, rng),
        )
        is_ahead = index % 2 == 0
        movers.append(
            Mover(
                block=block,
                start_m=rng.uniform(14, 22) if is_ahead else rng.uniform(60, 120),
                speed_mps=0.0 if is_ahead else -rng.uniform(5, 9),
                aside_m=0.0 if is_ahead else 3.0,
                keeps_gap=is_ahead,
            )
        )
    return movers


def _box_sides(size_m: tuple[float, float, float], rng: np.random.Generator) -> tuple[Texture, ...]:
    length, width, height = size_m
    end, flank = textures.patchwork(width, height, rng), textures.patchwork(length, height, rng)
    return (end, flank, end, flank)
