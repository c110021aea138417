"""Joints with repeating or free motion and how a camera sees them, independent of our simulator.

It uses NumPy alone, so that code shared by simulator and estimator cannot hide a mistake.
"""

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.ndimage import gaussian_filter1d

from syncaudit.model import ImageMotion, Quantity
from testkit.streams import activity

STEP_S = 1e-3
N_CELLS = 24


def cycles(rng, times_s, period_s, vary):
    """Return the number of completed cycles; periods vary by the relative spread `vary`."""
    n = int(1.6 * np.ptp(times_s) / period_s) + 6
    lasts_s = period_s * np.clip(1.0 + vary * rng.normal(size=n), 0.5, 1.5)
    begins_s = np.concatenate([[0.0], np.cumsum(lasts_s)]) + times_s[0] - period_s * rng.random()
    return np.interp(times_s, begins_s, np.arange(n + 1))


def course(rng, seconds, kind, period_s, vary):
    """Return a fine time axis and joint angles in radians, shape (n, j)."""
    times_s = np.arange(-4.0, seconds + 4.0, STEP_S)
    n_joints = int(rng.integers(2, 8))
    size = rng.uniform(0.1, 0.8, n_joints)
    if kind == "free":
        noise = [
            gaussian_filter1d(rng.normal(size=times_s.size), rng.uniform(0.15, 0.5) / STEP_S)
            for _ in size
        ]
        return times_s, size * np.stack([column / column.std() for column in noise], axis=1)
    done = cycles(rng, times_s, period_s, vary)[:, None] + rng.random(n_joints)
    if kind == "sine":
        return times_s, size * np.sin(2.0 * np.pi * done)
    if kind == "triangle":
        return times_s, gaussian_filter1d(
            size * (2.0 * np.abs(2.0 * (done % 1.0) - 1.0) - 1.0), 0.02 / STEP_S, axis=0
        )
    share = (done[:, :1] - done[0, 1]) % 1.0  # pick and place: the same moves between places
    places = rng.normal(0.0, 0.5, (4, n_joints))
    joints = np.tile(places[-1], (times_s.size, 1))
    for k, (begin, lasts) in enumerate(((0.0, 0.2), (0.22, 0.12), (0.4, 0.3), (0.75, 0.2))):
        moved = np.clip((share - begin) / lasts, 0.0, 1.0)
        moved = moved**3 * (10.0 - 15.0 * moved + 6.0 * moved**2)
        joints += (places[k] - places[k - 1]) * moved
    return times_s, gaussian_filter1d(joints, 0.02 / STEP_S, axis=0)


def watched(
    seed,
    kind,
    *,
    seconds=12.0,
    period_s=0.9,
    vary=0.0,
    fps=30.0,
    rate_hz=50.0,
    noise=0.1,
    late_s=0.0,
    is_energy=False,
    tremor_rad=0.0,
):
    """Return the motion that a camera sees of the joints, and the joints.

    Every cell moves by a nonlinear function of the pose, or with `is_energy` by the magnitudes of
    the joint rates, which repeat twice as often. `noise` is white plus half as much slow noise.
    """
    rng = np.random.default_rng([seed, 99])
    fine_s, joints = course(rng, seconds, kind, period_s, vary)
    if tremor_rad:
        shaky = gaussian_filter1d(rng.normal(size=joints.shape), 0.06 / STEP_S, axis=0)
        joints = joints + tremor_rad * shaky / shaky.std()
    pose = CubicSpline(fine_s[::10], joints[::10])
    read_s = np.arange(round(seconds * rate_hz)) / rate_hz
    frames_s = np.arange(round(seconds * fps)) / fps
    seen = pose(frames_s - late_s)
    if is_energy:
        moves = np.abs(np.diff(seen, axis=0)) @ rng.gamma(0.7, 1.0, (seen.shape[1], N_CELLS))
    else:
        turns = rng.normal(0.0, 0.8, (seen.shape[1], N_CELLS))
        moves = np.diff(np.sin(seen @ turns + rng.uniform(0.0, 2.0 * np.pi, N_CELLS)), axis=0)
    slow = gaussian_filter1d(rng.normal(size=moves.shape), 4.0, axis=0)
    added = rng.normal(size=moves.shape) + 0.5 * slow / slow.std()
    camera = ImageMotion(
        source="cam",
        epoch_ns=0,
        start_s=frames_s[:-1],
        stop_s=frames_s[1:],
        moves=moves + noise * moves.std() * added,
    )
    state = activity(
        "state",
        Quantity.STATE,
        read_s,
        pose(read_s) + rng.normal(0.0, 3e-4, (read_s.size, joints.shape[1])),
    )
    return camera, state
