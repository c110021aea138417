"""One Gauss-Newton step of rotation and direction of travel, for many frame pairs at once.

The pairs of a stack share nothing but the cost of a call: a frame has some eighty points, too few
for an array operation to pay on its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syncaudit.dsp.robust import cauchy_weights, mad_std_of_rows

__all__ = ["Step", "Views", "rotation_matrices"]

Floats = NDArray[np.float64]

# Keeps the direction "along" defined at the focus of expansion.
MIN_MOVED = 1e-3
# Longest change of the direction of travel in one step.
MAX_TURN = 0.3
# Share of the information added for points that leave a rotation undefined.
RIDGE = 1e-13


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One step of m pairs, and what the last one of them tells on demand."""

    change_rad: Floats
    direction: Floats
    is_solved: NDArray[np.bool_]
    noise: Floats
    normal_inverse: Floats
    lines: Floats
    across_weight: Floats
    design_across: Floats
    design_along: Floats
    weighted_across: Floats
    weighted_along: Floats

    @property
    def covariance(self) -> Floats:
        """Covariance of the rotations, shape (m, 3, 3)."""
        return self.normal_inverse[:, :3, :3]

    @property
    def variance(self) -> Floats:
        """Variances of the angles, shape (m, 3)."""
        return np.diagonal(self.covariance, axis1=1, axis2=2)

    @property
    def direction_information(self) -> Floats:
        """Information on the direction of travel, shape (m, 3, 3)."""
        weighted = self.lines * self.across_weight[:, None, :]
        return np.asarray(weighted @ self.lines.transpose(0, 2, 1))

    @property
    def influence(self) -> Floats:
        """Share of each point in the rotation, shape (m, n, 3, 3)."""
        across = self.normal_inverse[:, :3] @ self.weighted_across
        along = self.covariance @ self.weighted_along
        shares = across.transpose(0, 2, 1)[..., None] * _by_point(self.design_across[:, :3])
        shares += along.transpose(0, 2, 1)[..., None] * _by_point(self.design_along)
        return np.asarray(shares)


@dataclass(frozen=True, slots=True, eq=False)
class Views:
    """Tracked points of m pairs after both pictures were turned half-way, exactly.

    Parameters
    ----------
    x, y, dx, dy : ndarray, shape (m, n)
        Places half-way and flow, in focal lengths.
    is_point : ndarray of bool, shape (m, n)
        False where a pair has fewer points than the longest of the stack.
    """

    x: Floats
    y: Floats
    dx: Floats
    dy: Floats
    is_point: NDArray[np.bool_]

    @classmethod
    def between(
        cls, before: Floats, after: Floats, is_point: NDArray[np.bool_], angles: Floats
    ) -> Views:
        """Turn the rays of both frames, shape (m, 3, n), into the orientation half-way."""
        half = rotation_matrices(0.5 * angles)
        p, q = half.transpose(0, 2, 1) @ before, half @ after
        px, py = p[:, 0] / p[:, 2], p[:, 1] / p[:, 2]
        qx, qy = q[:, 0] / q[:, 2], q[:, 1] / q[:, 2]
        return cls(x=0.5 * (px + qx), y=0.5 * (py + qy), dx=qx - px, dy=qy - py, is_point=is_point)

    def lines(self) -> Floats:
        """Return the normal of each point's epipolar plane, shape (m, 3, n)."""
        return np.stack([self.dy, -self.dx, self.dx * self.y - self.dy * self.x], axis=1)

    def first_directions(self, floor: float) -> Floats:
        """Return the directions of travel that the epipolar planes agree on best, shape (m, 3)."""
        lines = self.lines()
        size = np.sqrt(self.dx**2 + self.dy**2)
        # Bounded influence: long residuals (moving objects, lost tracks) count no more.
        weight = np.where(self.is_point, 1.0 / (size + 4.0 * floor) ** 2, 0.0)
        _, vectors = np.linalg.eigh((lines * weight[:, None, :]) @ lines.transpose(0, 2, 1))
        return np.asarray(vectors[:, :, 0])

    def solve(self, direction: Floats, prior: Floats, floor: float) -> Step:
        """Take one step of rotation and direction of travel together.

        Parameters
        ----------
        direction : ndarray, shape (m, 3)
            Unit vectors of travel so far.
        prior : ndarray, shape (m, 3, 3)
            Information on them from elsewhere.
        floor : float
            Least noise of a track, focal lengths.
        """
        x, y = self.x, self.y
        toward = direction[:, :, None]
        # Flow that translation makes, up to depth; along it the direction is (ax, ay).
        ax, ay = x * toward[:, 2] - toward[:, 0], y * toward[:, 2] - toward[:, 1]
        length = np.sqrt(ax * ax + ay * ay) + MIN_MOVED
        ax, ay = ax / length, ay / length
        along = ax * self.dx + ay * self.dy
        across = ax * self.dy - ay * self.dx
        noise = np.maximum(mad_std_of_rows(across, self.is_point), floor)[:, None]
        parallax = mad_std_of_rows(along / length, self.is_point)[:, None]
        along_var = noise**2 + (parallax * length) ** 2
        trust = np.where(self.is_point, cauchy_weights(across / noise), 0.0)
        across_weight = trust / noise**2
        # Whoever breaks the epipolar line tells nothing along it either.
        along_weight = trust * cauchy_weights(along / np.sqrt(along_var)) / along_var
        # Rotation moves a point by (u, v) per radian about x, y, z.
        xy = x * y
        u = np.stack([xy, -(1.0 + x * x), y], axis=1)
        v = np.stack([1.0 + y * y, -xy, -x], axis=1)
        sideways = _across(direction)
        lines = self.lines() / length[:, None, :]
        ax, ay = ax[:, None, :], ay[:, None, :]
        design_along = ax * u + ay * v
        design_across = np.concatenate([ax * v - ay * u, sideways @ lines], axis=1)
        # Parallax has a mean of its own (all points of a side camera move one way), known no
        # better than its size: it is fitted along, and taken out here.
        mean = ((design_along * length[:, None, :]) @ along_weight[:, :, None])[:, :, 0]
        share = np.sum(along_weight * length**2, axis=1, keepdims=True)
        mean = mean / (share + 1.0 / (parallax**2 + floor**2))
        weighted_along = (design_along - mean[:, :, None] * length[:, None, :]) * along_weight[
            :, None, :
        ]
        weighted_across = design_across * across_weight[:, None, :]
        normal = weighted_across @ design_across.transpose(0, 2, 1)
        normal[:, :3, :3] += weighted_along @ design_along.transpose(0, 2, 1)
        # In radians of direction the prior's least part is one: a direction is a unit vector.
        normal[:, 3:, 3:] += sideways @ prior @ sideways.transpose(0, 2, 1) + np.eye(2)
        size = np.trace(normal, axis1=1, axis2=2)
        normal += (RIDGE * size)[:, None, None] * np.eye(5)
        right = (weighted_across @ across[:, :, None])[:, :, 0]
        right[:, :3] += (weighted_along @ along[:, :, None])[:, :, 0]
        right[:, 3:] -= (sideways @ (prior @ direction[:, :, None]))[:, :, 0]
        covariance = np.linalg.inv(normal)
        change = (covariance @ right[:, :, None])[:, :, 0]
        turn = np.clip(change[:, 3:], -MAX_TURN, MAX_TURN)
        turned = direction + (turn[:, None, :] @ sideways)[:, 0]
        is_solved = np.all(np.diagonal(covariance, axis1=1, axis2=2) > 0.0, axis=1)
        return Step(
            change_rad=change[:, :3],
            direction=turned / np.linalg.norm(turned, axis=1, keepdims=True),
            is_solved=is_solved & np.all(np.isfinite(change), axis=1),
            noise=noise[:, 0],
            normal_inverse=covariance,
            lines=lines,
            across_weight=across_weight,
            design_across=design_across,
            design_along=design_along,
            weighted_across=weighted_across,
            weighted_along=weighted_along,
        )


def rotation_matrices(angles: Floats) -> Floats:
    """Return the matrices of rotation vectors of shape (m, 3) (Rodrigues), shape (m, 3, 3)."""
    angle = np.sqrt(np.sum(angles * angles, axis=1))[:, None, None]
    cross = np.zeros((angles.shape[0], 3, 3))
    cross[:, 0, 1], cross[:, 0, 2] = -angles[:, 2], angles[:, 1]
    cross[:, 1, 0], cross[:, 1, 2] = angles[:, 2], -angles[:, 0]
    cross[:, 2, 0], cross[:, 2, 1] = -angles[:, 1], angles[:, 0]
    # sin(a)/a and (1 - cos(a))/a^2 = sinc(a/2)^2/2 without a division by zero
    sine = np.sinc(angle / np.pi)
    cosine = 0.5 * np.sinc(0.5 * angle / np.pi) ** 2
    return np.asarray(np.eye(3) + sine * cross + cosine * (cross @ cross))


def _by_point(design: Floats) -> Floats:
    """Return a design of shape (m, 3, n) as (m, n, 1, 3)."""
    return design.transpose(0, 2, 1)[:, :, None, :]


def _across(direction: Floats) -> Floats:
    """Return two unit vectors across each unit vector, shape (m, 2, 3)."""
    x, y, z = direction.T
    is_upright = np.hypot(x, z) < 0.1  # nearly along y: start from x instead
    none = np.zeros_like(x)
    first = np.stack(
        [
            np.where(is_upright, none, z),
            np.where(is_upright, z, none),
            np.where(is_upright, -y, -x),
        ],
        axis=1,
    )
    first /= np.linalg.norm(first, axis=1, keepdims=True)
    return np.stack([first, np.cross(direction, first)], axis=1)
