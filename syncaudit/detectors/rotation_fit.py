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


@dataclass(slots=True)
class Heading:
    """Leaky memory of the direction of travel in the camera's axes.

    A camera bolted to a vehicle sees a nearly constant direction; a hand-held one forgets the
    old one within about a hundred frames.
    """

    scatter: Floats = field(default_factory=lambda: np.zeros((3, 3)))
    memory: float = 0.97

    def remember(self, scatter: Floats) -> None:
        """Add the scatter of one frame pair."""
        self.scatter = self.memory * self.scatter + scatter


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RotationFit:
    """Result of `fit_rotation`.

    Parameters
    ----------
    angles_rad, std_rad : ndarray, shape (3,)
        Rotation vector about x (right), y (down), z (forward), and one-sigma errors.
    influence : ndarray, shape (n, 3)
        How much each point contributes to each angle; columns sum to one. Weighted with it, the
        points' own times give the time that each angle belongs to.
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
    n = before.shape[0]
    if n < MIN_POINTS:
        return None
    flow = after - before
    middle = 0.5 * (before + after)  # makes the first-order model second-order exact
    x, y = middle[:, 0], middle[:, 1]
    one = np.ones(n)
    rotate_x = np.column_stack([x * y, -(1.0 + x * x), y])
    rotate_y = np.column_stack([1.0 + y * y, -x * y, -x])
    floor = MIN_NOISE_PX / focal_px
    angles = _rotation_only(flow, rotate_x, rotate_y, floor)
    if angles is None:
        return None
    result: tuple[Floats, Floats, Floats, Floats, float] | None = None
    for _ in range(3):
        rest = flow - np.column_stack([rotate_x @ angles, rotate_y @ angles])
        line = np.column_stack([rest[:, 1], -rest[:, 0], rest[:, 0] * y - rest[:, 1] * x])
        size = np.sqrt(np.sum(rest**2, axis=1))
        # Bounded influence: long residuals (moving objects, lost tracks) count no more.
        weight = 1.0 / (size + 3.0 * floor) ** 2 * np.minimum(1.0, (size / (4.0 * floor)) ** 2)
        scatter = (line * weight[:, None]).T @ line
        _, vectors = np.linalg.eigh(scatter + heading.scatter + 1e-12 * np.eye(3))
        direction = vectors[:, 0]
        moved = np.column_stack(
            [-one * direction[0] + x * direction[2], -one * direction[1] + y * direction[2]]
        )
        length = np.sqrt(np.sum(moved**2, axis=1))
        along = moved / np.maximum(length, 1e-6)[:, None]
        across = np.column_stack([-along[:, 1], along[:, 0]])
        along_rest = np.sum(along * rest, axis=1)
        across_rest = np.sum(across * rest, axis=1)
        noise = max(mad_std(across_rest), floor)
        parallax = mad_std(along_rest / np.maximum(length, 1e-3))
        along_var = noise**2 + (parallax * length) ** 2
        across_weight = cauchy_weights(across_rest / noise) / noise**2
        # Whoever breaks the epipolar line tells nothing along it either.
        along_weight = cauchy_weights(along_rest / np.sqrt(along_var)) / along_var
        along_weight *= cauchy_weights(across_rest / noise)
        design_across = across[:, :1] * rotate_x + across[:, 1:] * rotate_y
        design_along = along[:, :1] * rotate_x + along[:, 1:] * rotate_y
        weighted_across = design_across * across_weight[:, None]
        weighted_along = design_along * along_weight[:, None]
        normal = weighted_across.T @ design_across + weighted_along.T @ design_along
        try:
            inverse = np.linalg.inv(normal)
        except np.linalg.LinAlgError:
            return None
        angles = inverse @ (
            weighted_across.T @ np.sum(across * flow, axis=1)
            + weighted_along.T @ np.sum(along * flow, axis=1)
        )
        influence = (weighted_across @ inverse) * design_across
        influence += (weighted_along @ inverse) * design_along
        result = (angles, inverse, influence, across_rest, noise)
    assert result is not None  # noqa: S101  # the loop runs three times
    heading.remember(scatter / max(float(np.trace(scatter)), 1e-30) if scatter.any() else scatter)
    angles, inverse, influence, across_rest, noise = result
    if not np.all(np.isfinite(angles)) or float(np.abs(angles).max()) > 1.0:
        return None
    total = influence.sum(axis=0)
    total[np.abs(total) < 1e-6] = 1.0
    return RotationFit(
        angles_rad=angles,
        std_rad=np.sqrt(np.diag(inverse)),
        influence=influence / total,
        n_inliers=int(np.count_nonzero(np.abs(across_rest) < 3.0 * noise)),
        noise=noise,
    )


def _rotation_only(flow: Floats, rotate_x: Floats, rotate_y: Floats, floor: float) -> Floats | None:
    design = np.concatenate([rotate_x, rotate_y])
    target = np.concatenate([flow[:, 0], flow[:, 1]])
    weight = np.ones(target.size)
    angles = np.zeros(3)
    for _ in range(6):
        weighted = design * weight[:, None]
        try:
            angles = np.linalg.solve(weighted.T @ design, weighted.T @ target)
        except np.linalg.LinAlgError:
            return None
        rest = target - design @ angles
        weight = cauchy_weights(rest / max(mad_std(rest), floor))
    return angles
