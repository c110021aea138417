"""Rotation of a camera between two frames from tracked points, robust to translation.

A static point at image position (x, y) (focal lengths) and depth Z moves by

    u = A(x, y) phi + B(x, y) t / Z

with the rotation matrix A and translation matrix B of Longuet-Higgins & Prazdny ("The
interpretation of a moving retinal image", Proc. R. Soc. B 208, 1980, doi:10.1098/rspb.1980.0057).
Depths are unknown. Across the direction B t the flow tells rotation alone (Bruss & Horn, "Passive
navigation", CVGIP 21, 1983, doi:10.1016/S0734-189X(83)80026-7); along it, it tells rotation plus
a parallax of unknown size, which is treated as noise whose scale is found from the points
themselves (a random effect with a common mean). So far points keep their full weight when the
camera hardly translates, and lose only what parallax spoils when it does.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from syncaudit.dsp.robust import cauchy_weights, mad_std

__all__ = ["Heading", "RotationFit", "fit_rotation"]

Floats = NDArray[np.float64]

MIN_POINTS = 12
# Tracking noise never falls below this (pixels of the tracked picture).
MIN_NOISE_PX = 0.02
# Four to five steps serve cameras that look along the way; those that look sideways, where turning
# and travelling look alike, take ten.
MAX_ITERATIONS = 20
# Steps below this share of the standard error change nothing.
CONVERGED_STD = 0.3
# Directions of travel to start from: along each axis and between right and forward.
FIRST_DIRECTIONS = np.array(
    [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.7, 0.0, 0.714], [-0.7, 0.0, 0.714]]
)
# Keeps the direction "along" defined at the focus of expansion.
MIN_MOVED = 1e-3
# Share of the direction of travel that is remembered from frame to frame.
MEMORY = 0.9
# The direction of travel changes by about 0.05 rad from frame to frame (one sigma).
MAX_HEADING_INFORMATION = 1.0 / 0.05**2


@dataclass(slots=True)
class Heading:
    """Leaky memory of the direction of travel in the camera's axes.

    A camera bolted to a vehicle sees a nearly constant direction, but bumps and turns move it by
    a few hundredths of a radian in step with the rotation: held too fast it would bend the
    rotation. So the memory of about ten frames is a prior of bounded strength.
    """

    information: Floats = field(default_factory=lambda: np.zeros((3, 3)))
    direction: Floats | None = None

    def prior(self) -> Floats:
        """Return the information on the direction that the memory lends, shape (3, 3)."""
        values, vectors = np.linalg.eigh(self.information)
        bounded = values * MAX_HEADING_INFORMATION / (values + MAX_HEADING_INFORMATION)
        return np.asarray((vectors * bounded) @ vectors.T)

    def remember(self, information: Floats, direction: Floats) -> None:
        """Add what one frame pair told."""
        self.information = MEMORY * self.information + information
        self.direction = direction


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RotationFit:
    """Result of `fit_rotation`.

    Parameters
    ----------
    angles_rad, std_rad : ndarray, shape (3,)
        Rotation vector about x (right), y (down), z (forward), and one-sigma errors.
    influence : ndarray, shape (n, 3, 3)
        Share of each point in the result: the rotation that the fit reports is the sum over
        points of ``influence[k] @ (rotation at the time of point k)``; the shares add up to one.
    n_inliers : int
        Points within three sigma.
    noise : float
        Robust residual across the parallax direction (focal lengths).
    """

    angles_rad: Floats
    std_rad: Floats
    influence: Floats
    n_inliers: int
    noise: float


def fit_rotation(
    before: Floats, after: Floats, *, heading: Heading, focal_px: float
) -> RotationFit | None:
    """Fit the rotation that moved `before` to `after`.

    Parameters
    ----------
    before, after : ndarray, shape (n, 2)
        Positions in focal lengths from the principal point.
    heading : Heading
        Memory of the direction of travel; updated.
    focal_px : float
        Focal length in pixels of the tracked picture (sets the floor of the noise).

    Returns
    -------
    RotationFit or None
        None with fewer than 12 points or a degenerate layout.
    """
    if before.shape[0] < MIN_POINTS:
        return None
    rays = (_rays(before), _rays(after))
    floor = MIN_NOISE_PX / focal_px
    if heading.direction is not None:
        found = _converge(rays, np.zeros(3), heading.direction, heading.prior(), floor)
    else:
        found = _start(before, after, rays, floor)
    if found is None:
        return None
    angles, step = found
    heading.remember(step.direction_information, step.direction)
    if not np.all(np.isfinite(angles)) or float(np.abs(angles).max()) > 1.0:
        return None
    return RotationFit(
        angles_rad=angles,
        std_rad=np.sqrt(np.diag(step.covariance)),
        influence=step.influence,
        n_inliers=step.n_inliers,
        noise=step.noise,
    )


def _start(
    before: Floats, after: Floats, rays: tuple[Floats, Floats], floor: float
) -> tuple[Floats, _Step] | None:
    """Fit without a memory: from several directions of travel, keep what leaves least across.

    A side camera's travel looks like a turn: a start from rotation alone would stay there.
    """
    starts = [(np.zeros(3), direction) for direction in FIRST_DIRECTIONS]
    first = _rotation_only(before, after, floor)
    if first is not None:
        starts.append((first, _View.between(rays, first).first_direction(floor)))
    best: tuple[Floats, _Step] | None = None
    for angles, direction in starts:
        found = _converge(rays, angles, direction, np.zeros((3, 3)), floor)
        if found is not None and (best is None or found[1].noise < best[1].noise):
            best = found
    return best


def _converge(
    rays: tuple[Floats, Floats], angles: Floats, direction: Floats, prior: Floats, floor: float
) -> tuple[Floats, _Step] | None:
    """Iterate from a start; return the rotation and the last step."""
    for iteration in range(MAX_ITERATIONS):
        solved = _View.between(rays, angles).solve(direction, prior, floor)
        if solved is None:
            return None
        step = solved
        angles = angles + step.change_rad
        direction = step.direction
        if iteration > 1:
            change = step.change_rad**2 / np.diag(step.covariance)
            if float(change.max()) < CONVERGED_STD**2:
                break
    return angles, step


@dataclass(frozen=True, slots=True, eq=False)
class _Step:
    """One Gauss-Newton step, and what the last one of them tells on demand."""

    change_rad: Floats
    direction: Floats
    normal_inverse: Floats
    lines: Floats
    across_weight: Floats
    design_across: Floats
    design_along: Floats
    weighted_across: Floats
    weighted_along: Floats
    n_inliers: int
    noise: float

    @property
    def covariance(self) -> Floats:
        """Covariance of the rotation, shape (3, 3)."""
        return self.normal_inverse[:3, :3]

    @property
    def direction_information(self) -> Floats:
        """Information on the direction of travel, shape (3, 3)."""
        return np.asarray((self.lines * self.across_weight) @ self.lines.T)

    @property
    def influence(self) -> Floats:
        """Share of each point in the rotation, shape (n, 3, 3)."""
        across = self.normal_inverse[:3] @ self.weighted_across
        along = self.covariance @ self.weighted_along
        shares: Floats = across.T[:, :, None] * self.design_across[:3].T[:, None, :]
        shares += along.T[:, :, None] * self.design_along.T[:, None, :]
        return shares


@dataclass(frozen=True, slots=True, eq=False)
class _View:
    """Tracked points after both pictures were turned half-way, exactly."""

    x: Floats
    y: Floats
    flow: Floats

    @classmethod
    def between(cls, rays: tuple[Floats, Floats], angles: Floats) -> _View:
        """Turn the rays of both frames into the orientation half-way between them."""
        half = _rotation_matrix(0.5 * angles)
        before, after = half.T @ rays[0], half @ rays[1]
        p = before[:2] / before[2]
        q = after[:2] / after[2]
        middle = 0.5 * (p + q)
        return cls(x=middle[0], y=middle[1], flow=q - p)

    def lines(self) -> Floats:
        """Return the normal of each point's epipolar plane, shape (3, n)."""
        dx, dy = self.flow
        return np.array([dy, -dx, dx * self.y - dy * self.x])

    def first_direction(self, floor: float) -> Floats:
        """Return the direction of travel that the epipolar planes agree on best."""
        lines = self.lines()
        size = np.sqrt(self.flow[0] ** 2 + self.flow[1] ** 2)
        # Bounded influence: long residuals (moving objects, lost tracks) count no more.
        weight = 1.0 / (size + 4.0 * floor) ** 2
        _, vectors = np.linalg.eigh((lines * weight) @ lines.T)
        return np.asarray(vectors[:, 0])

    def solve(self, direction: Floats, prior: Floats, floor: float) -> _Step | None:
        """Take one Gauss-Newton step of rotation and direction of travel together."""
        x, y, flow = self.x, self.y, self.flow
        # Flow that translation makes, up to depth; along it the direction is (ax, ay).
        ax, ay = x * direction[2] - direction[0], y * direction[2] - direction[1]
        length = np.sqrt(ax * ax + ay * ay) + MIN_MOVED
        ax, ay = ax / length, ay / length
        along = ax * flow[0] + ay * flow[1]
        across = ax * flow[1] - ay * flow[0]
        noise = max(mad_std(across), floor)
        parallax = mad_std(along / length)
        along_var = noise**2 + (parallax * length) ** 2
        trust = cauchy_weights(across / noise)
        across_weight = trust / noise**2
        # Whoever breaks the epipolar line tells nothing along it either.
        along_weight = trust * cauchy_weights(along / np.sqrt(along_var)) / along_var
        # Rotation moves a point by (u, v) per radian about x, y, z.
        u = np.array([x * y, -(1.0 + x * x), y])
        v = np.array([1.0 + y * y, -x * y, -x])
        sideways = _across(direction)
        lines = self.lines() / length
        design_along = ax * u + ay * v
        design_across = np.concatenate([ax * v - ay * u, sideways @ lines])
        # Parallax has a mean of its own (all points of a side camera move one way), known no
        # better than its size: it is fitted along, and taken out here.
        mean = (design_along * length) @ along_weight
        mean = mean / (along_weight @ length**2 + 1.0 / (parallax**2 + floor**2))
        weighted_along = (design_along - np.outer(mean, length)) * along_weight
        weighted_across = design_across * across_weight
        normal = weighted_across @ design_across.T
        normal[:3, :3] += weighted_along @ design_along.T
        normal[3:, 3:] += sideways @ prior @ sideways.T + np.eye(2)
        right = weighted_across @ across
        right[:3] += weighted_along @ along
        right[3:] -= sideways @ (prior @ direction)
        try:
            covariance = np.linalg.inv(normal)
        except np.linalg.LinAlgError:
            return None
        if not np.all(np.diag(covariance) > 0.0):
            return None  # singular but for rounding
        change = covariance @ right
        turned = direction + np.clip(change[3:], -0.3, 0.3) @ sideways
        return _Step(
            change_rad=change[:3],
            direction=turned / np.sqrt(turned @ turned),
            normal_inverse=covariance,
            lines=lines,
            across_weight=across_weight,
            design_across=design_across,
            design_along=design_along,
            weighted_across=weighted_across,
            weighted_along=weighted_along,
            n_inliers=int(np.count_nonzero(np.abs(across) < 3.0 * noise)),
            noise=noise,
        )


def _rays(points: Floats) -> Floats:
    return np.vstack([points.T, np.ones(points.shape[0])])


def _across(direction: Floats) -> Floats:
    """Return two unit vectors across a unit vector, shape (2, 3)."""
    x, y, z = (float(part) for part in direction)
    norm = (x * x + z * z) ** 0.5
    if norm < 0.1:  # nearly along y: start from x instead
        norm = (y * y + z * z) ** 0.5
        first = np.array([0.0, z / norm, -y / norm])
    else:
        first = np.array([z / norm, 0.0, -x / norm])
    second = np.array(
        [
            y * first[2] - z * first[1],
            z * first[0] - x * first[2],
            x * first[1] - y * first[0],
        ]
    )
    return np.stack([first, second])


def _rotation_matrix(angles: Floats) -> Floats:
    """Return the matrix of a rotation vector (Rodrigues)."""
    angle = float(np.sqrt(angles @ angles))
    cross = np.array(
        [
            [0.0, -angles[2], angles[1]],
            [angles[2], 0.0, -angles[0]],
            [-angles[1], angles[0], 0.0],
        ]
    )
    if angle < 1e-9:
        return np.asarray(np.eye(3) + cross, dtype=np.float64)
    sine, cosine = np.sin(angle) / angle, (1.0 - np.cos(angle)) / angle**2
    matrix: Floats = np.eye(3) + sine * cross + cosine * (cross @ cross)
    return matrix


def _rotation_only(before: Floats, after: Floats, floor: float) -> Floats | None:
    """Return the rotation that explains most of the flow, as a first guess."""
    x, y = (0.5 * (before + after)).T
    design = np.concatenate(
        [
            np.column_stack([x * y, -(1.0 + x * x), y]),
            np.column_stack([1.0 + y * y, -x * y, -x]),
        ]
    )
    target = (after - before).T.ravel()
    weight = np.ones(target.size)
    angles = np.zeros(3)
    for _ in range(5):
        weighted = design * weight[:, None]
        try:
            angles = np.linalg.solve(weighted.T @ design, weighted.T @ target)
        except np.linalg.LinAlgError:
            return None
        rest = target - design @ angles
        weight = cauchy_weights(rest / max(mad_std(rest), floor))
    return angles
