"""Camera rotation against a gyroscope, or against another camera (design 3.2)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from syncaudit.dsp.integral import RunningIntegral, integrate_samples, smooth_angle
from syncaudit.estimators.delay.increments import Increments, from_rotation
from syncaudit.estimators.delay.measure import measure_delay
from syncaudit.estimators.delay.record import DelayTask, refuse
from syncaudit.estimators.delay.search import MAX_ROWS
from syncaudit.estimators.inertial import imu_integral, why_not_fixed
from syncaudit.estimators.vehicle import CONTROL_UNIT_STD_S
from syncaudit.model import Activity, PairMeasurement, RotationIncrements
from syncaudit.model.arrays import Floats

# Gain of image rotation over gyro rotation. Near 1 where the focal length is stated (an unstated
# lens distortion that too little rotation reveals takes off up to half); otherwise the range that
# true fields of view from 25 to 150 degrees give with an assumed one. Whether the camera is fixed
# to the gyroscope is tested separately.
GAIN_KNOWN_FOCAL = (0.5, 2.0)
GAIN_UNKNOWN_FOCAL = (0.42, 3.5)
# Rotation between frames contains nothing faster than a few hertz: lobes are at least 50 ms wide.
SEARCH_STEP_S = 0.01
# A camera's rotation is interpolated between at least this many instants.
MIN_INCREMENTS = 8
# Remaining bias from images, one sigma: vehicles ahead make offsets of the simulator's front
# cameras 0.11 ms too small on average (docs/benchmarks.md).
PICTURES_STD_S = 2e-4
# Part of the readout by which the correction of a rolling shutter may be wrong, one sigma: in
# simulation -0.14 ms remained at 9 ms, and nothing with global shutters.
READOUT_STD = 0.015
# Smoothing of a camera's rotation: anything faster than 5 Hz is mostly noise.
SMOOTHING_S = 0.08
# Interpolating between frames costs this part of a frame period (band limit), one sigma.
FRAME_INTERPOLATION = 0.01


def measure_camera_gyro(
    camera: RotationIncrements,
    gyro: Activity,
    *,
    max_offset_s: float = 5.0,
    is_one_clock: bool = False,
) -> PairMeasurement:
    """Measure a camera's clock (source) against a gyroscope's of three axes by their rotation.

    Options as in `DelayTask`; method ``rotation``.
    """
    task = DelayTask.between(
        camera,
        gyro,
        "rotation",
        max_offset_s,
        is_one_clock=is_one_clock,
        step_s=SEARCH_STEP_S,
        expected_gain=(1.0,),
        gain_range=GAIN_KNOWN_FOCAL if camera.has_focal else GAIN_UNKNOWN_FOCAL,
        systematic_std_s=_camera_std_s(camera),
        is_rigid=True,
        why_not_fixed=why_not_fixed,
    )
    driver = imu_integral(gyro)
    measured = measure_delay(task, from_rotation(camera), driver)
    if camera.regular_start_s is None or camera.regular_stop_s is None:
        return measured
    even = replace(camera, start_s=camera.regular_start_s, stop_s=camera.regular_stop_s)
    regular = measure_delay(task, from_rotation(even), driver)
    found = _better(measured, regular)
    if not found.accepted:
        return found
    halfway = replace(
        camera,
        start_s=0.5 * (camera.start_s + even.start_s),
        stop_s=0.5 * (camera.stop_s + even.stop_s),
    )
    between = measure_delay(task, from_rotation(halfway), driver)  # for its likelihood alone
    share = _stamp_share(
        [pair.diagnostics.get("log_likelihood", 0.0) for pair in (measured, between, regular)],
        n_values=3 * min(len(camera.angles_rad), MAX_ROWS),
    )
    if share is None:
        return found
    shares = {"stamp_share": share[0], "stamp_share_std": share[1]}
    return replace(found, diagnostics={**found.diagnostics, **shares})


def _stamp_share(log_likelihoods: Sequence[float], *, n_values: int) -> tuple[float, float] | None:
    """Return the share of the jitter's variance due to timestamping, and its standard error.

    Jitter is sampling jitter plus timestamp jitter, independent of each other. If timestamps are
    moved towards an even clock by a part ``a`` of their distance from it, the remaining errors are
    smallest where ``a`` is the share of the variance due to timestamping (a regression). To first
    order they enter the residuals' sum of squares as a parabola, which three points determine.
    """
    best = max(log_likelihoods)
    stamped, between, even = (math.exp(2.0 * (best - x) / n_values) for x in log_likelihoods)
    bend = 2.0 * (stamped - 2.0 * between + even)  # of 1 + slope * a + bend * a^2
    slope = even - stamped - bend
    if bend <= 0.0:
        return None
    share = -0.5 * slope / bend
    least = stamped + 0.5 * slope * share
    if least <= 0.0:
        return None
    return share, math.sqrt(least / (n_values * bend))


def _better(stamped: PairMeasurement, regular: PairMeasurement) -> PairMeasurement:
    """Return the measurement whose dating of a jittering camera the content supports.

    With regular times the offset is that of the median timestamp, as the contract requires.
    """
    gain = regular.diagnostics.get("log_likelihood", 0.0) - stamped.diagnostics.get(
        "log_likelihood", 0.0
    )
    if not regular.accepted or (stamped.accepted and gain <= 0.0):
        return stamped
    return replace(regular, diagnostics={**regular.diagnostics, "is_regular": 1.0})


def measure_camera_camera(
    source: RotationIncrements,
    target: RotationIncrements,
    *,
    max_offset_s: float = 5.0,
    is_one_clock: bool = False,
) -> PairMeasurement:
    """Measure two cameras on one rigid body against each other by their rotation.

    Neither side is free of errors: noise, and motion faster than half a frame rate, which takes on
    other frequencies (aliasing). So each is compared with the sum of the other's rotation. Both
    ways must be accepted, and half of their difference is a systematic error. Options as in
    `DelayTask`; method ``rotation``.
    """
    measure = partial(_measure_one_way, max_offset_s=max_offset_s, is_one_clock=is_one_clock)
    there = measure(source, target)
    if not there.accepted:
        return there
    back = measure(target, source).turned()
    if not back.accepted:
        return back
    best, other = sorted((there, back), key=lambda found: found.offset_std_s or 0.0)
    if best.offset_s is None or best.offset_std_s is None or best.step_s or other.step_s:
        return best
    apart_s = other.clock_map().change_at(best.at_ns) - best.offset_s
    share = 1.0 / (1.0 + ((other.offset_std_s or 0.0) / best.offset_std_s) ** 2)
    return replace(
        best,
        offset_s=best.offset_s + share * apart_s,
        offset_std_s=math.hypot(best.offset_std_s, 0.5 * apart_s),
        systematic_std_s=math.hypot(best.systematic_std_s, 0.5 * apart_s),
    )


def _measure_one_way(
    source: RotationIncrements,
    target: RotationIncrements,
    *,
    max_offset_s: float,
    is_one_clock: bool,
) -> PairMeasurement:
    """Measure a camera against the sum of another's rotation.

    The sum is smoothed, which loses motion faster than half the target's frame rate.
    """
    driver = _summed(target)
    period_s = float(np.median(target.stop_s - target.start_s))
    task = DelayTask.between(
        source,
        target,
        "rotation",
        max_offset_s,
        is_one_clock=is_one_clock,
        step_s=SEARCH_STEP_S,
        expected_gain=(1.0,),
        gain_range=(0.3, 3.3),
        systematic_std_s=math.hypot(
            math.hypot(_camera_std_s(source), _camera_std_s(target)),
            FRAME_INTERPOLATION * period_s,
        ),
    )
    if driver is None:
        return refuse(task, float(source.start_s[0]), "too few consecutive frames to interpolate")
    return measure_delay(task, from_rotation(source), driver)


def measure_camera_yaw(
    camera: RotationIncrements,
    yaw: Activity,
    *,
    max_offset_s: float = 5.0,
    is_one_clock: bool = False,
) -> PairMeasurement:
    """Measure a camera's clock (source) against a bus by its yaw rate, a gyroscope of one axis.

    The camera is the side with the noise, as against a gyroscope: a regression of the yaw rate on
    the camera's angles was up to 4.3 errors off. What the yaw rate does not show, pitch and roll,
    is common to the axes of a tilted camera. So they are compared once more about axes along which
    that is uncorrelated: one of them is the vertical, about which there is little of it. Options as
    in `DelayTask`; method ``yaw_rotation``.
    """
    task = DelayTask.between(
        camera,
        yaw,
        "yaw_rotation",
        max_offset_s,
        is_one_clock=is_one_clock,
        expected_gain=(1.0,) if yaw.is_si else (1.0, math.pi / 180.0),
        gain_range=GAIN_KNOWN_FOCAL if camera.has_focal else GAIN_UNKNOWN_FOCAL,
        systematic_std_s=math.hypot(_camera_std_s(camera), CONTROL_UNIT_STD_S),
    )
    driver = integrate_samples(yaw.times_s, yaw.values, is_smooth=False)
    increments = from_rotation(camera)
    measured = measure_delay(task, increments, driver)
    if "offset_s" not in measured.diagnostics:
        return measured
    delay_s = measured.diagnostics["offset_s"] - task.epochs_s
    return measure_delay(task, _about_own_axes(increments, driver, delay_s), driver)


def _about_own_axes(increments: Increments, driver: RunningIntegral, delay_s: float) -> Increments:
    """Return increments about axes in which what a driver does not explain is uncorrelated."""
    start_s, stop_s = increments.start_s + delay_s, increments.stop_s + delay_s
    is_common = driver.covers(start_s, stop_s)
    change = (driver.at(stop_s) - driver.at(start_s))[is_common]
    values = increments.values[is_common]
    rest = values - change @ np.linalg.lstsq(change, values, rcond=None)[0]
    return increments.turned(np.linalg.eigh(rest.T @ rest)[1])


def _camera_std_s(camera: RotationIncrements) -> float:
    """Return the systematic error of a camera's times."""
    readout_s = (camera.height_px - 1) * (camera.line_delay_s or 0.0)
    return math.hypot(camera.stamp_std_s, READOUT_STD * readout_s, PICTURES_STD_S)


def _summed(camera: RotationIncrements) -> RunningIntegral | None:
    """Sum increments up to angles at the frames' instants; pauses become gaps."""
    if camera.angles_rad.shape[0] < MIN_INCREMENTS:
        return None
    period_s = float(np.median(camera.stop_s - camera.start_s))
    stop_s, next_s = camera.stop_s[:-1], camera.start_s[1:]
    is_gap = next_s - stop_s > 0.1 * period_s
    times_s = np.concatenate([camera.start_s[:1], camera.stop_s])
    angles = np.cumsum(np.concatenate([np.zeros((1, 3)), _at_middle_row(camera)]), axis=0)
    before = np.flatnonzero(is_gap) + 1
    times_s = np.insert(times_s, before + 1, next_s[is_gap])
    angles = np.insert(angles, before + 1, angles[before], axis=0)
    later = np.concatenate([[True], times_s[1:] > np.maximum.accumulate(times_s)[:-1]])
    if int(later.sum()) < MIN_INCREMENTS:
        return None
    width_s = max(period_s, SMOOTHING_S)
    if times_s[later][-1] - times_s[0] < 4.0 * width_s:
        return None
    return smooth_angle(
        times_s[later],
        angles[later],
        width_s=width_s,
        gaps_s=(stop_s[is_gap], next_s[is_gap]),
    )


def _at_middle_row(camera: RotationIncrements) -> Floats:
    """Return the increments as seen by the middle row, using the camera's own rates."""
    shutter = from_rotation(camera).shutter
    if shutter is None or not shutter.line_delay_s:
        return camera.angles_rad
    rate = camera.angles_rad / (camera.stop_s - camera.start_s)[:, None]
    rolled = shutter.change_per_line_delay(np.gradient(rate, axis=0), rate, np.eye(3))
    return np.asarray(camera.angles_rad - shutter.line_delay_s * rolled)
