"""Ray casting of planes: each image row from its own pose, each plane by its own maps.

A plane with corner P, unit axes e_s (along columns of its texture), e_t (along rows), normal n
intersects the ray c + z d at z = n.(P - c) / n.d. As d is linear in the pixel column, the texture
coordinates along one row are ratios of linear functions of the column. So the maps of a whole plane
are three small matrix products and a division, exact for every row's own rotation and position
(rolling shutter), and `cv2.remap` does the rest. Alpha comes from the same maps and fades over one
texel at the edges, which antialiases the outlines.
"""

from dataclasses import dataclass
from itertools import pairwise

import cv2
import numpy as np
from numpy.typing import NDArray

from .camera import CameraConfig
from .motion import FloatArray
from .planes import Planes
from .textures import HAZE_LUMA
from .visibility import NEAR_M, Extents, find_extents

SHARPNESS = 0.35  # octaves: how much smaller than pixels texels may be
_HAZE_LENGTH_M = 130.0
_OPAQUE = np.full((2048, 4096), 255, dtype=np.uint8)
_OPAQUE.flags.writeable = False

FloatMap = NDArray[np.float32]
Band = tuple[int, int, int, int, int]  # plane, column start and stop, reductions of s and t


def pixel_rays(camera: CameraConfig) -> tuple[FloatMap, FloatArray]:
    """Return `Shot.columns` and `Shot.row_y` of a pinhole camera."""
    width, height = camera.size_px
    columns = np.ones((2, width), dtype=np.float32)
    columns[0] = (np.arange(width) - (width - 1) / 2) / camera.focal_px
    return columns, (np.arange(height, dtype=np.float64) - (height - 1) / 2) / camera.focal_px


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shot:
    """Hold the pose of every row of one exposure, and the image being painted."""

    columns: FloatMap  # shape (2, width): pixel x over the focal length, and ones
    row_y: FloatArray  # shape (height,): pixel y over the focal length
    rotation: FloatArray  # shape (height, 3, 3): camera to world
    centre: FloatArray  # shape (height, 3)
    row_shift_s: FloatArray  # shape (height,): time of each row after the middle one
    focal_px: float
    luma: NDArray[np.uint8]  # shape (height, width): painted in place

    def linear(self, per_x: FloatArray, constant: FloatArray) -> FloatMap:
        """Return ``per_x * x + constant`` over rows and columns."""
        return np.stack([per_x, constant], axis=1).astype(np.float32) @ self.columns

    def in_view(
        self,
        planes: Planes,
        eye_m: FloatArray | None = None,
        *,
        facing_m: float = 0.02,
        is_far: bool = False,
    ) -> tuple[Planes, Extents]:
        """Return the rectangles that reach into the image, and their extents there.

        With `eye_m`, only those that face it from a distance of at least `facing_m`. Extents are
        bounded using the poses of the first, middle and last row.
        """
        if eye_m is not None:
            towards = np.einsum("nc,nc->n", planes.corner_m - eye_m, planes.axes[:, 2])
            planes = planes.select(np.flatnonzero(towards > facing_m))
        height, width = self.luma.shape
        poses = [
            (
                self.rotation[row],
                np.zeros(3) if is_far else self.centre[row],
                float(self.row_shift_s[row]),
            )
            for row in (0, height // 2, height - 1)
        ]
        near = 1e-3 if is_far else NEAR_M
        extents = find_extents(
            planes.corners(), planes.velocity_mps, poses, self.focal_px, (width, height), near
        )
        size = extents.boxes[:, 1::2] - extents.boxes[:, ::2]
        seen = np.flatnonzero((size > 0).all(axis=1))
        return planes.select(seen), extents.select(seen)

    def paint(
        self, planes: Planes, extents: Extents, *, is_far: bool = False, has_haze: bool = False
    ) -> None:
        """Paint rectangles over the image in the order given.

        `extents`: those of the same rectangles, all non-empty. `is_far`: the rectangles move along
        with the eye, as if at infinity. `has_haze`: contrast fades with distance.
        """
        if not planes.textures:
            return
        maps = self._coefficients(planes, is_far=is_far)
        keep = np.ones(len(planes.textures))
        if has_haze:
            keep = np.exp(-extents.depth_m / _HAZE_LENGTH_M)
        for plane, start, stop, level_s, level_t in self._bands(planes, maps, extents.boxes):
            texture = planes.textures[plane]
            source = texture.levels[level_s][level_t]
            full = texture.levels[0][0].shape
            rows = slice(*extents.boxes[plane, 2:].tolist())
            columns = self.columns[:, start:stop]
            coefficients = maps[plane][:, :, rows]
            den = coefficients[2].T @ columns
            np.maximum(den, np.float32(1e-5), out=den)
            np.reciprocal(den, out=den)
            den *= np.float32(texture.texels_per_m)
            places = []
            for axis in (0, 1):
                place = coefficients[axis].T @ columns
                place *= den
                if source.shape[1 - axis] != full[1 - axis]:
                    place *= np.float32(source.shape[1 - axis] / full[1 - axis])
                place -= np.float32(0.5)
                places.append(place)
            self._blend(source, places, (rows, slice(start, stop)), float(keep[plane]))

    def _coefficients(self, planes: Planes, *, is_far: bool) -> FloatMap:
        """Return numerators of s and t and the denominator, shape (n, 3, 2, height), metres.

        The third axis holds the factor of x and the constant.
        """
        n_rows = len(self.row_y)
        rays = np.empty((3, 2, n_rows))  # ray = rays[:, 0] * x + rays[:, 1]
        rays[:, 0] = self.rotation[:, :, 0].T
        rays[:, 1] = (self.rotation[:, :, 1] * self.row_y[:, None] + self.rotation[:, :, 2]).T
        turned = planes.axes.reshape(-1, 3).astype(np.float32) @ rays.reshape(3, -1).astype(
            np.float32
        )
        turned = turned.reshape(-1, 3, 2, n_rows)
        relative = np.repeat(-planes.corner_m[:, :, None], n_rows, axis=2)
        if not is_far:
            relative += self.centre.T
            if planes.velocity_mps.any():
                relative -= planes.velocity_mps[:, :, None] * self.row_shift_s
        foot = (planes.axes @ relative).astype(np.float32)[:, :, None]  # (n, 3, 1, rows)
        turned[:, :2] *= -foot[:, 2:]
        turned[:, :2] += foot[:, :2] * turned[:, 2:]
        return np.asarray(turned, dtype=np.float32)

    def _bands(self, planes: Planes, maps: FloatMap, boxes: NDArray[np.int64]) -> list[Band]:
        """Split rectangles into column ranges with a single reduction each.

        The reduction follows from the derivatives of s and t by pixel column and row in the middle
        of a range; a range ends where the depth has changed by a factor of about sqrt(2).
        """
        x = self.columns[0]
        row = np.minimum((boxes[:, 2] + boxes[:, 3]) // 2, len(self.row_y) - 2)
        which = np.arange(len(boxes))
        here, below = maps[which, :, :, row], maps[which, :, :, row + 1]  # (n, 3, 2)
        slope, base = here[:, 2, 0], here[:, 2, 1]
        first = np.maximum(slope * x[boxes[:, 0]] + base, 1e-4)
        last = np.maximum(slope * x[boxes[:, 1] - 1] + base, 1e-4)
        octaves = np.log2(last / first)
        n_bands = np.clip(np.rint(2 * np.abs(octaves)), 0, 6).astype(int) + 1
        spans: list[tuple[int, int, int]] = []
        for plane, (count, box) in enumerate(zip(n_bands.tolist(), boxes.tolist(), strict=True)):
            edges = [box[0], box[1]]
            if count > 1:
                inner = first[plane] * 2 ** (octaves[plane] * np.arange(1, count) / count)
                at_x = (inner - base[plane]) / slope[plane]
                edges[1:1] = np.searchsorted(x, at_x).tolist()
            spans += [(plane, start, stop) for start, stop in pairwise(edges) if stop > start]
        plane, start, stop = np.array(spans).T
        middle = x[(start + stop) // 2]
        here, below = here[plane], below[plane]
        value = here[:, :, 0] * middle[:, None] + here[:, :, 1]
        value_below = below[:, :, 0] * middle[:, None] + below[:, :, 1]
        den = np.maximum(value[:, 2:], 1e-4)
        place = value[:, :2] / den
        by_column = (here[:, :2, 0] - place * here[:, 2:, 0]) / den
        by_row = (value_below[:, :2] / np.maximum(value_below[:, 2:], 1e-4) - place) * self.focal_px
        density = np.array([texture.texels_per_m for texture in planes.textures]) / self.focal_px
        texels = np.hypot(by_column, by_row) * density[plane, None]
        most = np.array(
            [(len(t.levels) - 1, len(t.levels[0]) - 1) for t in planes.textures], dtype=float
        )
        level = np.rint(np.log2(np.maximum(texels, 1e-3)) - SHARPNESS)
        level = np.clip(level, 0, most[plane]).astype(int)
        return list(
            zip(
                plane.tolist(),
                start.tolist(),
                stop.tolist(),
                level[:, 0].tolist(),
                level[:, 1].tolist(),
                strict=True,
            )
        )

    def _blend(
        self,
        source: NDArray[np.uint8],
        places: list[FloatMap],
        where: tuple[slice, slice],
        keep: float,
    ) -> None:
        opaque = _OPAQUE[: source.shape[0], : source.shape[1]]
        s, t = places
        image = cv2.remap(source, s, t, cv2.INTER_LINEAR, borderMode=cv2.BORDER_CONSTANT)
        alpha = cv2.remap(opaque, s, t, cv2.INTER_LINEAR, borderMode=cv2.BORDER_CONSTANT)
        if keep < 1.0:
            image = cv2.addWeighted(image, keep, alpha, (1 - keep) * HAZE_LUMA / 255, 0)
        target = self.luma[where]
        cv2.bitwise_not(alpha, alpha)
        cv2.add(image, cv2.multiply(target, alpha, scale=1 / 255), target)
