"""What the cameras see: boxes along the road, marks on it, moving cars, and the far panorama."""

from dataclasses import dataclass

import numpy as np

from .motion import FloatArray, Motion
from .road import Road
from .textures import Texture

GROUND_TILE_M = 16.0
GROUND_TEXELS_PER_M = 40.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Block:
    """Place one upright box; `sides` are its textures at +x, +y, -x, -y of its own axes.

    Attributes
    ----------
    centre_m : ndarray, shape (2,)
        Centre of its footprint in the world (at time 0 for a moving one).
    yaw_rad : float
        Direction of its x axis.
    half_size_m : ndarray, shape (2,)
    height_m : float
    sides : tuple of Texture
    """

    centre_m: FloatArray
    yaw_rad: float
    half_size_m: FloatArray
    height_m: float
    sides: tuple[Texture, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Mark:
    """Place one rectangular mark flat on the road, x along the road."""

    centre_m: FloatArray
    yaw_rad: float
    half_size_m: FloatArray
    texture: Texture


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Mover:
    """Move a block along the road: position along it is ``start + speed * t``, metres."""

    block: Block
    start_m: float
    speed_mps: float
    aside_m: float
    keeps_gap: bool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class World:
    """Hold everything that can be seen."""

    road: Road
    motion: Motion
    blocks: tuple[Block, ...]
    marks: tuple[Mark, ...]
    movers: tuple[Mover, ...]
    ground: Texture
    panorama: tuple[Texture, ...]


def mover_block(world: World, mover: Mover, time_s: float) -> tuple[Block, FloatArray]:
    """Return where a mover is at a time, and its velocity in the world, m/s, shape (2,)."""
    speed = mover.speed_mps
    arc = mover.start_m + speed * time_s
    if mover.keeps_gap:
        arc = float(np.interp(time_s, world.road.driven_times_s, world.road.driven_arc_m))
        arc += mover.start_m + 3.0 * np.sin(0.5 * time_s)
        speed = float(world.motion.speed(time_s)[0]) + 1.5 * np.cos(0.5 * time_s)
    if not world.road.arc_m[0] < arc < world.road.arc_m[-1]:
        speed = 0.0  # it waits at the end of the road
    centre, yaw = world.road.place(arc, mover.aside_m)
    block = mover.block
    placed = Block(
        centre_m=centre,
        yaw_rad=yaw,
        half_size_m=block.half_size_m,
        height_m=block.height_m,
        sides=block.sides,
    )
    return placed, speed * np.array([np.cos(yaw), np.sin(yaw)])
