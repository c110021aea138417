"""Decide which pairs of sources are measured, and by which method."""

from __future__ import annotations

import numpy as np

from syncaudit.estimators import (
    estimate_knocks,
    estimate_microphones,
    limit_light,
    measure_camera_camera,
    measure_camera_gyro,
    measure_camera_state,
    measure_can_imu,
    measure_flashes,
    measure_imu_imu,
    measure_speech,
    measure_states,
    measure_yaw_camera,
)
from syncaudit.model import (
    Activity,
    BandEnergies,
    FlashEdges,
    FlashIntervals,
    PairMeasurement,
    Quantity,
    RotationIncrements,
    SpokenTier,
)
from syncaudit.pipeline.clip_evidence import ClipEvidence
from syncaudit.pipeline.searched import still_sources, with_range

__all__ = ["MAX_HUBS", "measure_pairs", "rank_by_motion"]

# Cameras that are tried as the one that the others are measured against.
MAX_HUBS = 3

INERTIAL = (Quantity.ANGULAR_RATE, Quantity.SPECIFIC_FORCE)


def measure_pairs(evidence: ClipEvidence, *, max_offset_s: float) -> list[PairMeasurement]:
    """Measure every pair that can vouch for one another.

    Cameras are measured against a gyroscope. Those that no gyroscope explains, or all where there
    is none, are measured against the camera that moves most and against a CAN yaw rate: a star,
    not all pairs, because pairs that share a camera share its noise and would feign agreement.
    Where the clip holds a robot's state, cameras are measured against that.

    Parameters
    ----------
    evidence : ClipEvidence
        Of one clip.
    max_offset_s : float
        Search range.

    Returns
    -------
    list of PairMeasurement
        Accepted and refused.
    """
    imus = {
        name: motion
        for name, motion in evidence.motion.items()
        if any(quantity in motion for quantity in INERTIAL)
    }
    measured: list[PairMeasurement] = []
    measured += _imus(evidence, imus, max_offset_s)
    for name, signals in evidence.motion.items():
        if name in imus:
            continue
        for other, imu in imus.items():
            measured += measure_can_imu(
                signals,
                imu,
                max_offset_s=max_offset_s,
                is_one_clock=evidence.share_a_clock(name, other),
            )
    robot = _robot(evidence, max_offset_s)
    tied = {pair.source for pair in robot if pair.accepted}
    measured += robot
    measured += _cameras(evidence, imus, tied, max_offset_s)
    measured += _sounds(evidence, imus, max_offset_s)
    measured += _flashes(evidence, max_offset_s)
    measured += [
        _speech(spoken, evidence.bands.get(spoken.audio), max_offset_s)
        for spoken in evidence.spoken.values()
    ]
    still = still_sources(evidence)
    return [with_range(pair, max_offset_s, still) for pair in measured]


def _speech(spoken: SpokenTier, sound: BandEnergies | None, max_offset_s: float) -> PairMeasurement:
    if sound is None:
        why = "its audio could not be read, is silent, or is sampled below 6 kHz"
        return PairMeasurement.refused(spoken.source, spoken.audio, "speech", 0, why)
    return measure_speech(spoken, sound, max_offset_s=max_offset_s)


def _flashes(evidence: ClipEvidence, max_offset_s: float) -> list[PairMeasurement]:
    """Measure the sources that noticed light pulses: the sharpest pairs that connect them.

    Which cameras see the same pulses is a matter of their phases, so all pairs are tried. More
    than a tree of them would count each camera's noise twice.
    """
    seen = limit_light([*evidence.triggers.values(), *evidence.flashes.values()])
    noticed = {item.source: item for item in seen}
    if not any(_is_by_camera(found) for found in evidence.flashes.values()):
        return []
    names = list(noticed)
    pairs = [
        measure_flashes(noticed[name], noticed[other], max_offset_s=max_offset_s)
        for k, name in enumerate(names)
        for other in names[:k]
    ]
    tree: list[PairMeasurement] = []
    group = {name: {name} for name in names}
    for pair in sorted(pairs, key=lambda pair: pair.offset_std_s or np.inf):
        if pair.accepted and group[pair.source] is not group[pair.target]:
            tree.append(pair)
            joined = group[pair.source] | group[pair.target]
            group.update(dict.fromkeys(joined, joined))
    # Of a source that stays alone, one refusal says why: of the pair that came nearest.
    for name in names:
        if len(group[name]) == 1 < len(names):
            own = [pair for pair in pairs if name in (pair.source, pair.target)]
            nearest = max(own, key=lambda pair: pair.nearness)
            tree += [] if nearest in tree else [nearest]
    return tree


def _is_by_camera(found: FlashEdges | FlashIntervals) -> bool:
    return isinstance(found, FlashEdges) or found.quantity is Quantity.FLASH


def _robot(evidence: ClipEvidence, max_offset_s: float) -> list[PairMeasurement]:
    """Measure cameras against what a robot did, and what it was told against what it did.

    Cameras are held against a command only where nothing tells what the robot did: the arm trails
    it. Where several sources tell of the robot, the first is the one the others are held against.
    Those in which nothing moves are refused, with the reason.
    """
    still = [
        PairMeasurement.refused(name, other, method, 0, why)
        for k, (name, why) in enumerate(evidence.motionless.items())
        for other, method in (
            *((camera, "arm_motion") for camera in evidence.picture_motions),
            *((state, "joint_motion") for state in [*evidence.motionless][:k]),
        )
    ]
    told = [m[Quantity.COMMAND] for m in evidence.motion.values() if Quantity.COMMAND in m]
    did = [m[Quantity.STATE] for m in evidence.motion.values() if Quantity.STATE in m]
    if not told and not did:
        return still
    hub, *others = [*did, *told]
    return [
        *still,
        *(
            measure_states(
                other,
                hub,
                max_offset_s=max_offset_s,
                is_one_clock=evidence.share_a_clock(other.source, hub.source),
            )
            for other in others
        ),
        *(
            measure_camera_state(
                picture,
                hub,
                max_offset_s=max_offset_s,
                is_one_clock=evidence.share_a_clock(picture.source, hub.source),
            )
            for picture in evidence.picture_motions.values()
        ),
    ]


def _imus(
    evidence: ClipEvidence, imus: dict[str, dict[Quantity, Activity]], max_offset_s: float
) -> list[PairMeasurement]:
    names = list(imus)
    measured = []
    for k, name in enumerate(names[1:], start=1):
        for other in names[:k]:
            quantity = next((q for q in INERTIAL if q in imus[name] and q in imus[other]), None)
            if quantity is not None:
                measured.append(
                    measure_imu_imu(
                        imus[name][quantity],
                        imus[other][quantity],
                        max_offset_s=max_offset_s,
                        is_one_clock=evidence.share_a_clock(name, other),
                    )
                )
    return measured


def _cameras(
    evidence: ClipEvidence,
    imus: dict[str, dict[Quantity, Activity]],
    tied: set[str],
    max_offset_s: float,
) -> list[PairMeasurement]:
    measured: list[PairMeasurement] = []
    alone = dict(evidence.rotations)
    for imu, motion in imus.items():
        gyro = motion.get(Quantity.ANGULAR_RATE)
        if gyro is None:
            continue
        for name in list(alone):
            pair = measure_camera_gyro(
                alone[name],
                gyro,
                max_offset_s=max_offset_s,
                is_one_clock=evidence.share_a_clock(name, imu),
            )
            measured.append(pair)
            if pair.accepted:
                del alone[name]
    # Where a robot's state explains some cameras, they do not ride on one rigid body.
    if not alone or tied & set(evidence.picture_motions):
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


def _sounds(
    evidence: ClipEvidence, imus: dict[str, dict[Quantity, Activity]], max_offset_s: float
) -> list[PairMeasurement]:
    measured: list[PairMeasurement] = []
    names = list(evidence.sounds)
    for k, name in enumerate(names):
        measured += [
            estimate_microphones(
                evidence.sounds[name], evidence.sounds[other], max_offset_s=max_offset_s
            )
            for other in names[:k]
        ]
        loudness = evidence.loudness.get(name)
        if loudness is not None:
            measured += [
                estimate_knocks(
                    loudness,
                    motion[Quantity.SPECIFIC_FORCE],
                    source_clicks=evidence.clicks.get(name),
                    max_offset_s=max_offset_s,
                )
                for motion in imus.values()
                if Quantity.SPECIFIC_FORCE in motion
            ]
    return measured
