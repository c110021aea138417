"""Compute angular rates of a body with known attitude."""

from __future__ import annotations

import numpy as np

from syncaudit.model.arrays import Floats


def rates_of_attitudes(times_s: Floats, quaternions: Floats) -> tuple[Floats, Floats]:
    """Return the mean rates between attitudes, about the axes of the body.

    Parameters
    ----------
    times_s : ndarray, shape (n,)
        Increasing.
    quaternions : ndarray, shape (n, 4)
        x, y, z, w, from the body to a frame at rest.

    Returns
    -------
    times_s : ndarray, shape (n - 1,)
        Midpoint of each step.
    rates : ndarray, shape (n - 1, 3)
        rad/s: the rotation vector from one attitude to the next, over the step.
    """
    from scipy.spatial.transform import Rotation  # slow to load; few data sets hold attitudes

    attitudes = Rotation.from_quat(quaternions)
    turns = (attitudes[:-1].inv() * attitudes[1:]).as_rotvec()
    rates: Floats = turns / np.diff(times_s)[:, None]
    return 0.5 * (times_s[:-1] + times_s[1:]), rates
