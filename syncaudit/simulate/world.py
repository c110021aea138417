"""The visible world: boxes along the road, marks on it, moving cars, and the far panorama."""

from dataclasses import dataclass, replace

import numpy as np

from .motion import FloatArray, Motion
from .textures import Texture

_ROAD_AHEAD_M = 130.0  # the road continues straight this far beyond both ends of the drive
GROUND_TILE_M = 16.0
GROUND_TEXELS_PER_M = 40.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Road:
    """The driven path and its straight continuations."""

    arc_m: FloatArray  # shape (n,): length along the path, 0 where the vehicle is at time 0
    points_m: FloatArray  # shape (n, 2)
    yaw_rad: FloatArray  # shape (n,)
    # shape (m,): how far along the path the vehicle is at each time
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

    def keeps_clear(
        self, centre_m: FloatArray, yaw_rad: float, half_size_m: FloatArray, clearance_m: float
    ) -> bool:
        """Return whether a rectangle stays at least `clearance_m` away from the path."""
        offset = self.points_m - centre_m
        cos, sin = np.cos(yaw_rad), np.sin(yaw_rad)
        along, across = offset @ np.array([cos, sin]), offset @ np.array([-sin, cos])
        limit = half_size_m + clearance_m
        return not bool(np.any((np.abs(along) < limit[0]) & (np.abs(across) < limit[1])))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Block:
    """One upright box; `sides` are its textures at +x, +y, -x, -y of its own axes."""

    # shape (2,): centre of its footprint in the world (at time 0 for a moving one)
    centre_m: FloatArray
    yaw_rad: float  # direction of its x axis
    half_size_m: FloatArray  # shape (2,)
    height_m: float
    sides: tuple[Texture, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Mark:
    """One rectangular mark flat on the road, x along the road."""

    centre_m: FloatArray
    yaw_rad: float
    half_size_m: FloatArray
    texture: Texture


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Mover:
    """A block moving along the road: position along it is ``start + speed * t``, metres."""

    block: Block
    start_m: float
    speed_mps: float
    aside_m: float
    keeps_gap: bool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class World:
    """Everything that can be seen."""

    road: Road
    motion: Motion
    blocks: tuple[Block, ...]
    marks: tuple[Mark, ...]
    movers: tuple[Mover, ...]
    ground: Texture
    panorama: tuple[Texture, ...]


def mover_block(world: World, mover: Mover, time_s: float) -> tuple[Block, FloatArray]:
    """Return a mover's block at a time, and its velocity in the world, m/s, shape (2,)."""
    speed = mover.speed_mps
    arc = mover.start_m + speed * time_s
    if mover.keeps_gap:
        arc = float(np.interp(time_s, world.road.driven_times_s, world.road.driven_arc_m))
        arc += mover.start_m + 3.0 * np.sin(0.5 * time_s)
        speed = float(world.motion.speed(time_s)[0]) + 1.5 * np.cos(0.5 * time_s)
    if not world.road.arc_m[0] < arc < world.road.arc_m[-1]:
        speed = 0.0  # it waits at the end of the road
    centre, yaw = world.road.place(arc, mover.aside_m)
    placed = replace(mover.block, centre_m=centre, yaw_rad=yaw)
    return placed, speed * np.array([np.cos(yaw), np.sin(yaw)])
