"""Measure IMU against IMU by the rotation, or specific force, that both sense (design 3.3).

A rotation sensor that is not fixed to the same body is refused. On a rigid mount, the camera's
rotation is the gyroscope's in rotated axes: the mixing matrix of the fit is ``diag(g, g, 1) R``,
with R a rotation and g the focal length over the true one. Rotations about the optical axis depend
neither on the focal length nor on radial distortion. A gimbal or a stabilised image removes part of
the motion, a different part for each axis, and for slow and fast motion. A cause that merely scales
all motion, such as a wrong focal length or a lens, is not a reason to doubt the delay.

For two gyroscopes the matrix is a rotation (left-handed axes occur too) times a unit. Where noise
hides the motion about an axis, the entries for that axis are arbitrary; so the sums of squares are
compared.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache

import numpy as np
from scipy.spatial.transform import Rotation

from syncaudit.dsp.integral import RunningIntegral, integrate_samples
from syncaudit.dsp.robust import hac_covariance
from syncaudit.estimators.delay.fit import DelayFit, fit_delay
from syncaudit.estimators.delay.increments import Increments, from_integral
from syncaudit.estimators.delay.measure import measure_delay
from syncaudit.estimators.delay.record import DelayTask, refuse_vague
from syncaudit.estimators.delay.refusals import BAND_ROWS, slow_motion
from syncaudit.model import Activity, PairMeasurement, Quantity
from syncaudit.model.arrays import Floats

# Increments of at least this many sample periods make the result insensitive to the sub-sample
# phase: the noise of the interpolation hardly depends on where between samples it is evaluated.
PERIODS_PER_INCREMENT = 8
MIN_WIDTH_S = 0.02
# But bodies shake at 1 to 5 Hz, which wider increments blur: there three periods must suffice.
USUAL_WIDTH_S = 0.1
MIN_PERIODS_PER_INCREMENT = 3
# If neighbouring timestamps are closer than this part of the median interval, a spline through them
# would oscillate.
MIN_REGULAR = 0.25
# The two directions differ by at most this many standard errors; else their difference is the
# error.
MAX_APART_Z = 2.0

# Other distortions of a mixing matrix, one sigma of an entry by camera axis. Turns to a side look
# like travel, and vehicles moving alongside take up to a third off them (on simulated highways);
# about the optical axis, a gyroscope's misalignment and uncorrected lens effects remain.
MODEL_STD = (0.15, 0.15, 0.05)
# Six degrees of freedom, five of the matrix and one of the gains of slow and fast motion: chance
# exceeds this once in 100 if the model's errors are as large as allowed for. Of 393 simulated
# cameras 99 % stay below 11 and all below 15, hand-held phones below 3; a drone gives 18 to 74 in
# 24 of 25 encodings of its video.
MAX_CHI2 = 16.8
MAX_STEPS = 30
# Allowed difference in gain of slow and fast motion, one sigma (logarithm): rigid mounts, through
# any lens, give up to 0.014, and smoothing motion below 1.5 Hz over 0.1 s gives 0.08. A gyroscope's
# noise reduces the gain of fast motion by at most twice the unexplained share that it adds.
BAND_STD = 0.015
# Two gyroscopes share at least this much of what they measure: the noise of both stays below the
# motion. Of 150 unrelated pairs that no other test, or only the chance test, refuses, one in twenty
# reaches 0.5 at its best delay; on one body 95 % of pairs reach 0.93.
MIN_COMMON = 0.5
# An axis with less than this part of the power of the most active one counts as dead.
LIVE_SHARE = 0.01


@lru_cache(maxsize=1)  # the bus and all cameras of a clip are compared with the same gyroscope
def imu_integral(activity: Activity) -> RunningIntegral:
    """Integrate the measurements of an IMU."""
    intervals = np.diff(activity.times_s)
    is_smooth = bool(intervals.min() >= MIN_REGULAR * np.median(intervals))
    return integrate_samples(activity.times_s, activity.values, is_smooth=is_smooth)


def _increment_width(period_s: float) -> float:
    """Return the width of increments for two sensors, given the period of the slower one."""
    usual_s = max(USUAL_WIDTH_S, MIN_PERIODS_PER_INCREMENT * period_s)
    return max(MIN_WIDTH_S, min(PERIODS_PER_INCREMENT * period_s, usual_s))


def measure_imu_imu(
    source: Activity, target: Activity, *, max_offset_s: float = 5.0, is_one_clock: bool = False
) -> PairMeasurement:
    """Measure two IMUs on one rigid body, whose mounting may differ, against each other.

    By angular rates or specific forces of three axes each, which is also the method. Options as in
    `DelayTask`.
    """
    is_rate = source.quantity is Quantity.ANGULAR_RATE
    period_s = max(float(np.median(np.diff(a.times_s))) for a in (source, target))
    width_s = _increment_width(period_s)
    task = DelayTask.between(
        source,
        target,
        "angular_rate" if is_rate else "specific_force",
        max_offset_s,
        is_one_clock=is_one_clock,
        why_not_fixed=_why_not_turned if is_rate else None,
        expected_gain=(1.0, 180.0 / np.pi, np.pi / 180.0) if is_rate else (1.0, 9.81, 1.0 / 9.81),
        # Increments contain nothing faster than their width: nearer peaks are noise between
        # samples.
        lobe_s=width_s,
    )
    signals = imu_integral(source), imu_integral(target)
    measured = measure_delay(task, from_integral(signals[0], width_s=width_s), signals[1])
    if not measured.accepted or measured.step_s is not None:
        return measured
    back = from_integral(signals[1], width_s=width_s)
    return _both_ways(task, measured, back, signals[0])


def _both_ways(
    task: DelayTask, measured: PairMeasurement, back: Increments, driver: RunningIntegral
) -> PairMeasurement:
    """Return a measurement that accounts for the reverse one, of the target against the source.

    The two share nearly all of their noise: they differ by one sigma in one pair of a hundred,
    unless a fit has found a different optimum. Either may be the right one then, and the drift is
    worthless.
    """
    offset_s, std_s = measured.offset_s or 0.0, measured.offset_std_s or 0.0
    delay_s = offset_s - task.epochs_s
    at_s = (measured.at_ns - task.source_epoch_ns) * 1e-9
    fit = fit_delay(back, driver, start_s=-delay_s)
    if fit is not None and measured.drift_ppm is not None:
        fit = fit_delay(back, driver, start_s=fit.offset_s, with_drift=True, known=fit)
    if fit is None:
        return measured.withdrawn("seen from the target's side, no motion is visible to both")
    drift = 1e-6 * (measured.drift_ppm or 0.0)
    apart_s = fit.offset_s + delay_s + drift * (fit.anchor_s + fit.offset_s - at_s)
    if abs(apart_s) <= MAX_APART_Z * math.hypot(std_s, fit.offset_std_s):
        return measured
    wider = replace(
        measured,
        offset_std_s=math.hypot(std_s, apart_s),
        drift_ppm=None,
        drift_std_ppm=None,
        diagnostics={**measured.diagnostics, "both_ways_s": abs(apart_s)},
    )
    return refuse_vague(wider)


def why_not_fixed(fit: DelayFit) -> str | None:
    """Return why the camera cannot be fixed to the gyroscope, or None.

    `fit`: of a camera's three angles against a gyroscope's three rates.
    """
    mixing, weight = fit.linear.mixing, _weights(fit)
    scale, turned = _nearest_mount(mixing, weight)
    apart = (mixing - turned).ravel()
    mount_chi2 = float(apart @ weight @ apart)
    slow, fast, std = _band_gains(fit)
    apart_log = abs(math.log(fast / slow)) if min(slow, fast) > 0.0 else math.inf
    band_chi2 = apart_log**2 / (std**2 + BAND_STD**2 + (1.0 - fit.explained) ** 2)
    chi2 = mount_chi2 + band_chi2
    if chi2 <= MAX_CHI2:
        return None
    allowed = f"(chi-square {chi2:.0f}, allowed {MAX_CHI2:.0f})"
    if mount_chi2 >= band_chi2:
        shares = np.sum(mixing * turned, axis=1) / np.sum(turned**2, axis=1)
        return (
            f"the camera is not fixed to the gyroscope: its rotations are {scale:.2f} times as "
            f"large, and about its axes (right, down, forward) {shares[0]:.2f}, {shares[1]:.2f} "
            f"and {shares[2]:.2f} of what a rigid mount gives {allowed}: gimbal, stabilised "
            "image, or compression that removes small motion; use a recording without"
        )
    return (
        f"the image shows {slow:.2f} of the gyroscope's slow motion but {fast:.2f} of its fast "
        f"one {allowed}: a filter is in between, as with image stabilisation or strong "
        "compression, whose delay is not that of a clock; use a recording without"
    )


def _why_not_turned(fit: DelayFit) -> str | None:
    """Return why two gyroscopes cannot be fixed to one body, or None.

    The best of all rotations explains the sum of the singular values of the cross products of both
    sides (Schoenemann, "A generalized solution of the orthogonal Procrustes problem",
    Psychometrika 31, 1966, doi:10.1007/BF02289451). Its square over the product of the sums of
    squares is the share they have in common. Dead axes are left out on either side.
    """
    root = np.sqrt(fit.robust.mean(axis=1, keepdims=True))
    change, seen = (root * side for side in fit.model.fast(fit.linear))
    powers = np.sum(seen**2, axis=0), np.sum(change**2, axis=0)
    live = min(int(np.count_nonzero(p >= LIVE_SHARE * p.max())) for p in powers)
    left, common, right = np.linalg.svd(seen.T @ change)
    power = np.sum((seen @ left[:, :live]) ** 2) * np.sum((change @ right[:live].T) ** 2)
    share = float(np.sum(common[:live]) ** 2 / (power + 1e-300))
    if share >= MIN_COMMON:
        return None
    return (
        f"in any orientation, one shows {100.0 * share:.0f} % of the other's rotation; at least "
        f"{100.0 * MIN_COMMON:.0f} % is needed: the two are not fixed to one body, or noise "
        "hides its motion"
    )


def _band_gains(fit: DelayFit) -> tuple[float, float, float]:
    """Return the gains of slow and fast motion over that of both, and the error of the ratio.

    Of mean rates, not angles: where timestamps jitter, the length of an increment would be fast
    motion of the driver that the camera does not have.
    """
    fitted, width_s = fit.linear.fitted, fit.model.rows.width_s[:, None]
    # The blur that the fit allows for is the effect of a filter, so it is kept in.
    seen_too = fitted + fit.residuals + fit.blur * fit.model.rows.bent(fitted)
    both, weights = np.stack([fitted, seen_too]) / width_s, fit.weights * width_s**2
    slow = slow_motion(both, weights)
    gains, variance = [], 0.0
    for driven, seen in (slow, both - slow):
        power = float(np.sum(weights * driven**2)) + 1e-30
        gain = float(np.sum(weights * driven * seen)) / power
        scores = np.sum(weights * driven * (seen - gain * driven), axis=1)[:, None]
        n_lags = BAND_ROWS + int(1.5 * fit.n_rows ** (1.0 / 3.0))
        variance += float(hac_covariance(scores, n_lags=n_lags)[0, 0]) / (gain * power) ** 2
        gains.append(gain)
    return gains[0], gains[1], math.sqrt(variance)


def _weights(fit: DelayFit) -> Floats:
    """Return the information on the entries of the mixing matrix, row by row, shape (9, 9)."""
    n = fit.linear.mixing.shape[1]
    noise2 = fit.linear.noise**2 * fit.correlation_factor
    weight = np.zeros((3 * n, 3 * n))
    for row, solver in enumerate(fit.linear.solver):
        part = slice(n * row, n * row + n)
        weight[part, part] = np.linalg.inv(
            noise2[row] * solver[:n, :n] + MODEL_STD[row] ** 2 * np.eye(n)
        )
    return weight


def _nearest_mount(mixing: Floats, weight: Floats) -> tuple[float, Floats]:
    """Return g and ``diag(g, g, 1) R`` nearest to a mixing matrix, by Gauss-Newton."""
    u, _, v = np.linalg.svd(mixing)
    rotation, g = u @ np.diag([1.0, 1.0, np.linalg.det(u @ v)]) @ v, 1.0
    for _ in range(MAX_STEPS):
        turned = np.diag([g, g, 1.0]) @ rotation
        slopes = [np.diag([g, g, 1.0]) @ np.cross(axis, rotation.T).T for axis in np.eye(3)]
        slopes.append(np.diag([1.0, 1.0, 0.0]) @ rotation)
        design = np.stack([slope.ravel() for slope in slopes], axis=1)
        normal = design.T @ weight @ design
        step = np.linalg.solve(normal, design.T @ weight @ (mixing - turned).ravel())
        step[:3] = np.clip(step[:3], -0.3, 0.3)
        rotation = Rotation.from_rotvec(step[:3]).as_matrix() @ rotation
        g = float(np.clip(g + step[3], 0.2 * g, 2.0 * g))
        if np.max(np.abs(step)) < 1e-6:
            break
    return g, np.diag([g, g, 1.0]) @ rotation
