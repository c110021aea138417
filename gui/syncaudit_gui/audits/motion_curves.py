"""How well two motions agree over the offset: of bodies, vehicles, pictures and robots."""

from __future__ import annotations

import numpy as np

from syncaudit.dsp.integral import RunningIntegral, integrate_samples, interpolate_angle
from syncaudit.estimators.delay.increments import Increments, from_integral, from_rotation
from syncaudit.estimators.delay.search import search_delay
from syncaudit.estimators.state.search import search_state
from syncaudit.estimators.state.sides import (
    camera_increments,
    driver_of,
    period_of,
    state_increments,
)
from syncaudit.model import Activity, PairMeasurement, Quantity
from syncaudit.pipeline import ClipEvidence
from syncaudit_gui.audits.result import DelayEvidence, known_offset_s

__all__ = ["MOTIONS", "ROBOT_MOTIONS", "motion_curve", "robot_curve"]

REACH_S = 1.0
STEP_S = 0.005
# Lobes of a robot's motion are as wide as its moves are long.
ROBOT_STEP_S = 0.01
# Increments of at least this width: faster motion is noise to most sources.
WIDTH_S = 0.1
# Fewer rows agree with anything.
MIN_ROWS = 8

# What a method compares, where both sides are dense signals. None: the rotation of a camera.
MOTIONS: dict[str, tuple[Quantity | None, Quantity | None]] = {
    "rotation": (None, Quantity.ANGULAR_RATE),
    "yaw_rotation": (Quantity.YAW_RATE, None),
    "yaw_rate": (Quantity.YAW_RATE, Quantity.ANGULAR_RATE),
    "angular_rate": (Quantity.ANGULAR_RATE, Quantity.ANGULAR_RATE),
    "specific_force": (Quantity.SPECIFIC_FORCE, Quantity.SPECIFIC_FORCE),
    "lateral_accel": (Quantity.LATERAL_ACCEL, Quantity.SPECIFIC_FORCE),
    "long_accel": (Quantity.LONG_ACCEL, Quantity.SPECIFIC_FORCE),
    "speed": (Quantity.SPEED, Quantity.SPECIFIC_FORCE),
    "wheel_speed": (Quantity.WHEEL_SPEED, Quantity.SPECIFIC_FORCE),
    "steering": (Quantity.STEERING_ANGLE, Quantity.ANGULAR_RATE),
    "brake": (Quantity.BRAKE, Quantity.SPECIFIC_FORCE),
}
# What a robot did or was told, by method: whether the mixing is the same in every pose.
ROBOT_MOTIONS = {
    "arm_motion": False,
    "commanded_motion": False,
    "joint_motion": True,
    "command": True,
}


def motion_curve(pair: PairMeasurement, evidence: ClipEvidence) -> DelayEvidence | None:
    """Return the curve of a method of `MOTIONS`; None without enough of either side."""
    of_source, of_target = MOTIONS[pair.method]
    source = _increments(pair.source, of_source, evidence)
    target = _driver(pair.target, of_target, evidence)
    if source is None or target is None:
        return None
    (increments, source_epoch_ns), (driver, target_epoch_ns) = source, target
    if increments.values.shape[0] < MIN_ROWS:
        return None
    epochs_s = (target_epoch_ns - source_epoch_ns) * 1e-9
    middle_s = known_offset_s(pair) - epochs_s
    curve = search_delay(
        increments,
        driver,
        lowest_s=middle_s - REACH_S,
        highest_s=middle_s + REACH_S,
        step_s=STEP_S,
    )
    # The search gives sum over m channels of -n/2 log(1 - R^2): the mean of them in R.
    n_rows, n_channels = min(300, increments.values.shape[0]), increments.values.shape[1]
    with np.errstate(over="ignore", invalid="ignore"):
        share = 1.0 - np.exp(-2.0 * curve.log_likelihood / (n_rows * n_channels))
    agreement = np.sqrt(np.clip(share, 0.0, 1.0))
    agreement[~np.isfinite(curve.log_likelihood)] = np.nan
    return DelayEvidence(offsets_s=curve.delays_s + epochs_s, agreement=agreement)


def robot_curve(pair: PairMeasurement, evidence: ClipEvidence) -> DelayEvidence | None:
    """Return the curve of a method of `ROBOT_MOTIONS`: the share that the robot foretells.

    As the estimator finds it, cross-validated over blocks of the clip; in R like the others.
    """
    target = _state(pair.target, evidence)
    if target is None:
        return None
    picture, state = evidence.picture_motions.get(pair.source), _state(pair.source, evidence)
    side = state if picture is None else picture
    if side is None:
        return None
    increments = None
    if picture is not None:
        increments = camera_increments(picture)
    elif state is not None:
        increments = state_increments(state)
    if increments is None or increments.values.shape[0] < MIN_ROWS:
        return None
    driver = driver_of(
        target,
        slower_s=max(period_of(side), period_of(target)),
        n_rows=increments.values.shape[0],
        is_linear=ROBOT_MOTIONS[pair.method],
    )
    if driver is None:
        return None
    epochs_s = (target.epoch_ns - side.epoch_ns) * 1e-9
    n_side = round(REACH_S / ROBOT_STEP_S)
    places = np.arange(-n_side, n_side + 1, dtype=np.float64)
    delays_s = known_offset_s(pair) - epochs_s + ROBOT_STEP_S * places
    found = search_state(increments, driver, delays_s)
    if found is None:
        return None
    likelihood = found.curve.log_likelihood
    with np.errstate(over="ignore", invalid="ignore"):
        share = 1.0 - np.exp(-2.0 * likelihood / found.n_values)
    agreement = np.sqrt(np.clip(share, 0.0, 1.0))
    agreement[~np.isfinite(likelihood)] = np.nan
    return DelayEvidence(offsets_s=delays_s + epochs_s, agreement=agreement, near_s=REACH_S)


def _state(name: str, evidence: ClipEvidence) -> Activity | None:
    motion = evidence.motion.get(name, {})
    return motion.get(Quantity.STATE) or motion.get(Quantity.COMMAND)


def _increments(
    name: str, quantity: Quantity | None, evidence: ClipEvidence
) -> tuple[Increments, int] | None:
    if quantity is None:
        rotation = evidence.rotations.get(name)
        return None if rotation is None else (from_rotation(rotation), rotation.epoch_ns)
    activity = evidence.motion.get(name, {}).get(quantity)
    if activity is None:
        return None
    if quantity in (Quantity.SPEED, Quantity.WHEEL_SPEED):
        signal = interpolate_angle(activity.times_s, activity.values, is_smooth=False)
    else:
        signal = integrate_samples(activity.times_s, activity.values, is_smooth=False)
    period_s = float(np.mean(np.diff(activity.times_s)))
    width_s = max(WIDTH_S, 4.0 * period_s)
    return from_integral(signal, width_s=width_s, stride_s=0.5 * width_s), activity.epoch_ns


def _driver(
    name: str, quantity: Quantity | None, evidence: ClipEvidence
) -> tuple[RunningIntegral, int] | None:
    activity = None if quantity is None else evidence.motion.get(name, {}).get(quantity)
    if activity is not None:
        driver = integrate_samples(activity.times_s, activity.values, is_smooth=True)
        return driver, activity.epoch_ns
    rotation = evidence.rotations.get(name)
    if rotation is None:
        return None
    forward = np.diff(np.maximum.accumulate(rotation.stop_s), prepend=-np.inf) > 0.0
    if int(forward.sum()) < 8:
        return None
    angles = np.cumsum(rotation.angles_rad, axis=0)[forward]
    return (
        interpolate_angle(rotation.stop_s[forward], angles, is_smooth=True),
        rotation.epoch_ns,
    )
