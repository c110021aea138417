"""Pictures of the world: each row casts its own rays from its own pose, plane by plane.

A plane with corner P, unit axes e_s (along columns of its texture) and e_t (along rows) and normal
n = e_s x e_t is met by the ray c + z d at z = n.(P - c) / n.d. With d linear in the pixel column,
the texture coordinates of one row are ratios of linear functions of the column. So the maps of a
whole plane are three small matrix products and a division, exact for every row's own rotation and
position (rolling shutter), and `cv2.remap` does the rest. Alpha comes from the same maps and fades
over one texel at the borders, which smooths the outlines.
"""

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from .camera import CameraConfig
from .motion import FloatArray
from .paint_order import paint_order
from .panorama import BOX_HALF_WIDTH, TAN_UP
from .textures import GROUND_LUMA, HAZE_LUMA, Texture
from .world import GROUND_TEXELS_PER_M, GROUND_TILE_M, Block, Mark, World, mover_block

NEAR_M = 0.08
FAR_M = 100.0
_HAZE_LENGTH_M = 160.0
_SHARPNESS = 0.35  # mip bias in octaves: texels may be this much smaller than pixels
_OPAQUE = np.full((4096, 4096), 255, dtype=np.uint8)
_OPAQUE.flags.writeable = False

FloatMap = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Planes:
    """Hold n textured rectangles: corner, axes, sizes in metres, and who they belong to."""

    corner_m: FloatArray  # (n, 3)
    axes: FloatArray  # (n, 3, 3): rows e_s, e_t, n
    size_m: FloatArray  # (n, 2)
    velocity_mps: FloatArray  # (n, 3)
    owner: NDArray[np.int64]  # (n,)
    textures: tuple[Texture, ...]


class Renderer:
    """Render one camera's frames of a world.

    Parameters
    ----------
    world : World
    camera : CameraConfig
    """

    def __init__(self, world: World, camera: CameraConfig) -> None:
        self._world = world
        self._camera = camera
        self._width, self._height = camera.size_px
        self._body_from_camera = camera.body_from_camera()
        self._columns = np.ones((2, self._width), dtype=np.float32)
        self._columns[0] = (np.arange(self._width) - (self._width - 1) / 2) / camera.focal_px
        self._row_y = (np.arange(self._height) - (self._height - 1) / 2) / camera.focal_px
        self._block_planes = [_block_planes(block) for block in world.blocks]
        self._block_centres = np.array([block.centre_m for block in world.blocks]).reshape(-1, 2)
        self._mark_planes = _mark_planes(world.marks)
        self._far_planes = _far_planes(world.panorama)

    def render(self, time_s: float) -> NDArray[np.uint8]:
        """Return the luma of the frame whose middle row is exposed around `time_s`.

        Returns
        -------
        ndarray of uint8, shape (height, width)
        """
        n_parts = self._camera.n_subexposures
        if n_parts == 1:
            return self._render_once(time_s)
        shifts = ((np.arange(n_parts) + 0.5) / n_parts - 0.5) * self._camera.exposure_s
        total = sum(self._render_once(time_s + shift).astype(np.float32) for shift in shifts)
        return np.asarray(np.rint(total / n_parts), dtype=np.uint8)

    def _render_once(self, time_s: float) -> NDArray[np.uint8]:
        times = self._camera.row_times_s(time_s)
        rotation = self._world.motion.orientation(times)
        centre = self._world.motion.position(times) + rotation @ np.array(self._camera.lever_arm_m)
        shot = _Shot(
            columns=self._columns,
            row_y=self._row_y,
            rotation=rotation @ self._body_from_camera,
            centre=centre,
            row_shift_s=times - time_s,
            focal_px=self._camera.focal_px,
            luma=np.full((self._height, self._width), 210, dtype=np.uint8),
        )
        shot.paint(self._far_planes, is_far=True)
        self._paint_ground(shot)
        eye = shot.centre[self._height // 2, :2]
        nearby = self._mark_planes
        away = np.hypot(*(nearby.corner_m[:, :2] - eye).T)
        shot.paint(_select(nearby, np.flatnonzero(away < 45.0)))
        shot.paint(self._visible_blocks(eye, time_s), has_haze=True)
        return shot.luma

    def _visible_blocks(self, eye_m: FloatArray, time_s: float) -> Planes:
        """Collect the planes of near blocks and movers, farthest first."""
        away = np.hypot(*(self._block_centres - eye_m).T)
        chosen = [self._block_planes[index] for index in np.flatnonzero(away < FAR_M)]
        for mover in self._world.movers:
            block, velocity = mover_block(self._world, mover, time_s)
            if np.hypot(*(block.centre_m - eye_m)) < FAR_M:
                chosen.append(_block_planes(block, velocity))
        if not chosen:
            return _merge([])
        corners = np.stack([planes.corner_m[:, :2] for planes in chosen])
        outward = np.stack([-planes.axes[:, 2, :2] for planes in chosen])
        return _merge([chosen[index] for index in paint_order(eye_m, corners, outward)])

    def _paint_ground(self, shot: "_Shot") -> None:
        """Paint the tiled ground in bands of rows, each from the fitting reduction."""
        depression = shot.rotation[:, 2, 1] * self._row_y + shot.rotation[:, 2, 2]  # z of the ray
        height = shot.centre[:, 2]
        slope = shot.rotation[:, 2, 0]
        reach = float(np.abs(self._columns[0, -1])) * np.abs(slope)
        is_ground = -depression + reach > height / FAR_M
        if not is_ground.any():
            return
        top = int(np.argmax(is_ground))
        origin = np.floor(shot.centre[self._height // 2, :2] / GROUND_TILE_M) * GROUND_TILE_M
        steepness = np.maximum(-depression, height / FAR_M)
        footprint = height / steepness**2 / self._camera.focal_px * GROUND_TEXELS_PER_M
        finest = np.log2(np.maximum(0.25 * footprint + 0.5 * np.sqrt(footprint), 1e-3))
        levels = self._world.ground.levels
        level = np.clip(np.rint(finest - _SHARPNESS), 0, len(levels) - 2).astype(int)
        edges = np.flatnonzero(np.diff(level[top:])) + top + 1
        for start, stop in zip([top, *edges], [*edges, self._height], strict=True):
            index = int(level[start])
            tile = levels[index][index]
            rows = slice(int(start), int(stop))
            den = shot.linear(-slope[rows], -depression[rows])
            np.maximum(den, np.float32(height[start] / (1.5 * FAR_M)), out=den)
            np.reciprocal(den, out=den)
            maps = []
            for axis in (0, 1):
                # world = centre + height / den * ray, in tiles; linear parts over the same den
                ray_x = shot.rotation[rows, axis, 0]
                ray_1 = shot.rotation[rows, axis, 1] * self._row_y[rows]
                ray_1 = ray_1 + shot.rotation[rows, axis, 2]
                place = shot.linear(height[rows] * ray_x, height[rows] * ray_1)
                place *= den
                place += (shot.centre[rows, axis] - origin[axis]).astype(np.float32)[:, None]
                place *= np.float32(1 / GROUND_TILE_M)
                place -= np.floor(place)
                place *= np.float32(tile.shape[0])
                place += np.float32(_PAD - 0.5)
                maps.append(place)
            padded = np.pad(tile, _PAD, mode="wrap")
            picture = cv2.remap(padded, maps[0], maps[1], cv2.INTER_LINEAR)
            distance = height[rows] / steepness[rows]
            keep = np.exp(-distance / 40.0).astype(np.float32)[:, None]
            faded = picture * keep + np.float32(GROUND_LUMA) * (1 - keep)
            is_below = shot.linear(-slope[rows], -depression[rows]) > 0
            shot.luma[rows] = np.where(is_below, faded.astype(np.uint8), shot.luma[rows])


_PAD = 2


@dataclass(slots=True, kw_only=True, eq=False)
class _Shot:
    """Hold the pose of every row of one exposure, and the picture being painted."""

    columns: FloatMap  # (2, width): x over focal length, and ones
    row_y: FloatArray  # (height,)
    rotation: FloatArray  # (height, 3, 3), camera to world
    centre: FloatArray  # (height, 3)
    row_shift_s: FloatArray  # (height,)
    focal_px: float
    luma: NDArray[np.uint8]

    def linear(self, per_x: FloatArray, constant: FloatArray) -> FloatMap:
        """Return ``per_x * x + constant`` over rows and columns."""
        return np.stack([per_x, constant], axis=1).astype(np.float32) @ self.columns

    def paint(self, planes: Planes, *, is_far: bool = False, has_haze: bool = False) -> None:
        """Paint planes in their order over the picture."""
        if not planes.textures:
            return
        boxes, depths = self._boxes(planes, is_far=is_far)
        seen = np.flatnonzero((boxes[:, 1] > boxes[:, 0]) & (boxes[:, 3] > boxes[:, 2]))
        if not seen.size:
            return
        planes, boxes, depths = _select(planes, seen), boxes[seen], depths[seen]
        per_x, constant = self._coefficients(planes, is_far=is_far)
        for index, texture in enumerate(planes.textures):
            keep = float(np.exp(-depths[index] / _HAZE_LENGTH_M)) if has_haze else 1.0
            self._paint_plane(texture, per_x[index], constant[index], boxes[index], keep)

    def _boxes(self, planes: Planes, *, is_far: bool) -> tuple[NDArray[np.int64], FloatArray]:
        """Bound the planes in the picture (column and row ranges) and find their mean depths."""
        height, width = self.luma.shape
        spans = planes.size_m[:, :, None] * planes.axes[:, :2]
        unit = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
        corners = planes.corner_m[:, None] + unit @ spans  # (n, 4, 3)
        low, high = np.full((len(corners), 2), np.inf), np.full((len(corners), 2), -np.inf)
        depths = np.zeros(len(corners))
        for row in (0, height // 2, height - 1):
            centre = np.zeros(3) if is_far else self.centre[row]
            moved = corners + planes.velocity_mps[:, None] * self.row_shift_s[row] - centre
            local = moved @ self.rotation[row]
            points = _clip_to_near(local, 1e-3 if is_far else NEAR_M)
            with np.errstate(invalid="ignore"):
                pixels = points[..., :2] / points[..., 2:] * self.focal_px
            low = np.fmin(low, np.fmin.reduce(pixels, axis=1))
            high = np.fmax(high, np.fmax.reduce(pixels, axis=1))
            depths = np.clip(local[..., 2].mean(axis=1), 0, None)
        middle = np.array([(width - 1) / 2, (height - 1) / 2])
        limit = np.array([width, height])
        first = np.clip(np.nan_to_num(np.floor(low + middle - 2), posinf=1e6, neginf=-1e6), 0, limit)
        last = np.clip(np.nan_to_num(np.ceil(high + middle + 3), posinf=1e6, neginf=-1e6), 0, limit)
        facing = self.centre[height // 2] if not is_far else np.zeros(3)
        is_front = np.einsum("nc,nc->n", planes.corner_m - facing, planes.axes[:, 2]) > 0
        last[~is_front] = 0
        boxes = np.stack([first[:, 0], last[:, 0], first[:, 1], last[:, 1]], axis=1)
        return boxes.astype(np.int64), depths

    def _coefficients(self, planes: Planes, *, is_far: bool) -> tuple[FloatArray, FloatArray]:
        """Return numerators of s and t and the common denominator, each (n, 3, height), in metres.

        ``value = per_x * x + constant``; s and t are numerator / denominator.
        """
        n_rows = len(self.row_y)
        rays = np.moveaxis(self.rotation, 0, -1)  # (3 world, 3 camera, rows)
        turned = planes.axes.reshape(-1, 3) @ rays.reshape(3, -1)
        turned = turned.reshape(-1, 3, 3, n_rows)  # (n, s t n, camera axis, rows)
        per_x = turned[:, :, 0]
        constant = turned[:, :, 1] * self.row_y + turned[:, :, 2]
        relative = -planes.corner_m[:, :, None] * np.ones(n_rows)
        if not is_far:
            relative = relative + self.centre.T
            relative = relative - planes.velocity_mps[:, :, None] * self.row_shift_s
        foot = planes.axes @ relative  # (n, s t n, rows)
        depth = -foot[:, 2:]
        out_x = np.concatenate([foot[:, :2] * per_x[:, 2:] + depth * per_x[:, :2], per_x[:, 2:]], 1)
        out_1 = np.concatenate(
            [foot[:, :2] * constant[:, 2:] + depth * constant[:, :2], constant[:, 2:]], 1
        )
        return out_x, out_1

    def _paint_plane(
        self,
        texture: Texture,
        per_x: FloatArray,
        constant: FloatArray,
        box: NDArray[np.int64],
        keep: float,
    ) -> None:
        left, right, top, bottom = (int(edge) for edge in box)
        rows = slice(top, bottom)
        for start, stop, level_s, level_t in _bands(
            texture, per_x, constant, box, self.columns[0], self.focal_px
        ):
            source = texture.levels[level_s][level_t]
            full = texture.levels[0][0].shape
            columns = self.columns[:, start:stop]
            den = np.stack([per_x[2, rows], constant[2, rows]], axis=1).astype(np.float32) @ columns
            np.maximum(den, np.float32(1e-5), out=den)
            np.reciprocal(den, out=den)
            maps = []
            for axis in (0, 1):
                scale = texture.texels_per_m * source.shape[1 - axis] / full[1 - axis]
                pair = np.stack([per_x[axis, rows], constant[axis, rows]], axis=1) * scale
                coordinate = pair.astype(np.float32) @ columns
                coordinate *= den
                coordinate -= np.float32(0.5)
                maps.append(coordinate)
            self._blend(source, maps[0], maps[1], (rows, slice(start, stop)), keep)

    def _blend(
        self,
        source: NDArray[np.uint8],
        map_s: FloatMap,
        map_t: FloatMap,
        place: tuple[slice, slice],
        keep: float,
    ) -> None:
        opaque = _OPAQUE[: source.shape[0], : source.shape[1]]
        border = {"borderMode": cv2.BORDER_CONSTANT, "borderValue": 0}
        luma = cv2.remap(source, map_s, map_t, cv2.INTER_LINEAR, **border)
        alpha = cv2.remap(opaque, map_s, map_t, cv2.INTER_LINEAR, **border)
        if keep < 1.0:
            luma = cv2.addWeighted(luma, keep, alpha, (1 - keep) * HAZE_LUMA / 255, 0)
        behind = cv2.multiply(self.luma[place], cv2.bitwise_not(alpha), scale=1 / 255)
        self.luma[place] = cv2.add(luma, behind)


def _bands(
    texture: Texture,
    per_x: FloatArray,
    constant: FloatArray,
    box: NDArray[np.int64],
    x: FloatMap,
    focal_px: float,
) -> list[tuple[int, int, int, int]]:
    """Split a plane's columns where the fitting reduction changes: (start, stop, level s, level t).

    The reduction follows from the derivatives of s and t by column and row at the band's middle.
    """
    left, right, top, bottom = (int(edge) for edge in box)
    row = min((top + bottom) // 2, per_x.shape[1] - 2)
    a, b = per_x[:, row], constant[:, row]
    ends = np.maximum(a[2] * x[[left, right - 1]] + b[2], 1e-4)
    n_bands = int(np.clip(round(2 * abs(float(np.log2(ends[1] / ends[0])))), 0, 5)) + 1
    inner = ends[0] * (ends[1] / ends[0]) ** (np.arange(1, n_bands) / n_bands)
    splits: list[int] = []
    if n_bands > 1:
        at_x = (inner - b[2]) / a[2]
        splits = [int(edge) for edge in np.searchsorted(x, at_x.astype(np.float32))]
    edges = [left, *splits, right]
    bands = []
    shrink = np.array(texture.texels_per_m / focal_px)
    most = len(texture.levels) - 1, len(texture.levels[0]) - 1
    for start, stop in zip(edges[:-1], edges[1:], strict=True):
        if stop <= start:
            continue
        middle = float(x[(start + stop) // 2 if stop - start > 1 else start])
        here = a * middle + b
        below = per_x[:, row + 1] * middle + constant[:, row + 1]
        den = max(float(here[2]), 1e-4)
        by_column = (a[:2] - here[:2] / den * a[2]) / den
        by_row = (below[:2] / max(float(below[2]), 1e-4) - here[:2] / den) * focal_px
        texels = np.hypot(by_column, by_row) * shrink
        level = np.rint(np.log2(np.maximum(texels, 1e-3)) - _SHARPNESS)
        level_s, level_t = (int(np.clip(level[axis], 0, most[axis])) for axis in (0, 1))
        bands.append((start, stop, level_s, level_t))
    return bands


def _clip_to_near(points: FloatArray, near_m: float) -> FloatArray:
    """Return corners in front of the near plane and edge crossings of it; the rest are NaN.

    Shape (n, 4, 3) becomes (n, 8, 3).
    """
    following = np.roll(points, -1, axis=1)
    z, z_next = points[..., 2:], following[..., 2:]
    is_front = z > near_m
    with np.errstate(divide="ignore", invalid="ignore"):
        crossing = points + (near_m - z) / (z_next - z) * (following - points)
    crosses = is_front != (z_next > near_m)
    return np.concatenate(
        [np.where(is_front, points, np.nan), np.where(crosses, crossing, np.nan)], axis=1
    )


def _block_planes(block: Block, velocity_mps: FloatArray | None = None) -> Planes:
    """Return the four sides of a block; corner k of its footprint starts side k, seen left to right."""
    cos, sin = np.cos(block.yaw_rad), np.sin(block.yaw_rad)
    ahead, left = np.array([cos, sin, 0.0]), np.array([-sin, cos, 0.0])
    half_x, half_y = block.half_size_m
    top = np.array([*block.centre_m, block.height_m])
    down = np.array([0.0, 0.0, -1.0])
    corners, axes, sizes = [], [], []
    for outward, run, depth, half in (
        (ahead, left, half_x, half_y),
        (left, -ahead, half_y, half_x),
        (-ahead, -left, half_x, half_y),
        (-left, ahead, half_y, half_x),
    ):
        corners.append(top + outward * depth - run * half)
        axes.append(np.stack([run, down, np.cross(run, down)]))
        sizes.append([2 * half, block.height_m])
    speed = np.zeros(3) if velocity_mps is None else np.array([*velocity_mps, 0.0])
    return Planes(
        corner_m=np.array(corners),
        axes=np.array(axes),
        size_m=np.array(sizes),
        velocity_mps=np.tile(speed, (4, 1)),
        owner=np.zeros(4, dtype=np.int64),
        textures=block.sides,
    )


def _mark_planes(marks: tuple[Mark, ...]) -> Planes:
    """Return marks as planes that face upwards."""
    parts = []
    for mark in marks:
        cos, sin = np.cos(mark.yaw_rad), np.sin(mark.yaw_rad)
        along, right = np.array([cos, sin, 0.0]), np.array([sin, -cos, 0.0])
        corner = np.array([*mark.centre_m, 0.0])
        corner = corner - along * mark.half_size_m[0] + -right * mark.half_size_m[1]
        parts.append(
            Planes(
                corner_m=corner[None],
                axes=np.stack([along, right, np.cross(along, right)])[None],
                size_m=2 * mark.half_size_m[None],
                velocity_mps=np.zeros((1, 3)),
                owner=np.zeros(1, dtype=np.int64),
                textures=(mark.texture,),
            )
        )
    return _merge(parts)


def _far_planes(panorama: tuple[Texture, ...]) -> Planes:
    """Return the sides of the far box around the eye, one unit away."""
    parts = []
    for quarter, texture in enumerate(panorama):
        angle = quarter * np.pi / 2
        forward = np.array([np.cos(angle), np.sin(angle), 0.0])
        right, down = np.array([np.sin(angle), -np.cos(angle), 0.0]), np.array([0.0, 0.0, -1.0])
        height, width = texture.levels[0][0].shape
        parts.append(
            Planes(
                corner_m=(forward - BOX_HALF_WIDTH * right - TAN_UP * down)[None],
                axes=np.stack([right, down, forward])[None],
                size_m=np.array([[width, height]]) / texture.texels_per_m,
                velocity_mps=np.zeros((1, 3)),
                owner=np.zeros(1, dtype=np.int64),
                textures=(texture,),
            )
        )
    return _merge(parts)


def _merge(parts: list[Planes]) -> Planes:
    if not parts:
        empty = np.zeros((0, 3))
        return Planes(
            corner_m=empty,
            axes=np.zeros((0, 3, 3)),
            size_m=np.zeros((0, 2)),
            velocity_mps=empty,
            owner=np.zeros(0, dtype=np.int64),
            textures=(),
        )
    return Planes(
        corner_m=np.concatenate([part.corner_m for part in parts]),
        axes=np.concatenate([part.axes for part in parts]),
        size_m=np.concatenate([part.size_m for part in parts]),
        velocity_mps=np.concatenate([part.velocity_mps for part in parts]),
        owner=np.concatenate([part.owner for part in parts]),
        textures=tuple(texture for part in parts for texture in part.textures),
    )


def _select(planes: Planes, chosen: NDArray[np.int64]) -> Planes:
    return Planes(
        corner_m=planes.corner_m[chosen],
        axes=planes.axes[chosen],
        size_m=planes.size_m[chosen],
        velocity_mps=planes.velocity_mps[chosen],
        owner=planes.owner[chosen],
        textures=tuple(planes.textures[index] for index in chosen),
    )
