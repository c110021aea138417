"""Track a camera's direction of travel in its own axes, and how it changes with rotation.

A camera ahead of the point about which its vehicle rotates moves with every rotation, by its lever
arm ``l``: at speed v, a rate w changes its direction of travel by ``w x l / v``. With a rolling
shutter the rate differs from row to row, so the direction of travel does as well, and near points
mistake that for rotation: an offset of 0.16 ms per metre at 40 us per row in simulation, always to
the same side for outward-looking cameras. The lever arm is in no manifest, but the directions of
travel reveal it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from syncaudit.model.arrays import Floats

# Share of the direction of travel that is remembered from frame to frame.
MEMORY = 0.9
# Change of the direction of travel from frame to frame (one sigma).
TURN_STD_RAD = 0.05
# Change of the direction of travel by pitch and heave (one sigma), independent of the rate.
WANDER_RAD = 0.01
# Prior for the effect of the rate (one sigma): three metres ahead at 6 m/s.
TURN_STD_S = 0.5


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
