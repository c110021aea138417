"""Build the driver of a robot's state: a curve that its observers can be matched to.

A camera sees the joints through a Jacobian that changes with the pose. To first order each entry
is a constant plus a linear function of the pose, so the motion of an image is linear in the joint
rates and in the products of joint rates and the few principal coordinates of the pose. The running
integrals of all of these are the channels of the driver.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from syncaudit.dsp.integral import GAP_PERIODS, RunningIntegral, interpolate_angle, smooth_angle
from syncaudit.estimators.delay.increments import Increments
from syncaudit.model import Activity, ImageMotion
from syncaudit.model.arrays import Bools, Floats

# Pose coordinates that a Jacobian may depend on, channels in all, and rows needed for each.
MAX_POSE = 3
MAX_CHANNELS = 42
ROWS_PER_CHANNEL = 6
# Points of the curve in one smoothing width.
GRID_PER_WIDTH = 8
# A channel whose changes are this much smaller than its largest reading is stationary.
STILL = 1e-9
# Smoothing of both sides, in periods of the slower one, and its minimum.
SMOOTHING_PERIODS = 2.0
MIN_SMOOTHING_S = 0.066


def moving_channels(values: Floats) -> Bools:
    """Return which channels of readings, shape (n, d), are not stationary, shape (d,)."""
    largest = np.abs(values).max(axis=0) + 1e-30
    return np.asarray(_step_size(values) > STILL * largest)


def _step_size(values: Floats) -> Floats:
    return np.asarray(np.sqrt(np.mean(np.diff(values, axis=0) ** 2, axis=0)))


def state_driver(
    state: Activity, *, slower_s: float, n_rows: int, is_linear: bool
) -> RunningIntegral | None:
    """Return the driver of a state, smoothed; None where it is too short or stationary.

    Encoders have steps, and a curve through the samples would have their full noise at each sample
    but half of it in between: see `smooth_angle`.

    Parameters
    ----------
    state : Activity
        Of quantity ``state`` or ``command``, d channels.
    slower_s : float
        Period of the slower side; two of them are the width of the smoothing.
    n_rows : int
        Number of increments to be matched: fewer support fewer channels.
    is_linear : bool
        Whether the mixing does not depend on the pose (state against state).

    Returns
    -------
    RunningIntegral or None
        The first d' channels are the joints, each in units of its own typical change.
    """
    times_s, width_s = state.times_s, _width_s(slower_s)
    if times_s[-1] - times_s[0] < 6.0 * width_s:
        return None
    moving = moving_channels(state.values)
    if not moving.any():
        return None
    joints = state.values[:, moving] - state.values[0, moving]
    joints = joints / _step_size(joints)
    gap = np.diff(times_s) > GAP_PERIODS * float(np.median(np.diff(times_s)))
    smooth = smooth_angle(
        times_s, joints, width_s=width_s, gaps_s=(times_s[:-1][gap], times_s[1:][gap])
    )
    n_joints = joints.shape[1]
    most = min(MAX_CHANNELS, n_rows // ROWS_PER_CHANNEL)
    n_pose = 0 if is_linear else min(MAX_POSE, most // n_joints - 1)
    if n_pose <= 0:
        return smooth
    grid_s = np.linspace(
        smooth.start_s,
        smooth.stop_s,
        max(16, round(GRID_PER_WIDTH * (smooth.stop_s - smooth.start_s) / width_s)),
    )
    places, rates = smooth.with_rate_at(grid_s)
    pose = places - places.mean(axis=0)
    pose /= np.sqrt(np.mean(pose**2, axis=0)) + 1e-12
    left, _, _ = np.linalg.svd(pose, full_matrices=False)
    coordinates = left[:, :n_pose] * np.sqrt(grid_s.size)
    products = [rates * coordinates[:, [k]] for k in range(coordinates.shape[1])]
    step_s = grid_s[1] - grid_s[0]
    bent = np.concatenate(products, axis=1)
    summed = np.zeros_like(bent)
    summed[1:] = np.cumsum(0.5 * step_s * (bent[1:] + bent[:-1]), axis=0)
    curve = interpolate_angle(grid_s, np.concatenate([places, summed], axis=1))
    return replace(
        curve,
        gap_start_s=smooth.gap_start_s,
        gap_stop_s=smooth.gap_stop_s,
        period_s=smooth.period_s,
    )


def camera_increments(camera: ImageMotion) -> Increments:
    """Return the motion seen by a camera, each increment averaged with its neighbours."""
    moves = camera.moves
    padded = np.concatenate([moves[:1], moves, moves[-1:]])
    return Increments(
        start_s=camera.start_s,
        stop_s=camera.stop_s,
        # Symmetric, so it shifts nothing.
        values=np.asarray(0.25 * padded[:-2] + 0.5 * moves + 0.25 * padded[2:]),
        weights=np.ones_like(moves),
        # Video coding suppresses slow motion: weights that decrease with the motion would trust
        # that most.
        is_noise_even=True,
    )


def state_increments(state: Activity) -> Increments | None:
    """Return a robot's motion between even instants; None if too short or stationary."""
    width_s = _width_s(period_of(state))
    curve = state_driver(state, slower_s=period_of(state), n_rows=0, is_linear=True)
    if curve is None:
        return None
    n = max(0, math.floor((curve.stop_s - curve.start_s) / width_s))
    begin = curve.start_s + width_s * np.arange(n, dtype=np.float64)
    end = np.minimum(begin + width_s, curve.stop_s)
    values = curve.at(end) - curve.at(begin)
    increments = Increments(start_s=begin, stop_s=end, values=values, weights=np.ones_like(values))
    return increments.rows(curve.covers(begin, end))


def period_of(side: Activity | ImageMotion) -> float:
    """Return the typical period of a side in seconds."""
    if isinstance(side, ImageMotion):
        return float(np.median(side.stop_s - side.start_s))
    times: Floats = side.times_s
    return float(np.median(np.diff(times)))


def _width_s(period_s: float) -> float:
    return max(MIN_SMOOTHING_S, SMOOTHING_PERIODS * period_s)
