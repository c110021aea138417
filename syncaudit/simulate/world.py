"""What the cameras see: boxes along the road, marks on it, moving cars, and the far panorama."""

from dataclasses import dataclass

import numpy as np

from . import textures
from .motion import FloatArray, Motion
from .panorama import paint_panorama
from .textures import Texture

GROUND_TILE_M = 16.0
GROUND_TEXELS_PER_M = 40.0
_ROAD_AHEAD_M = 130.0  # the road goes on straight this far beyond both ends of the drive
_CAR_SIZE_M = (4.2, 1.8, 1.5)


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
class Road:
    """Trace the driven path and its straight continuations.

    Attributes
    ----------
    arc_m : ndarray, shape (n,)
        Length along the path, 0 where the vehicle is at time 0.
    points_m : ndarray, shape (n, 2)
    yaw_rad : ndarray, shape (n,)
    driven_times_s, driven_arc_m : ndarray, shape (m,)
        How far along the path the vehicle is at each time.
    """

    arc_m: FloatArray
    points_m: FloatArray
    yaw_rad: FloatArray
    driven_times_s: FloatArray
    driven_arc_m: FloatArray

    @classmethod
    def from_motion(cls, motion: Motion) -> "Road":
        """Sample the path of a motion every 5 cm or so of driving."""
        times = np.arange(motion.start_s, motion.stop_s, 0.02)
        path = motion.position(times)[:, :2]
        yaw = motion.euler_rad(times)[:, 0]
        ends = []
        for point, angle, sign in ((path[0], yaw[0], -1.0), (path[-1], yaw[-1], 1.0)):
            reach = np.arange(0.5, _ROAD_AHEAD_M, 0.5)[:, None]
            ends.append(point + sign * reach * np.array([np.cos(angle), np.sin(angle)]))
        n_ends = len(ends[0])
        points = np.concatenate([ends[0][::-1], path, ends[1]])
        angles = np.concatenate([np.full(n_ends, yaw[0]), yaw, np.full(n_ends, yaw[-1])])
        steps = np.hypot(*np.diff(points, axis=0).T)
        arc = np.concatenate([[0.0], np.cumsum(steps + 1e-9)])
        arc -= arc[n_ends + int(np.searchsorted(times, 0.0))]
        return cls(
            arc_m=arc,
            points_m=points,
            yaw_rad=angles,
            driven_times_s=times,
            driven_arc_m=arc[n_ends : n_ends + times.size],
        )

    def place(self, arc_m: float, aside_m: float) -> tuple[FloatArray, float]:
        """Return the point beside the road (left is positive) and the road's direction there."""
        x, y = (np.interp(arc_m, self.arc_m, self.points_m[:, axis]) for axis in (0, 1))
        yaw = float(np.interp(arc_m, self.arc_m, self.yaw_rad))
        return np.array([x - aside_m * np.sin(yaw), y + aside_m * np.cos(yaw)]), yaw

    def keeps_clear(self, block: Block, clearance_m: float) -> bool:
        """Tell whether a block stays at least `clearance_m` away from the path."""
        offset = self.points_m - block.centre_m
        cos, sin = np.cos(block.yaw_rad), np.sin(block.yaw_rad)
        along, across = offset @ np.array([cos, sin]), offset @ np.array([-sin, cos])
        limit = block.half_size_m + clearance_m
        return not bool(np.any((np.abs(along) < limit[0]) & (np.abs(across) < limit[1])))


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


def build_world(motion: Motion, rng: np.random.Generator, *, n_movers: int = 2) -> World:
    """Furnish the surroundings of a drive.

    Parameters
    ----------
    motion : Motion
    rng : numpy.random.Generator
    n_movers : int
        Cars on the road: the first drives ahead, the second comes towards the vehicle.
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


def _buildings(road: Road, rng: np.random.Generator) -> list[Block]:
    library = []
    for _ in range(9):
        width, height = rng.uniform(7, 16), rng.uniform(4, 13)
        front, flank = (
            textures.facade(width, height, rng),
            textures.facade(7.0, height, rng),
        )
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
            if road.keeps_clear(block, 4.5):
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
            if road.keeps_clear(block, 2.2):
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
