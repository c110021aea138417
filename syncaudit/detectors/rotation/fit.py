"""Fit the rotation of a camera between two frames from tracked points, robust to translation.

A static point at image position (x, y) (focal lengths) and depth Z moves by

    u = A(x, y) phi + B(x, y) t / Z

with the rotation matrix A and translation matrix B of Longuet-Higgins & Prazdny ("The
interpretation of a moving retinal image", Proc. R. Soc. B 208, 1980, doi:10.1098/rspb.1980.0057).
Depths are unknown. Across the direction B t, the flow depends on rotation alone (Bruss & Horn,
"Passive navigation", CVGIP 21, 1983, doi:10.1016/S0734-189X(83)80026-7); along it, it depends on
rotation plus a parallax of unknown size, which is treated as noise whose scale is estimated from
the points themselves (a random effect with a common mean). So distant points keep their full weight
when the camera hardly translates, and lose only what parallax spoils when it does.

The direction of travel is tracked in the camera's axes, as it changes with rotation. A camera ahead
of the point about which its vehicle rotates moves with every rotation, by its lever arm ``l``: at
speed v, a rate w changes its direction of travel by ``w x l / v``. With a rolling shutter the rate
differs from row to row, so the direction of travel does as well, and near points mistake that for
rotation: an offset of 0.16 ms per metre at 40 us per row in simulation, always to the same side for
outward-looking cameras. The lever arm is in no manifest, but the directions of travel reveal it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from syncaudit.detectors.rotation.step import Gains, Step, Views
from syncaudit.dsp.robust import cauchy_weights, mad_std_of_rows
from syncaudit.model.arrays import Bools, Floats

# Fewer points do not determine a rotation reliably: such pairs of frames are not tracked.
MIN_POINTS = 12
# Tracking noise never falls below this (pixels of the tracked image).
MIN_NOISE_PX = 0.02
# Four to five steps suffice for cameras that look along the direction of travel. For those that
# look sideways, where rotation and translation look the same, up to ten steps would still change
# the result by fractions of the standard error.
MAX_ITERATIONS = 6
# Steps below this share of the standard error are negligible.
CONVERGED_STD = 0.3
# Larger rotations between neighbouring frames are wrong.
MAX_ANGLE_RAD = 1.0
# Initial directions of travel: along each axis and between right and forward.
FIRST_DIRECTIONS = np.array(
    [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.7, 0.0, 0.714], [-0.7, 0.0, 0.714]]
)
# Pairs used to find a first direction, and the growth of the mean log residual above which the
# remembered direction is considered wrong.
START_PAIRS = 5
START_ITERATIONS = 4
LOST_COST = 0.7

# Share of the direction of travel that is remembered from frame to frame.
MEMORY = 0.9
# Change of the direction of travel from frame to frame (one sigma).
TURN_STD_RAD = 0.05
# Change of the direction of travel by pitch and heave (one sigma), independent of the rate.
WANDER_RAD = 0.01
# Prior for the effect of the rate (one sigma): three metres ahead at 6 m/s.
TURN_STD_S = 0.5


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RotationFits:
    """Result of `fit_rotations` for the k pairs of frames whose rotation was found."""

    pairs: NDArray[np.intp]  # shape (k,): their indices in the stack
    # shape (k, 3): rotation vector about x (right), y (down), z (forward), and one-sigma errors
    angles_rad: Floats
    std_rad: Floats
    direction: Floats  # shape (k, 3): unit vector of travel
    # shape (k, 3, 3): information on it, excluding information from other pairs
    direction_information: Floats
    gains: Gains  # contribution of each point to the result


def fit_rotations(
    before: Floats,
    after: Floats,
    is_point: Bools,
    *,
    heading: Heading,
    focal_px: float,
    scale: Floats | None = None,
) -> RotationFits | None:
    """Fit the rotation that moved `before` to `after`, for consecutive pairs of frames.

    Parameters
    ----------
    before, after : ndarray, shape (m, n, 2)
        Positions in focal lengths from the principal point.
    is_point : ndarray of bool, shape (m, n)
        False where a pair has fewer points than n.
    heading : Heading
        Memory of the direction of travel; updated in place.
    focal_px : float
        Focal length in pixels of the tracked image (sets the floor of the noise).
    scale : ndarray, shape (m, n), optional
        As for `Views`.

    Returns
    -------
    RotationFits or None
        None if nothing is found: fewer than 12 points or a degenerate layout.
    """
    used = np.flatnonzero(is_point.sum(axis=1) >= MIN_POINTS)
    if used.size == 0:
        return None
    rays = Rays.of(before, after, is_point, scale).pick(used)
    floor = MIN_NOISE_PX / focal_px
    found = None if heading.direction is None else fit_from(rays, heading.direction, heading, floor)
    if found is None or found.cost > heading.cost + LOST_COST:
        lost = Heading()
        again = fit_from(rays, first_direction(rays, floor), lost, floor)
        if found is None or again.cost < found.cost:
            found, heading.information = again, lost.information
    good = np.flatnonzero(found.is_good)
    gained = found.step.direction_information[good]
    heading.remember(gained, found.cost)
    return RotationFits(
        pairs=used[good],
        angles_rad=found.angles[good],
        std_rad=np.sqrt(np.abs(found.step.variance[good])),
        direction=found.step.direction[good],
        direction_information=gained,
        gains=found.step.gains.pick(good),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Rays:
    """Rays of the tracked points in both frames, shape (m, 3, n), and which of them are valid."""

    before: Floats
    after: Floats
    is_point: Bools
    scale: Floats | None

    @classmethod
    def of(cls, before: Floats, after: Floats, is_point: Bools, scale: Floats | None) -> Rays:
        """Return the rays through positions of shape (m, n, 2), in focal lengths."""
        return cls(_rays(before), _rays(after), is_point, scale)

    def pick(self, index: NDArray[np.intp]) -> Rays:
        """Return the rays of the selected pairs."""
        scale = None if self.scale is None else self.scale[index]
        return Rays(self.before[index], self.after[index], self.is_point[index], scale)

    def turned_by(self, angles: Floats) -> Views:
        """Return both frames as seen from exactly halfway through the given rotations, (m, 3)."""
        half = Rotation.from_rotvec(0.5 * angles).as_matrix()
        p, q = half.transpose(0, 2, 1) @ self.before, half @ self.after
        px, py = p[:, 0] / p[:, 2], p[:, 1] / p[:, 2]
        qx, qy = q[:, 0] / q[:, 2], q[:, 1] / q[:, 2]
        x, y = 0.5 * (px + qx), 0.5 * (py + qy)
        return Views(x, y, qx - px, qy - py, self.is_point, self.scale)


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """Fit of all pairs from one start."""

    angles: Floats
    step: Step

    @property
    def is_good(self) -> Bools:
        """Which pairs were solved with a plausible rotation."""
        return np.asarray(
            self.step.is_solved & np.all(np.abs(self.angles) <= MAX_ANGLE_RAD, axis=1)
        )

    @property
    def cost(self) -> float:
        """Mean log residual across the direction of travel."""
        return float(np.mean(np.where(self.is_good, np.log(self.step.noise), 0.0)))


def first_direction(rays: Rays, floor: float) -> Floats:
    """Find the direction of travel without a memory: the start with the least flow across it.

    The travel of a side camera looks like a rotation: from rotation alone, or from a single pair, a
    start would often get stuck there. So each start is tried on several pairs, which share memory.
    """
    m = rays.is_point.shape[0]
    chosen = np.unique(np.linspace(0, m - 1, min(m, START_PAIRS)).astype(np.intp))
    some = rays.pick(chosen)
    turned = _rotations_only(some, floor)
    fixed = np.repeat(FIRST_DIRECTIONS, chosen.size, axis=0)
    n_starts = len(FIRST_DIRECTIONS) + 1
    fit = converge(
        rays.pick(np.tile(chosen, n_starts)),
        np.concatenate([np.zeros((len(fixed), 3)), turned]),
        np.concatenate([fixed, some.turned_by(turned).first_directions(floor)]),
        Heading(),
        floor,
        n_stacks=n_starts,
        max_iterations=START_ITERATIONS,
    )
    cost = np.where(fit.is_good, np.log(fit.step.noise), 0.0).reshape(n_starts, -1).sum(axis=1)
    best = int(np.argmin(cost)) * chosen.size + np.arange(chosen.size)
    heading = Heading()
    heading.remember(fit.step.direction_information[best][fit.is_good[best]], 0.0)
    return FIRST_DIRECTIONS[0] if heading.direction is None else heading.direction


def fit_from(rays: Rays, direction: Floats, heading: Heading, floor: float) -> Fit:
    """Fit all pairs from one direction of travel."""
    m = rays.is_point.shape[0]
    return converge(rays, np.zeros((m, 3)), np.tile(direction, (m, 1)), heading, floor)


def converge(
    rays: Rays,
    angles: Floats,
    direction: Floats,
    heading: Heading,
    floor: float,
    *,
    n_stacks: int = 1,
    max_iterations: int = MAX_ITERATIONS,
) -> Fit:
    """Iterate from a start, for one or several stacks of pairs in order of time.

    The information that a pair passes on to later pairs converges along with its own rotation.
    """
    gained = np.zeros((n_stacks, angles.shape[0] // n_stacks, 3, 3))
    for iteration in range(max_iterations):
        priors = heading.priors(gained).reshape(-1, 3, 3)
        step = rays.turned_by(angles).solve(direction, priors, floor)
        angles = angles + np.where(step.is_solved[:, None], step.change_rad, 0.0)
        direction = np.where(step.is_solved[:, None], step.direction, direction)
        gained = np.where(step.is_solved[:, None, None], step.direction_information, 0.0)
        gained = gained.reshape(n_stacks, -1, 3, 3)
        if iteration > 1:
            change = step.change_rad**2 / np.maximum(step.variance, 1e-300)
            if np.all((change.max(axis=1) < CONVERGED_STD**2) | ~step.is_solved):
                break
    return Fit(angles, step)


def _rays(points: Floats) -> Floats:
    """Return positions of shape (m, n, 2) as rays of shape (m, 3, n)."""
    return np.stack([points[..., 0], points[..., 1], np.ones(points.shape[:2])], axis=1)


def _rotations_only(rays: Rays, floor: float) -> Floats:
    """Return the rotations that explain most of the flow, shape (m, 3)."""
    p, q = rays.before[:, :2], rays.after[:, :2]
    x, y = 0.5 * (p + q).transpose(1, 0, 2)
    one = np.ones_like(x)
    u = np.stack([x * y, -(one + x * x), y], axis=-1)
    v = np.stack([one + y * y, -x * y, -x], axis=-1)
    design = np.concatenate([u, v], axis=1)
    target = (q - p).reshape(p.shape[0], -1)
    is_value = np.tile(rays.is_point, (1, 2))
    weight = is_value.astype(np.float64)
    angles = np.zeros((p.shape[0], 3))
    for _ in range(5):
        weighted = design.transpose(0, 2, 1) * weight[:, None, :]
        normal = weighted @ design
        normal += 1e-12 * np.trace(normal, axis1=1, axis2=2)[:, None, None] * np.eye(3)
        angles = np.linalg.solve(normal, weighted @ target[..., None])[..., 0]
        rest = target - (design @ angles[..., None])[..., 0]
        scale = np.maximum(mad_std_of_rows(rest, is_value), floor)[:, None]
        weight = np.where(is_value, cauchy_weights(rest / scale), 0.0)
    return np.asarray(angles)


@dataclass(slots=True)
class Heading:
    """Leaky memory of the direction of travel in the camera's axes.

    A camera mounted on a vehicle sees a nearly constant direction, but bumps and rotations move it
    by a few hundredths of a radian in step with the rotation: a memory held too tightly would bias
    the rotation. So the memory of about ten frames is a prior of bounded strength.
    """

    information: Floats = field(default_factory=lambda: np.zeros((3, 3)))
    cost: float = 0.0

    @property
    def direction(self) -> Floats | None:
        """Return the remembered direction of travel; None while the memory is empty."""
        if not self.information.any():
            return None
        _, vectors = np.linalg.eigh(self.information)
        return np.asarray(vectors[:, 0])

    def priors(self, informations: Floats) -> Floats:
        """Return the prior information that the memory gives each pair of a stack.

        Parameters
        ----------
        informations : ndarray, shape (s, m, 3, 3)
            Information on the direction from each pair alone, in order of time, of s stacks.

        Returns
        -------
        ndarray, shape (s, m, 3, 3)
            Information from the memory and all earlier pairs of the stack; bounded.
        """
        s, m = informations.shape[:2]
        remembered, decay = _leak(m)
        priors = (remembered @ informations.reshape(s, m, 9)).reshape(s, m, 3, 3)
        return _bounded(priors + decay[:, None, None] * self.information, TURN_STD_RAD)

    def remember(self, informations: Floats, cost: float) -> None:
        """Add a stack's information on the direction, shape (m, 3, 3), and its fit residual."""
        m = len(informations)
        remembered, decay = _leak(m + 1)
        added = (remembered[m, :m] @ informations.reshape(m, 9)).reshape(3, 3)
        self.information = decay[m] * self.information + added
        self.cost = cost


def _bounded(information: Floats, std_rad: float) -> Floats:
    """Bound information, shape (..., 3, 3), on a quantity that itself wanders by `std_rad`."""
    values, vectors = np.linalg.eigh(information)
    values = np.maximum(values, 0.0)
    worth = values / (1.0 + values * std_rad**2)
    return np.asarray((vectors * worth[..., None, :]) @ np.swapaxes(vectors, -1, -2))


@lru_cache(maxsize=8)
def _leak(m: int) -> tuple[Floats, Floats]:
    """Return how much each of m pairs remembers of earlier pairs, and of the time before them."""
    age = np.arange(m)[:, None] - np.arange(m) - 1
    remembered: Floats = np.where(age >= 0, MEMORY ** np.maximum(age, 0), 0.0)
    decay = np.power(MEMORY, np.arange(m, dtype=np.float64))
    return remembered, decay


def travel_turns(rate: Floats, direction: Floats, information: Floats) -> Floats:
    """Return how the direction of travel changes with the rate of rotation.

    Parameters
    ----------
    rate : ndarray, shape (n, 3)
        Mean angular rate of each increment, rad/s, camera axes.
    direction : ndarray, shape (n, 3)
        Unit vectors of travel of the same increments, with arbitrary sign.
    information : ndarray, shape (n, 3, 3)
        Information on the directions, from each increment alone.

    Returns
    -------
    ndarray, shape (n, 3, 3)
        Radians per rad/s, for each direction with its sign; zero where nothing is known.
    """
    _, axes = np.linalg.eigh(direction.T @ direction)
    sign = np.where(direction @ axes[:, -1] < 0.0, -1.0, 1.0)
    weight = _bounded(information, WANDER_RAD)
    # A mean direction, and the change per axis of the rate.
    basis = np.concatenate([np.ones((len(rate), 1)), rate], axis=1)
    normal = np.einsum("na,nb,nij->aibj", basis, basis, weight, optimize=True).reshape(12, 12)
    right = np.einsum("na,nij,nj->ai", basis, weight, sign[:, None] * direction, optimize=True)
    prior = np.repeat([1.0, TURN_STD_S**-2], [3, 9])
    turn = np.linalg.solve(normal + np.diag(prior), right.ravel()).reshape(4, 3)[1:].T
    return np.asarray(sign[:, None, None] * turn)
