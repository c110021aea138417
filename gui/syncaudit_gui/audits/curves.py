"""The evidence behind a measurement, drawn: agreement over the offset, residuals of events.

For the eye: the same increments as the estimators use, every channel of the target free. The
numbers beside it are those of the estimators, which also know couplings, rows and steps.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from syncaudit.dsp.integral import RunningIntegral, integrate_samples, interpolate_angle
from syncaudit.estimators.delay_search import search_delay
from syncaudit.estimators.increments import Increments, from_integral, from_rotation
from syncaudit.model import PairMeasurement, Quantity
from syncaudit.pipeline import ClipEvidence
from syncaudit_gui.audits.result import DelayEvidence, EvidenceKey, ResidualEvidence
from syncaudit_gui.viewmodel.events import flash_times

__all__ = ["find_curves"]

REACH_S = 1.0
STEP_S = 0.005
# Increments of at least this width: faster motion is noise to most sources.
WIDTH_S = 0.1
# Events farther apart than this belong to different pulses.
SAME_EVENT_S = 0.01

# What a method compares, where both sides are dense signals. None: the rotation of a camera.
_QUANTITIES: dict[str, tuple[Quantity | None, Quantity | None]] = {
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


def find_curves(
    pairs: tuple[PairMeasurement, ...], evidence: ClipEvidence, epoch_ns: int
) -> Iterator[tuple[EvidenceKey, DelayEvidence | ResidualEvidence]]:
    """Yield what can be drawn of each measurement; nothing for methods without a curve.

    Parameters
    ----------
    pairs : tuple of PairMeasurement
        Accepted and refused.
    evidence : ClipEvidence
        What they were measured on.
    epoch_ns : int
        Zero of the timeline.
    """
    for pair in pairs:
        drawn = (
            _residuals(pair, evidence, epoch_ns)
            if pair.method == "flash"
            else _agreement(pair, evidence)
        )
        if drawn is not None:
            yield (pair.source, pair.target, pair.method), drawn


def _agreement(pair: PairMeasurement, evidence: ClipEvidence) -> DelayEvidence | None:
    if pair.method not in _QUANTITIES:
        return None
    of_source, of_target = _QUANTITIES[pair.method]
    source = _increments(pair.source, of_source, evidence)
    target = _driver(pair.target, of_target, evidence)
    if source is None or target is None:
        return None
    (increments, source_epoch_ns), (driver, target_epoch_ns) = source, target
    if increments.values.shape[0] < 8:
        return None
    epochs_s = (target_epoch_ns - source_epoch_ns) * 1e-9
    known_s = pair.offset_s if pair.offset_s is not None else pair.diagnostics.get("offset_s", 0.0)
    middle_s = known_s - epochs_s
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


def _residuals(
    pair: PairMeasurement, evidence: ClipEvidence, epoch_ns: int
) -> ResidualEvidence | None:
    source, target = (_instants(name, evidence, epoch_ns) for name in (pair.source, pair.target))
    if pair.offset_s is None or source is None or target is None:
        return None
    at_s = (pair.at_ns - epoch_ns) * 1e-9
    moved_s = source + pair.offset_s + 1e-6 * (pair.drift_ppm or 0.0) * (source - at_s)
    target = np.sort(target)
    if not target.size or not source.size:
        return None
    after = np.clip(np.searchsorted(target, moved_s), 1, max(1, target.size - 1))
    before_s, after_s = target[after - 1], target[np.minimum(after, target.size - 1)]
    nearest_s = np.where(moved_s - before_s < after_s - moved_s, before_s, after_s)
    residuals_s = nearest_s - moved_s
    is_same = np.abs(residuals_s) < SAME_EVENT_S
    return ResidualEvidence(times_s=source[is_same], residuals_s=residuals_s[is_same])


def _instants(name: str, evidence: ClipEvidence, epoch_ns: int) -> NDArray[np.float64] | None:
    if name in evidence.flashes:
        return flash_times(evidence.flashes[name], epoch_ns)
    train = evidence.triggers.get(name)
    return None if train is None else (train.epoch_ns - epoch_ns) * 1e-9 + train.times_s
