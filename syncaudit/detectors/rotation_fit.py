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

from syncaudit.detectors.rotation_step import Step, Views
from syncaudit.dsp.robust import cauchy_weights, mad_std

__all__ = ["Heading", "RotationFits", "fit_rotations"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

MIN_POINTS = 12
# Tracking noise never falls below this (pixels of the tracked picture).
MIN_NOISE_PX = 0.02
# Four to five steps serve cameras that look along the way; those that look sideways, where turning
# and travelling look alike, take ten.
MAX_ITERATIONS = 20
# Steps below this share of the standard error change nothing.
CONVERGED_STD = 0.3
# Larger turns between neighbouring frames are false.
MAX_ANGLE_RAD = 1.0
# Directions of travel to start from: along each axis and between right and forward.
FIRST_DIRECTIONS = np.array(
    [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.7, 0.0, 0.714], [-0.7, 0.0, 0.714]]
)
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

    def priors(self, informations: Floats) -> Floats:
        """Return the information that the memory lends to each pair of a stack.

        Parameters
        ----------
        informations : ndarray, shape (m, 3, 3)
            What each pair tells of the direction by itself, in order of time.

        Returns
        -------
        ndarray, shape (m, 3, 3)
            What all pairs before it tell, bounded.
        """
        priors = np.empty_like(informations)
        memory = self.information
        for k, information in enumerate(informations):
            priors[k] = memory
            memory = MEMORY * memory + information
        values, vectors = np.linalg.eigh(priors)
        bounded = values * MAX_HEADING_INFORMATION / (values + MAX_HEADING_INFORMATION)
        return np.asarray((vectors * bounded[:, None, :]) @ vectors.transpose(0, 2, 1))

    def remember(self, informations: Floats, direction: Floats) -> None:
        """Add what the pairs of a stack told, and the direction that the last one found."""
        for information in informations:
            self.information = MEMORY * self.information + information
        self.direction = direction


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RotationFits:
    """Result of `fit_rotations` for m pairs of frames.

    Parameters
    ----------
    is_found : ndarray of bool, shape (m,)
        Whether a rotation was found; elsewhere the figures mean nothing.
    angles_rad, std_rad : ndarray, shape (m, 3)
        Rotation vector about x (right), y (down), z (forward), and one-sigma errors.
    influence : ndarray, shape (m, n, 3, 3)
        Share of each point in the result: the rotation that the fit reports is the sum over
        points of ``influence[k] @ (rotation at the time of point k)``; the shares add up to one.
    noise : ndarray, shape (m,)
        Robust residual across the parallax direction (focal lengths).
    """

    is_found: Bools
    angles_rad: Floats
    std_rad: Floats
    influence: Floats
    noise: Floats


def fit_rotations(
    before: Floats, after: Floats, is_point: Bools, *, heading: Heading, focal_px: float
) -> RotationFits:
    """Fit the rotation that moved `before` to `after`, for consecutive pairs of frames.

    Parameters
    ----------
    before, after : ndarray, shape (m, n, 2)
        Positions in focal lengths from the principal point.
    is_point : ndarray of bool, shape (m, n)
        False where a pair has fewer points than n.
    heading : Heading
        Memory of the direction of travel; updated.
    focal_px : float
        Focal length in pixels of the tracked picture (sets the floor of the noise).

    Returns
    -------
    RotationFits
        Nothing is found with fewer than 12 points or a degenerate layout.
    """
    rays = _Rays(_rays(before), _rays(after), is_point)
    floor = MIN_NOISE_PX / focal_px
    is_enough = is_point.sum(axis=1) >= MIN_POINTS
    if heading.direction is None and is_enough.any():
        heading.direction = _start(rays.pick(np.flatnonzero(is_enough)[:1]), floor)
    if heading.direction is None:
        return _nothing(is_point.shape)
    used = np.flatnonzero(is_enough)
    start = np.broadcast_to(heading.direction, (used.size, 3))
    angles, step = _converge(rays.pick(used), np.zeros((used.size, 3)), start, heading, floor)
    is_good = step.is_solved & np.all(np.abs(angles) <= MAX_ANGLE_RAD, axis=1)
    if is_good.any():
        last = np.flatnonzero(is_good)[-1]
        heading.remember(step.direction_information[is_good], step.direction[last])
    fits = _nothing(is_point.shape)
    fits.is_found[used] = is_good
    fits.angles_rad[used] = angles
    fits.std_rad[used] = np.sqrt(np.abs(step.variance))
    fits.influence[used] = step.influence
    fits.noise[used] = step.noise
    return fits


def _nothing(shape: tuple[int, ...]) -> RotationFits:
    m, n = shape
    return RotationFits(
        is_found=np.zeros(m, dtype=np.bool_),
        angles_rad=np.zeros((m, 3)),
        std_rad=np.ones((m, 3)),
        influence=np.zeros((m, n, 3, 3)),
        noise=np.zeros(m),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Rays:
    """Rays of the tracked points in both frames, shape (m, 3, n), and which of them are any."""

    before: Floats
    after: Floats
    is_point: Bools

    def pick(self, index: NDArray[np.intp]) -> _Rays:
        return _Rays(self.before[index], self.after[index], self.is_point[index])

    def turned_by(self, angles: Floats) -> Views:
        return Views.between(self.before, self.after, self.is_point, angles)


def _start(rays: _Rays, floor: float) -> Floats | None:
    """Find the direction of travel without a memory: the start that leaves least across it.

    A side camera's travel looks like a turn: a start from rotation alone would stay there.
    """
    first = _rotation_only(rays, floor)
    directions = np.concatenate([FIRST_DIRECTIONS, rays.turned_by(first).first_directions(floor)])
    n_starts = directions.shape[0]
    angles = np.concatenate([np.zeros((n_starts - 1, 3)), first])
    copies = rays.pick(np.zeros(n_starts, dtype=np.intp))
    _, step = _converge(copies, angles, directions, None, floor)
    if not step.is_solved.any():
        return None
    best = int(np.argmin(np.where(step.is_solved, step.noise, np.inf)))
    return np.asarray(step.direction[best])


def _converge(
    rays: _Rays, angles: Floats, direction: Floats, heading: Heading | None, floor: float
) -> tuple[Floats, Step]:
    """Iterate from a start; return the rotations and the last step of all pairs.

    What a pair lends to those after it settles along with its own rotation.
    """
    told = np.zeros((angles.shape[0], 3, 3))
    for iteration in range(MAX_ITERATIONS):
        priors = np.zeros_like(told) if heading is None else heading.priors(told)
        step = rays.turned_by(angles).solve(direction, priors, floor)
        angles = angles + np.where(step.is_solved[:, None], step.change_rad, 0.0)
        direction = np.where(step.is_solved[:, None], step.direction, direction)
        told = step.direction_information
        if iteration > 1:
            change = step.change_rad**2 / np.maximum(step.variance, 1e-300)
            if np.all((change.max(axis=1) < CONVERGED_STD**2) | ~step.is_solved):
                break
    return angles, step


def _rays(points: Floats) -> Floats:
    """Return positions of shape (m, n, 2) as rays of shape (m, 3, n)."""
    return np.stack([points[..., 0], points[..., 1], np.ones(points.shape[:2])], axis=1)


def _rotation_only(rays: _Rays, floor: float) -> Floats:
    """Return the rotation that explains most of the flow of one pair, shape (1, 3)."""
    is_point = rays.is_point[0]
    p, q = rays.before[0, :2, is_point], rays.after[0, :2, is_point]
    x, y = (0.5 * (p + q)).T
    design = np.concatenate(
        [
            np.column_stack([x * y, -(1.0 + x * x), y]),
            np.column_stack([1.0 + y * y, -x * y, -x]),
        ]
    )
    target = (q - p).T.ravel()
    weight = np.ones(target.size)
    angles = np.zeros(3)
    for _ in range(5):
        root = np.sqrt(weight)
        angles = np.linalg.lstsq(design * root[:, None], target * root, rcond=None)[0]
        rest = target - design @ angles
        weight = cauchy_weights(rest / max(mad_std(rest), floor))
    return np.asarray(angles[None, :])
