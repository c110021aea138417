"""Where a camera travels to, in its own axes: remembered, and how it turns with the camera.

A camera ahead of the point about which its vehicle turns moves with every turn, by its lever arm
``l``: at speed v a rate w bends its direction of travel by ``w x l / v``. With a rolling shutter
the rate differs from row to row, so the direction of travel does as well, and near points take
that for rotation: 0.16 ms a metre at 40 us a row in simulation, always to the same side where
cameras look outward. The lever arm is in no manifest, but the directions of travel show it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from syncaudit.model.arrays import Floats

__all__ = ["Heading", "travel_turns"]

# Share of the direction of travel that is remembered from frame to frame.
MEMORY = 0.9
# The direction of travel changes by so much from frame to frame (one sigma).
TURN_STD_RAD = 0.05
# Pitch and heave move the direction of travel by so much (one sigma) out of step with the rate.
WANDER_RAD = 0.01
# Prior of what a rate turns (one sigma): three metres ahead at 6 m/s.
TURN_STD_S = 0.5


@dataclass(slots=True)
class Heading:
    """Leaky memory of the direction of travel in the camera's axes.

    A camera bolted to a vehicle sees a nearly constant direction, but bumps and turns move it by
    a few hundredths of a radian in step with the rotation: held too fast it would bend the
    rotation. So the memory of about ten frames is a prior of bounded strength.
    """

    information: Floats = field(default_factory=lambda: np.zeros((3, 3)))
    cost: float = 0.0

    @property
    def direction(self) -> Floats | None:
        """Return what the memory takes for the direction of travel; None while it is empty."""
        if not self.information.any():
            return None
        _, vectors = np.linalg.eigh(self.information)
        return np.asarray(vectors[:, 0])

    def priors(self, informations: Floats) -> Floats:
        """Return the information that the memory lends to each pair of a stack.

        Parameters
        ----------
        informations : ndarray, shape (s, m, 3, 3)
            What each pair tells of the direction by itself, in order of time, of s stacks.

        Returns
        -------
        ndarray, shape (s, m, 3, 3)
            What all pairs before it in its stack, and the memory, tell; bounded.
        """
        s, m = informations.shape[:2]
        remembered, decay = _leak(m)
        priors = (remembered @ informations.reshape(s, m, 9)).reshape(s, m, 3, 3)
        return _bounded(priors + decay[:, None, None] * self.information, TURN_STD_RAD)

    def remember(self, informations: Floats, cost: float) -> None:
        """Add what the pairs of a stack told, shape (m, 3, 3), and how well they were fitted."""
        m = len(informations)
        remembered, decay = _leak(m + 1)
        told = (remembered[m, :m] @ informations.reshape(m, 9)).reshape(3, 3)
        self.information = decay[m] * self.information + told
        self.cost = cost


def _bounded(information: Floats, std_rad: float) -> Floats:
    """Return what information, shape (..., 3, 3), is worth on what wanders by `std_rad` itself."""
    values, vectors = np.linalg.eigh(information)
    values = np.maximum(values, 0.0)
    worth = values / (1.0 + values * std_rad**2)
    return np.asarray((vectors * worth[..., None, :]) @ np.swapaxes(vectors, -1, -2))


@lru_cache(maxsize=8)
def _leak(m: int) -> tuple[Floats, Floats]:
    """Return what each of m pairs remembers of the others, and of what was before them."""
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
        Unit vectors of travel of the same increments; which way along them does not matter.
    information : ndarray, shape (n, 3, 3)
        On the directions, from each increment alone.

    Returns
    -------
    ndarray, shape (n, 3, 3)
        Radians per rad/s, for each direction as it is signed; zero where nothing is known.
    """
    _, axes = np.linalg.eigh(direction.T @ direction)
    sign = np.where(direction @ axes[:, -1] < 0.0, -1.0, 1.0)
    weight = _bounded(information, WANDER_RAD)
    # A mean direction, and what each axis of the rate adds to it.
    basis = np.concatenate([np.ones((len(rate), 1)), rate], axis=1)
    normal = np.einsum("na,nb,nij->aibj", basis, basis, weight, optimize=True).reshape(12, 12)
    right = np.einsum("na,nij,nj->ai", basis, weight, sign[:, None] * direction, optimize=True)
    prior = np.repeat([1.0, TURN_STD_S**-2], [3, 9])
    turn = np.linalg.solve(normal + np.diag(prior), right.ravel()).reshape(4, 3)[1:].T
    return np.asarray(sign[:, None, None] * turn)
