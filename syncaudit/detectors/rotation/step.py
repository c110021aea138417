"""Compute one Gauss-Newton step of rotation and direction of travel for many frame pairs at once.

The pairs of a stack share nothing but the overhead of a call: a frame has about eighty points, too
few for an array operation to pay off on its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syncaudit.dsp.robust import cauchy_weights, mad_std_of_rows
from syncaudit.model.arrays import Bools, Floats

# Keeps the direction "along" defined at the focus of expansion.
MIN_MOVED = 1e-3
# Largest change of the direction of travel in one step.
MAX_TURN = 0.3
# Relative ridge added to the information if points leave a rotation undetermined.
RIDGE = 1e-13


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One step of m pairs, with quantities derived from it on demand."""

    change: Floats
    direction: Floats
    is_solved: Bools
    noise: Floats
    normal_inverse: Floats
    lines: Floats
    toward: Floats
    across: Floats
    across_flow: Floats
    across_weight: Floats
    trust: Floats
    along: Floats
    along_weight: Floats
    mean_parallax: Floats

    @property
    def change_rad(self) -> Floats:
        """Change of the rotations, shape (m, 3)."""
        return self.change[:, :3]

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

    def told_across(self, moved: Floats, swollen: Floats) -> tuple[Floats, Floats]:
        """Return what flow across the travel reveals about one more parameter, shape (m,) each.

        Flow along it is left out: depths that vary over the image can look like anything.

        Parameters
        ----------
        moved : ndarray, shape (m, n, 2)
            Flow added by a unit of the parameter.
        swollen : ndarray, shape (m, n)
            Relative lengthening of flow in the image per unit of the parameter: without it, small
            flow, all noise, would favour whatever makes it smaller.

        Returns
        -------
        information, score : ndarray
            Rotation and direction of travel eliminated; the parameter is ``score / information``
            smaller than assumed.
        """
        added = self.toward[..., 0] * moved[..., 1] - self.toward[..., 1] * moved[..., 0]
        weighted = self.across_weight * added
        shared = (self.across @ weighted[..., None])[..., 0]
        taken = (self.normal_inverse @ shared[..., None])[..., 0]
        information = np.sum(weighted * added, axis=1) - np.sum(shared * taken, axis=1)
        left = self.across_flow - (self.change[:, None, :] @ self.across)[:, 0]
        score = np.sum((weighted + self.across_weight * left * swollen) * left, axis=1)
        return information, score

    @property
    def gains(self) -> Gains:
        """Sensitivity of the rotations to the points' flow."""
        across_weight, along_weight = self.across_weight[:, None, :], self.along_weight[:, None, :]
        design, length = self.along[:, :3], self.along[:, 4:]
        parted = (design - self.mean_parallax[:, :3, None] * length) * along_weight
        return Gains(
            across=self.across[:, :3],
            to_across=self.normal_inverse[:, :3] @ (self.across * across_weight),
            along=design,
            to_along=self.covariance @ parted,
            lines=self.lines,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Gains:
    """How the rotations of m pairs depend on their n points, shapes (m, 3, n)."""

    # Flow across the direction of travel caused by a rotation, and the rotation that the fit
    # derives from such flow; then the same along that direction.
    across: Floats
    to_across: Floats
    along: Floats
    to_along: Floats
    lines: Floats  # flow across it caused by a change of the direction of travel

    def pick(self, index: NDArray[np.intp]) -> Gains:
        """Return the gains of the selected pairs."""
        parts = (self.across, self.to_across, self.along, self.to_along, self.lines)
        return Gains(*(part[index] for part in parts))

    def mean(self, values: Floats) -> Floats:
        """Return the mean of a per-point quantity, shape (m, n), weighted as in the rotation fit.

        Returns
        -------
        ndarray, shape (m, 3, 3)
            Rotations ``value * w`` at the individual points are fitted as ``mean @ w``.
        """
        weighed = (self.to_across * values[:, None, :]) @ self.across.transpose(0, 2, 1)
        return np.asarray(
            weighed + (self.to_along * values[:, None, :]) @ self.along.transpose(0, 2, 1)
        )

    def mean_of_travel(self, values: Floats) -> Floats:
        """Return the rotation fitted if the direction of travel varies by ``value * t``.

        Returns
        -------
        ndarray, shape (m, 3, 3)
            Rotation for each axis of t. Flow along the travel is too weak to matter here.
        """
        return np.asarray((self.to_across * values[:, None, :]) @ self.lines.transpose(0, 2, 1))


@dataclass(frozen=True, slots=True, eq=False)
class Views:
    """Tracked points of m pairs after both images were rotated exactly halfway."""

    # shape (m, n): halfway positions and flow, in focal lengths
    x: Floats
    y: Floats
    dx: Floats
    dy: Floats
    # shape (m, n): false where a pair has fewer points than the longest of the stack
    is_point: Bools
    # shape (m, n), optional: how much larger lengths are in the image if the lens distorts it:
    # noise is uniform there
    scale: Floats | None

    def lines(self) -> Floats:
        """Return the normal of each point's epipolar plane, shape (m, 3, n)."""
        return np.stack([self.dy, -self.dx, self.dx * self.y - self.dy * self.x], axis=1)

    def first_directions(self, floor: float) -> Floats:
        """Return the directions of travel that best fit the epipolar planes, shape (m, 3)."""
        lines = self.lines()
        size = np.sqrt(self.dx**2 + self.dy**2)
        # Bounded influence: long residuals (moving objects, lost tracks) count no more than others.
        weight = np.where(self.is_point, 1.0 / (size + 4.0 * floor) ** 2, 0.0)
        _, vectors = np.linalg.eigh((lines * weight[:, None, :]) @ lines.transpose(0, 2, 1))
        return np.asarray(vectors[:, :, 0])

    def solve(self, direction: Floats, prior: Floats, floor: float) -> Step:
        """Take one step of rotation and direction of travel together.

        Parameters
        ----------
        direction : ndarray, shape (m, 3)
            Current unit vectors of travel.
        prior : ndarray, shape (m, 3, 3)
            Information on them from other sources.
        floor : float
            Minimum noise of a track, in focal lengths.
        """
        x, y = self.x, self.y
        # Flow caused by translation, up to depth; its direction is (ax, ay).
        ax = x * direction[:, 2, None] - direction[:, 0, None]
        ay = y * direction[:, 2, None] - direction[:, 1, None]
        length = np.sqrt(ax * ax + ay * ay) + MIN_MOVED
        ax, ay = ax / length, ay / length
        flow_along, flow_across = ax * self.dx + ay * self.dy, ax * self.dy - ay * self.dx
        seen = flow_across if self.scale is None else self.scale * flow_across
        noise_seen = np.maximum(mad_std_of_rows(seen, self.is_point), floor)[:, None]
        noise = noise_seen if self.scale is None else noise_seen / self.scale
        parallax = mad_std_of_rows(flow_along / length, self.is_point)[:, None]
        along_var = noise**2 + (parallax * length) ** 2
        trust = np.where(self.is_point, cauchy_weights(flow_across / noise), 0.0)
        across_weight = trust / noise**2
        # A point that violates the epipolar constraint carries no information along it either.
        along_weight = trust * cauchy_weights(flow_along / np.sqrt(along_var)) / along_var
        # A radian about x, y, z moves a point by (xy, 1 + yy), -(1 + xx, xy), (y, -x).
        radial, tangent = ax * x + ay * y, ax * y - ay * x
        sideways = _across(direction)
        lines = self.lines() / length[:, None, :]
        # Columns: three angles, two rotations of the direction, and the flow itself.
        across = np.empty((x.shape[0], 6, x.shape[1]))
        across[:, 0], across[:, 1], across[:, 2] = ax + y * tangent, ay - x * tangent, -radial
        across[:, 3:5], across[:, 5] = sideways @ lines, flow_across
        # Columns: three angles, the flow itself, and a unit of parallax.
        along = np.empty((x.shape[0], 5, x.shape[1]))
        along[:, 0], along[:, 1], along[:, 2] = ay + y * radial, -ax - x * radial, tangent
        along[:, 3], along[:, 4] = flow_along, length
        normal = _gram(across, across_weight)
        # Parallax has a non-zero mean (all points of a side camera move one way), with a prior as
        # wide as its size: the mean is fitted jointly and eliminated.
        rest = _gram(along, along_weight)
        mean = rest[:, 4] / (rest[:, 4, 4, None] + 1.0 / (parallax**2 + floor**2))
        rest -= rest[:, :, 4, None] * mean[:, None, :]
        right = normal[:, :5, 5]
        normal = normal[:, :5, :5]
        normal[:, :3, :3] += rest[:, :3, :3]
        right[:, :3] += rest[:, :3, 3]
        # In radians of direction the prior is at least one: a direction is a unit vector.
        normal[:, 3:, 3:] += sideways @ prior @ sideways.transpose(0, 2, 1) + np.eye(2)
        right[:, 3:] -= (sideways @ (prior @ direction[:, :, None]))[:, :, 0]
        normal += (RIDGE * np.trace(normal, axis1=1, axis2=2))[:, None, None] * np.eye(5)
        covariance = np.asarray(np.linalg.inv(normal), dtype=np.float64)
        change = (covariance @ right[:, :, None])[:, :, 0]
        turn = np.clip(change[:, 3:], -MAX_TURN, MAX_TURN)
        turned = direction + (turn[:, None, :] @ sideways)[:, 0]
        is_solved = np.all(np.diagonal(covariance, axis1=1, axis2=2) > 0.0, axis=1)
        return Step(
            change=change,
            direction=turned / np.linalg.norm(turned, axis=1, keepdims=True),
            is_solved=is_solved & np.all(np.isfinite(change), axis=1),
            noise=noise_seen[:, 0],
            normal_inverse=covariance,
            lines=lines,
            toward=np.stack([ax, ay], axis=-1),
            across=across[:, :5],
            across_flow=flow_across,
            across_weight=across_weight,
            trust=trust,
            along=along,
            along_weight=along_weight,
            mean_parallax=mean,
        )


def _gram(rows: Floats, weight: Floats) -> Floats:
    """Return the weighted products of rows of shape (m, k, n), shape (m, k, k)."""
    return np.asarray((rows * weight[:, None, :]) @ rows.transpose(0, 2, 1))


def _across(direction: Floats) -> Floats:
    """Return two unit vectors perpendicular to each unit vector, shape (m, 2, 3).

    Duff et al., "Building an orthonormal basis, revisited", JCGT 6 (1), 2017.
    """
    x, y, z = direction.T
    sign = np.copysign(1.0, z)
    a = -1.0 / (sign + z)
    b = x * y * a
    frame = np.empty((len(direction), 2, 3))
    frame[:, 0, 0], frame[:, 0, 1], frame[:, 0, 2] = 1.0 + sign * x * x * a, sign * b, -sign * x
    frame[:, 1, 0], frame[:, 1, 1], frame[:, 1, 2] = b, sign + y * y * a, -y
    return frame
