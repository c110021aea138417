"""Which cameras are measured by their rotation, and against what."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from syncaudit.estimators.protocol import Estimator
from syncaudit.estimators.rotation.measure import (
    measure_camera_camera,
    measure_camera_gyro,
    measure_yaw_camera,
)
from syncaudit.model import ClipEvidence, PairMeasurement, Quantity, RotationIncrements

__all__ = ["MAX_HUBS", "ROTATION", "rank_by_motion"]

# Cameras that are tried as the one that the others are measured against.
MAX_HUBS = 3


def measure_cameras(
    evidence: ClipEvidence, known: Sequence[PairMeasurement], max_offset_s: float
) -> list[PairMeasurement]:
    """Measure cameras against gyroscopes, or else against one another and a CAN yaw rate.

    Cameras that no gyroscope explains, or all where there is none, are measured against the camera
    that moves most and against a CAN yaw rate: a star, not all pairs, because pairs that share a
    camera share its noise and would feign agreement.
    """
    measured: list[PairMeasurement] = []
    alone = dict(evidence.rotations)
    for imu, motion in evidence.motion.items():
        gyro = motion.get(Quantity.ANGULAR_RATE)
        if gyro is None:
            continue
        for name in list(alone):
            pair = measure_camera_gyro(
                alone[name],
                gyro,
                max_offset_s=evidence.reach_s(name, imu, max_offset_s),
                is_one_clock=evidence.share_a_clock(name, imu),
            )
            measured.append(pair)
            if pair.accepted:
                del alone[name]
    # Where a robot's state explains some cameras, they do not ride on one rigid body.
    if not alone or any(
        pair.accepted and pair.source in evidence.picture_motions for pair in known
    ):
        return measured
    if not evidence.rotations.keys() - evidence.sampled:
        return measured  # frames that were chosen by a gyroscope's motion vouch for no other camera
    hub, pairs = _star(evidence, alone, max_offset_s)
    measured += pairs
    if hub in alone:
        measured += [
            measure_yaw_camera(
                motion[Quantity.YAW_RATE],
                evidence.rotations[hub],
                max_offset_s=max_offset_s,
                is_one_clock=evidence.share_a_clock(bus, hub),
            )
            for bus, motion in evidence.motion.items()
            if Quantity.YAW_RATE in motion
        ]
    return measured


ROTATION = Estimator(name="rotation", methods=("rotation", "yaw_rotation"), measure=measure_cameras)


def _star(
    evidence: ClipEvidence, alone: dict[str, RotationIncrements], max_offset_s: float
) -> tuple[str, list[PairMeasurement]]:
    """Measure cameras against one of them: of the liveliest few the one that most agree with.

    What looks lively may be a near wall that passes by.
    """
    lively = [name for name in rank_by_motion(evidence) if name not in evidence.sampled]
    best, most, found = lively[0], -1, list[PairMeasurement]()
    for hub in lively[:MAX_HUBS]:
        pairs = [
            measure_camera_camera(
                rotation,
                evidence.rotations[hub],
                max_offset_s=max_offset_s,
                is_one_clock=evidence.share_a_clock(name, hub),
            )
            for name, rotation in alone.items()
            if name != hub
        ]
        n_accepted = sum(pair.accepted for pair in pairs)
        if n_accepted > most:
            best, most, found = hub, n_accepted, pairs
        if n_accepted == len(pairs):
            break
    return best, found


def rank_by_motion(evidence: ClipEvidence) -> list[str]:
    """Return the cameras whose rotation could be tracked, the one that moves most first."""
    return sorted(evidence.rotations, key=lambda name: -_liveliness(evidence.rotations[name]))


def _liveliness(rotation: RotationIncrements) -> float:
    """Information on a delay that a camera's own rotation holds: changes over noise."""
    change = np.diff(rotation.angles_rad, axis=0)
    noise = np.maximum(np.median(rotation.std_rad, axis=0), 1e-5)
    return float(np.sum((np.median(np.abs(change), axis=0) / noise) ** 2)) * len(change)
