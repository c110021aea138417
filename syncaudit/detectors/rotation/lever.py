"""How a camera's direction of travel turns with its rate of rotation.

A camera ahead of the point about which its vehicle turns moves with every turn, by its lever arm
``l``: at speed v a rate w bends its direction of travel by ``w x l / v``. With a rolling shutter
the rate differs from row to row, so the direction of travel does as well, and near points take
that for rotation: 0.16 ms a metre at 40 us a row in simulation, always to the same side where
cameras look outward. The lever arm is in no manifest, but the directions of travel show it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from syncaudit.detectors.rotation.heading import bounded

__all__ = ["travel_turns"]

Floats = NDArray[np.float64]

# Pitch and heave move the direction of travel by so much (one sigma) out of step with the rate.
WANDER_RAD = 0.01
# Prior of what a rate turns (one sigma): three metres ahead at 6 m/s.
TURN_STD_S = 0.5


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
    weight = bounded(information, WANDER_RAD)
    # A mean direction, and what each axis of the rate adds to it.
    basis = np.concatenate([np.ones((len(rate), 1)), rate], axis=1)
    normal = np.einsum("na,nb,nij->aibj", basis, basis, weight, optimize=True).reshape(12, 12)
    right = np.einsum("na,nij,nj->ai", basis, weight, sign[:, None] * direction, optimize=True)
    prior = np.repeat([1.0, TURN_STD_S**-2], [3, 9])
    turn = np.linalg.solve(normal + np.diag(prior), right.ravel()).reshape(4, 3)[1:].T
    return np.asarray(sign[:, None, None] * turn)
