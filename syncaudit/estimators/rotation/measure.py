"""Camera rotation against a gyroscope, or against another camera (design 3.2)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from syncaudit.dsp.integral import RunningIntegral, integrate_samples, smooth_angle
from syncaudit.estimators.delay.increments import from_integral, from_rotation
from syncaudit.estimators.delay.measure import measure_delay
from syncaudit.estimators.delay.record import DelayTask, refuse
from syncaudit.estimators.delay.search import MAX_ROWS
from syncaudit.estimators.inertial import imu_integral
from syncaudit.estimators.rotation.mount import why_not_fixed
from syncaudit.model import Activity, PairMeasurement, Quantity, RotationIncrements
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

    The target's rotation is summed up and smoothed, which loses motion faster than half its frame
    rate. Options as in `DelayTask`; method ``rotation``.
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


def measure_yaw_camera(
    yaw: Activity,
    camera: RotationIncrements,
    *,
    max_offset_s: float = 5.0,
    is_one_clock: bool = False,
) -> PairMeasurement:
    """Measure a CAN yaw rate (source, one channel) against a camera's rotation, without gyroscope.

    Options as in `DelayTask`; method ``yaw_rotation``.
    """
    period_s = float(np.median(camera.stop_s - camera.start_s))
    task = DelayTask.between(
        yaw,
        camera,
        "yaw_rotation",
        max_offset_s,
        is_one_clock=is_one_clock,
        expected_gain=(1.0,) if yaw.is_si else (1.0, 180.0 / math.pi),
        gain_range=GAIN_KNOWN_FOCAL if camera.has_focal else GAIN_UNKNOWN_FOCAL,
        systematic_std_s=math.hypot(_camera_std_s(camera), FRAME_INTERPOLATION * period_s),
    )
    driver = _summed(camera)
    if driver is None or yaw.quantity is not Quantity.YAW_RATE:
        return refuse(task, float(yaw.times_s[0]), "too few consecutive frames to interpolate")
    signal = integrate_samples(yaw.times_s, yaw.values, is_smooth=False)
    return measure_delay(task, from_integral(signal, width_s=period_s), driver)


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
