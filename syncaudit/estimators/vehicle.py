"""Measure CAN against IMU: yaw rate, accelerations, speed, steering and brake (design 3.3).

Yaw rate and accelerations are the same quantity on both sides and are judged against zero.
Speed, wheel speed, steering and brake reach the body through tyres, suspension and filters: their
30 to 90 ms are a property of the vehicle, so they are measured for comparison with a baseline only.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from syncaudit.dsp.integral import (
    RunningIntegral,
    integrate_samples,
    interpolate_angle,
    smooth_angle,
)
from syncaudit.estimators.delay.fit import fit_delay
from syncaudit.estimators.delay.increments import from_integral
from syncaudit.estimators.delay.measure import measure_delay
from syncaudit.estimators.delay.record import DelayTask, is_drift_known, refuse, refuse_vague
from syncaudit.estimators.inertial import imu_integral
from syncaudit.model import Activity, PairMeasurement, Quantity
from syncaudit.model.arrays import Floats

PERIODS_PER_INCREMENT = 4
MIN_WIDTH_S = 0.2
# Increments of this width have lobes three times as wide, and the fit starts from a finer search.
SEARCH_STEP_S = 0.04
# Half of the above width: nearer peaks are ripples of one lobe.
LOBE_S = 0.1
# Increments that overlap at any instant.
OVERLAP = 4
# An IMU may sense vibration that the bus filters out: if less than this share of the information is
# common to both (`DelayModel.followed_share`), increments of twice the width hold more of it.
MIN_FOLLOWED = 0.8
# Sampling, filtering and arbitration inside the control unit, which is never stated: one sigma.
CONTROL_UNIT_STD_S = 1.3e-3
# Accelerations are also sensed at two places, and gravity mixes in: another simulator's 60 drives
# scattered by 5 ms with the lever arm fitted (and by 75 ms without).
ACCELERATION_STD_S = 5e-3
# Tangent of the angle between gravity on average and the vertical of the body, one sigma.
TILT_STD = 0.12
# Distance between the IMU and the accelerometer of the bus, one sigma.
LEVER_STD_M = 1.0
# Averages of an accelerometer's signals: a quarter of an increment, which passes the motion of a
# body on its springs (to 3 Hz) and stops engine vibration (from 20 Hz).
SMOOTHING_S = 0.25 * MIN_WIDTH_S
# Speed is exactly the integral of acceleration. Where the gain is not one, the correlation comes
# from pitch and gravity: a real drive gave a delay of -242 ms with a gain of 0.4 to 0.76.
SPEED_GAIN = (0.8, 1.25)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Relation:
    """How one CAN quantity appears in the IMU.

    `units` are those it may have where its unit is not stated, SI first. The gain distinguishes
    them because they are finer than SI, while chance gives gains well below the true one. For the
    same reason g, ten times coarser than m/s^2, is not among them: when a real drive's lateral
    acceleration was compared with other minutes of the same drive, the pairs that passed had gains
    of 0.07 to 0.17.
    """

    method: str
    target: Quantity
    units: Mapping[str, float] = field(default_factory=dict)
    gain_range: tuple[float, float] = (0.5, 2.0)
    systematic_std_s: float = CONTROL_UNIT_STD_S
    is_baseline_only: bool = False


def _acceleration(method: str) -> _Relation:
    return _Relation(
        method=method,
        target=Quantity.SPECIFIC_FORCE,
        units={"m/s^2": 1.0},
        systematic_std_s=ACCELERATION_STD_S,
    )


def _speed(method: str) -> _Relation:
    return _Relation(
        method=method,
        target=Quantity.SPECIFIC_FORCE,
        units={"m/s": 1.0, "km/h": 3.6, "mph": 1.0 / 0.44704},
        gain_range=SPEED_GAIN,
        is_baseline_only=True,
    )


_RELATIONS: Mapping[Quantity, _Relation] = {
    Quantity.YAW_RATE: _Relation(
        method="yaw_rate",
        target=Quantity.ANGULAR_RATE,
        units={"rad/s": 1.0, "deg/s": 180.0 / math.pi},
    ),
    Quantity.LATERAL_ACCEL: _acceleration("lateral_accel"),
    Quantity.LONG_ACCEL: _acceleration("long_accel"),
    Quantity.SPEED: _speed("speed"),
    Quantity.WHEEL_SPEED: _speed("wheel_speed"),
    Quantity.STEERING_ANGLE: _Relation(
        method="steering", target=Quantity.ANGULAR_RATE, is_baseline_only=True
    ),
    Quantity.BRAKE: _Relation(
        method="brake", target=Quantity.SPECIFIC_FORCE, is_baseline_only=True
    ),
}

BUS_METHODS = tuple(relation.method for relation in _RELATIONS.values())


def measure_can_imu(
    signals: Mapping[Quantity, Activity],
    imu: Mapping[Quantity, Activity],
    *,
    max_offset_s: float = 5.0,
    is_one_clock: bool = False,
) -> list[PairMeasurement]:
    """Measure one CAN bus (source) against one IMU by every quantity that both have.

    `imu`: angular rate and specific force. Options as in `DelayTask`.
    """
    drivers: dict[tuple[Quantity, bool], RunningIntegral] = {}
    measurements = []
    for quantity, relation in _RELATIONS.items():
        if quantity not in signals or relation.target not in imu:
            continue
        kind = (relation.target, quantity is Quantity.STEERING_ANGLE)
        if kind not in drivers:
            drivers[kind] = _driver(quantity, imu[relation.target], imu)
        target = imu[relation.target]
        measurements.append(
            _measure(quantity, relation, signals, target, drivers[kind], max_offset_s, is_one_clock)
        )
    return measurements


def _measure(
    quantity: Quantity,
    relation: _Relation,
    signals: Mapping[Quantity, Activity],
    target: Activity,
    driver: RunningIntegral,
    max_offset_s: float,
    is_one_clock: bool,
) -> PairMeasurement:
    activity = signals[quantity]
    task = DelayTask.between(
        activity,
        target,
        relation.method,
        max_offset_s,
        is_one_clock=is_one_clock,
        step_s=SEARCH_STEP_S,
        expected_gain=tuple(relation.units.values())[: 1 if activity.is_si else None],
        expected_unit="" if activity.is_si else _word_units(relation),
        gain_range=relation.gain_range,
        systematic_std_s=relation.systematic_std_s,
        lobe_s=LOBE_S,
        is_baseline_only=relation.is_baseline_only,
    )
    if float(np.ptp(activity.values)) <= 0.0:
        return refuse(task, float(activity.times_s.mean()), f"{quantity} never changes")
    signal = _running_integral(quantity, activity, signals)
    period_s = float(np.mean(np.diff(activity.times_s)))
    width_s = max(MIN_WIDTH_S, PERIODS_PER_INCREMENT * period_s)
    measured = _measured(task, signal, width_s, driver)
    if measured.accepted and measured.diagnostics["followed"] < MIN_FOLLOWED:
        wider = _measured(task, signal, 2.0 * width_s, driver)
        if wider.accepted and wider.diagnostics["followed"] > measured.diagnostics["followed"]:
            measured, width_s = wider, 2.0 * width_s
    return refuse_vague(_with_filter_error(measured, signal, driver, width_s, task))


def _word_units(relation: _Relation) -> str:
    if not relation.units:
        return ""
    return (
        f"its unit is not stated and is assumed to be {' or '.join(relation.units)}: state it in "
        "the DBC, or convert the column"
    )


def _measured(
    task: DelayTask, signal: RunningIntegral, width_s: float, driver: RunningIntegral
) -> PairMeasurement:
    """Return the measurement with overlapping increments of one width."""
    return measure_delay(
        task, from_integral(signal, width_s=width_s, stride_s=width_s / OVERLAP), driver
    )


def _with_filter_error(
    measured: PairMeasurement,
    signal: RunningIntegral,
    driver: RunningIntegral,
    width_s: float,
    task: DelayTask,
) -> PairMeasurement:
    """Add the systematic error due to the choice of the increments' width.

    CAN signals pass unknown filters and buses bunch their timestamps: narrow and wide increments
    then give slightly different delays. Their spread is systematic, not random. There are as many
    narrow increments as of the usual width, though they overlap less.
    """
    std_s = measured.offset_std_s
    if measured.offset_s is None or std_s is None or measured.step_s is not None:
        return measured
    at_s = (measured.at_ns - task.source_epoch_ns) * 1e-9
    others = []
    for factor in (0.5, 2.0):
        fit = fit_delay(
            from_integral(
                signal,
                width_s=factor * width_s,
                stride_s=max(1.0, factor) * width_s / OVERLAP,
            ),
            driver,
            start_s=measured.offset_s - task.epochs_s,
            with_drift=measured.drift_ppm is not None,
        )
        if fit is not None:
            drifted_s = 1e-6 * (fit.drift_ppm or 0.0) * (at_s - fit.anchor_s)
            others.append(fit.offset_s + drifted_s + task.epochs_s)
    # Do not count the part of the differences that the random errors explain twice.
    excess = [max(0.0, (offset_s - measured.offset_s) ** 2 - 0.5 * std_s**2) for offset_s in others]
    spread_s = math.sqrt(sum(excess) / max(1, len(excess)))
    if measured.drift_ppm is not None and measured.drift_std_ppm is not None:
        # The cause of the disagreement between widths may also mimic a drift.
        blurred_ppm = measured.drift_std_ppm * math.hypot(1.0, spread_s / std_s)
        is_kept = is_drift_known(measured.drift_ppm, blurred_ppm)
        measured = replace(
            measured,
            drift_ppm=measured.drift_ppm if is_kept else None,
            drift_std_ppm=blurred_ppm if is_kept else None,
        )
    return replace(
        measured,
        offset_std_s=math.hypot(std_s, spread_s),
        systematic_std_s=math.hypot(measured.systematic_std_s, spread_s),
    )


def _driver(
    quantity: Quantity, target: Activity, imu: Mapping[Quantity, Activity]
) -> RunningIntegral:
    """Return the IMU's counterpart of a vehicle's signal.

    Gravity gives the vertical, but a long turn tilts an accelerometer's apparent vertical by 5 to
    17 degrees: yaw is the rotation about the vertical, accelerations lie across it, and the signals
    of the other axes may leak in by that much. With all axes free, body roll, which follows lateral
    acceleration, would mimic a delay of the yaw rate. Where the bus senses accelerations at another
    place than the IMU, angular accelerations times the distance are added; their integral is the
    angular rate. So is the centripetal acceleration in turns. Vibration of the gyroscope is no
    rotation of the body, and at a metre as large as what is sought: unless it is averaged out, it
    hides the distance.
    """
    force = imu.get(Quantity.SPECIFIC_FORCE)
    up = None if force is None else _vertical(force)
    if up is None:
        return imu_integral(target)
    _, _, right = np.linalg.svd(up[None, :])
    across = right[1:]
    if quantity is Quantity.STEERING_ANGLE:  # roll and yaw have the same cause: leave roll out
        return imu_integral(target).mixed(up[:, None])
    if target.quantity is Quantity.ANGULAR_RATE:
        driver = imu_integral(target).mixed(np.vstack([up, across]).T)
        return replace(driver, coupling_std=np.array([np.inf, TILT_STD, TILT_STD]))
    accelerations = target.values @ np.vstack([across, up]).T
    angles = np.empty((target.times_s.size, 0))
    coupling = np.array([np.inf, np.inf, TILT_STD])
    rate = imu.get(Quantity.ANGULAR_RATE)
    if rate is not None:
        at_s = target.times_s + (target.epoch_ns - rate.epoch_ns) * 1e-9
        angles = np.stack([np.interp(at_s, rate.times_s, axis) for axis in rate.values.T], axis=1)
        accelerations = np.column_stack([accelerations, (angles @ up) ** 2])
        coupling = np.concatenate([coupling, np.full(4, LEVER_STD_M)])
    forces = integrate_samples(target.times_s, accelerations, is_smooth=False)
    span_s = float(np.ptp(target.times_s))
    driver = smooth_angle(
        target.times_s,
        np.column_stack([forces.at(target.times_s), angles]),
        width_s=min(max(SMOOTHING_S, forces.period_s), 0.2 * span_s),
        gaps_s=(forces.gap_start_s, forces.gap_stop_s),
    )
    return replace(driver, coupling_std=coupling, n_signals=3)


def _vertical(force: Activity) -> Floats | None:
    """Return the unit vector of the median specific force, or None in free fall."""
    gravity = np.median(force.values, axis=0)
    norm = float(np.linalg.norm(gravity))
    return gravity / norm if norm > 0.0 else None


def _running_integral(
    quantity: Quantity, activity: Activity, signals: Mapping[Quantity, Activity]
) -> RunningIntegral:
    if quantity in (Quantity.SPEED, Quantity.WHEEL_SPEED):
        # Speed is the integral of acceleration already.
        return interpolate_angle(activity.times_s, activity.values, is_smooth=False)
    values = activity.values
    if quantity is Quantity.STEERING_ANGLE and Quantity.SPEED in signals:
        # Yaw rate is speed times steering angle over wheelbase and ratio (kinematic bicycle).
        speed = signals[Quantity.SPEED]
        shift_s = (activity.epoch_ns - speed.epoch_ns) * 1e-9
        at_steering = np.interp(activity.times_s + shift_s, speed.times_s, speed.values[:, 0])
        values = values * at_steering[:, None]
    return integrate_samples(activity.times_s, values, is_smooth=False)
