"""Select which sources are measured against which: an estimator for each kind of evidence."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from syncaudit.estimators.events.exposures import (
    allow_for_light,
    allow_for_rise,
    settle_exposures,
    share_half_light,
    states_nothing,
)
from syncaudit.estimators.events.flashes import METHOD, measure_flashes
from syncaudit.estimators.events.instants import EventEvidence, is_by_camera
from syncaudit.estimators.events.light_length import find_light_length, limit_light
from syncaudit.estimators.events.scans import READ_UP, find_scans, without_ends, word_undecided_scan
from syncaudit.estimators.inertial import measure_imu_imu
from syncaudit.estimators.knocks import measure as knocks
from syncaudit.estimators.protocol import Estimator
from syncaudit.estimators.rotation import (
    measure_camera_camera,
    measure_camera_gyro,
    measure_camera_yaw,
)
from syncaudit.estimators.sound import measure as sound
from syncaudit.estimators.speech import measure as speech
from syncaudit.estimators.state.measure import measure_camera_state
from syncaudit.estimators.state.states import measure_states
from syncaudit.estimators.vehicle import BUS_METHODS, measure_can_imu
from syncaudit.model import (
    Activity,
    BandEnergies,
    ClipEvidence,
    FlashEdges,
    PairMeasurement,
    Quantity,
    RotationIncrements,
    SpokenTier,
)

_Known: TypeAlias = Sequence[PairMeasurement]
_Pairs: TypeAlias = list[PairMeasurement]

_INERTIAL = (Quantity.ANGULAR_RATE, Quantity.SPECIFIC_FORCE)
# Number of cameras tried as the one that the others are measured against.
MAX_HUBS = 3


def _measure_imus(evidence: ClipEvidence, _known: _Known, max_offset_s: float) -> _Pairs:
    """Measure every two IMUs by a quantity that both have, rotation before force.

    The source is searched for in the target, so the longer log is the target.
    """
    imus = _imus(evidence)
    names = sorted(imus, key=lambda name: name not in evidence.undated)
    return [
        measure_imu_imu(
            imus[name][quantity],
            imus[other][quantity],
            max_offset_s=evidence.reach_s(name, other, max_offset_s),
            is_one_clock=evidence.share_a_clock(name, other),
        )
        for k, name in enumerate(names)
        for other in names[:k]
        for quantity in [q for q in _INERTIAL if q in imus[name] and q in imus[other]][:1]
    ]


def _measure_buses(evidence: ClipEvidence, _known: _Known, max_offset_s: float) -> _Pairs:
    """Measure every bus against every IMU by all quantities of motion that both have."""
    imus = _imus(evidence)
    return [
        pair
        for name, signals in evidence.motion.items()
        if name not in imus
        for other, imu in imus.items()
        for pair in measure_can_imu(
            signals,
            imu,
            max_offset_s=evidence.reach_s(name, other, max_offset_s),
            is_one_clock=evidence.share_a_clock(name, other),
        )
    ]


IMUS = Estimator(name="imus", methods=tuple(map(str, _INERTIAL)), measure=_measure_imus)
BUSES = Estimator(name="buses", methods=BUS_METHODS, measure=_measure_buses)


def _imus(evidence: ClipEvidence) -> dict[str, dict[Quantity, Activity]]:
    return {
        name: motion
        for name, motion in evidence.motion.items()
        if any(quantity in motion for quantity in _INERTIAL)
    }


def _measure_robot(evidence: ClipEvidence, _known: _Known, max_offset_s: float) -> _Pairs:
    """Measure cameras against a robot's state, and its commands against its state.

    Cameras are compared with a command only where there is no state, because the arm lags behind
    the command. Where several sources describe the robot, the others are compared with the first.
    Those in which nothing moves are refused, with the reason.
    """
    still = [
        PairMeasurement.refused(name, other, method, 0, why)
        for k, (name, why) in enumerate(evidence.motionless.items())
        for other, method in (
            *((camera, "arm_motion") for camera in evidence.image_motions),
            *((state, "joint_motion") for state in [*evidence.motionless][:k]),
        )
    ]
    commands = [m[Quantity.COMMAND] for m in evidence.motion.values() if Quantity.COMMAND in m]
    did = [m[Quantity.STATE] for m in evidence.motion.values() if Quantity.STATE in m]
    if not commands and not did:
        return still
    hub, *others = [*did, *commands]
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
                frame,
                hub,
                max_offset_s=max_offset_s,
                is_one_clock=evidence.share_a_clock(frame.source, hub.source),
            )
            for frame in evidence.image_motions.values()
        ),
    ]


ROBOT = Estimator(
    name="robot",
    methods=("arm_motion", "commanded_motion", "joint_motion", "command"),
    measure=_measure_robot,
)


def _measure_microphones(evidence: ClipEvidence, _known: _Known, max_offset_s: float) -> _Pairs:
    """Measure every two microphones by their waveforms."""
    heard = list(evidence.sounds.values())
    return [
        sound.estimate_microphones(source, target, max_offset_s=max_offset_s)
        for k, source in enumerate(heard)
        for target in heard[:k]
    ]


def _measure_knocks(evidence: ClipEvidence, _known: _Known, max_offset_s: float) -> _Pairs:
    """Measure every microphone against every accelerometer by knocks that both recorded."""
    return [
        knocks.estimate_knocks(
            evidence.loudness[name],
            motion[Quantity.SPECIFIC_FORCE],
            clicks=evidence.clicks.get(name),
            max_offset_s=max_offset_s,
        )
        for name in evidence.sounds
        if name in evidence.loudness
        for motion in evidence.motion.values()
        if Quantity.SPECIFIC_FORCE in motion
    ]


def _measure_transcripts(evidence: ClipEvidence, _known: _Known, max_offset_s: float) -> _Pairs:
    """Measure every transcript with times against its audio."""
    return [
        _transcript(spoken, evidence.bands.get(spoken.audio), max_offset_s)
        for spoken in evidence.spoken.values()
    ]


MICROPHONES = Estimator(name="microphones", methods=(sound.METHOD,), measure=_measure_microphones)
KNOCKS = Estimator(name="knocks", methods=(knocks.METHOD,), measure=_measure_knocks)
SPEECH = Estimator(name="speech", methods=(speech.METHOD,), measure=_measure_transcripts)


def _transcript(
    spoken: SpokenTier, heard: BandEnergies | None, max_offset_s: float
) -> PairMeasurement:
    if heard is None:
        why = "its audio could not be read, is silent, or is sampled below 6 kHz"
        return PairMeasurement.refused(spoken.source, spoken.audio, speech.METHOD, 0, why)
    return speech.measure_speech(spoken, heard, max_offset_s=max_offset_s)


def measure_light(evidence: ClipEvidence, _known: _Known, max_offset_s: float) -> _Pairs:
    """Measure the sources that recorded light pulses: the sharpest pairs that connect them.

    Which cameras see the same pulses depends on their phases, so all pairs are tried. Only a tree
    of them is kept, because more pairs would count each camera's noise twice.
    """
    if not any(is_by_camera(found) for found in evidence.flashes.values()):
        return []
    recorded = without_ends([*evidence.triggers.values(), *evidence.flashes.values()])
    found = {item.source: item for item in recorded}
    scans = find_scans(found, max_offset_s=max_offset_s)
    as_read = [
        item.mirrored() if isinstance(item, FlashEdges) and name in scans.found else item
        for name, item in found.items()
        if name not in scans.undecided
    ]
    names = [item.source for item in as_read]
    pairs = _measure_flashes(as_read, {}, max_offset_s)
    line_delays_s = _known_line_delays_s(
        [item.source for item in as_read if states_nothing(item)], pairs
    )
    if line_delays_s:
        pairs = _measure_flashes(as_read, line_delays_s, max_offset_s)
    tree: list[PairMeasurement] = []
    group = {name: {name} for name in names}
    for pair in sorted(pairs, key=lambda pair: pair.offset_std_s or np.inf):
        if pair.accepted and group[pair.source] is not group[pair.target]:
            tree.append(pair)
            joined = group[pair.source] | group[pair.target]
            group.update(dict.fromkeys(joined, joined))
    # A source that stays alone gets one refusal with the reason: that of the pair that came
    # nearest.
    for name in names:
        if len(group[name]) == 1 < len(names):
            own = [pair for pair in pairs if name in (pair.source, pair.target)]
            nearest = max(own, key=lambda pair: pair.nearness)
            tree += [] if nearest in tree else [nearest]
    for name, scan in scans.undecided.items():
        other = next(each for each in found if each != name)
        why = word_undecided_scan(name, scan)
        tree.append(PairMeasurement.refused(name, other, METHOD, 0, why))
    return [_marked(pair, scans.found) for pair in tree]


def _measure_flashes(
    recorded: Sequence[EventEvidence], line_delays_s: Mapping[str, float], max_offset_s: float
) -> _Pairs:
    """Measure every two sources by the flashes that both recorded.

    `line_delays_s` are known ones of cameras that state neither line delay nor exposure.
    """
    settled = settle_exposures(recorded, line_delays_s)
    seen = share_half_light(allow_for_rise(allow_for_light(limit_light(settled))))
    light = find_light_length(seen, max_offset_s=max_offset_s)
    noticed = [light.narrowed(item) for item in seen]
    return [
        measure_flashes(item, other, max_offset_s=max_offset_s)
        for k, item in enumerate(noticed)
        for other in noticed[:k]
    ]


def _known_line_delays_s(names: Collection[str], pairs: _Pairs) -> dict[str, float]:
    """Return the line delays of some cameras that pairs determine, the best of each."""
    found: dict[str, tuple[float, float]] = {}
    for pair in pairs:
        for side, name in (("source", pair.source), ("target", pair.target)):
            figures = pair.diagnostics
            if pair.accepted and name in names and figures.get(f"{side}_line_delay_known"):
                own = figures[f"{side}_line_delay_std_s"], figures[f"{side}_line_delay_s"]
                found[name] = min(own, found.get(name, own))
    return {name: line_delay_s for name, (_, line_delay_s) in found.items()}


def _marked(pair: PairMeasurement, read_up: Collection[str]) -> PairMeasurement:
    """Return the measurement with a figure for each side whose images are read upwards."""
    sides = {"source": pair.source, "target": pair.target}
    marks = {f"{side}_{READ_UP}": 1.0 for side, name in sides.items() if name in read_up}
    return replace(pair, diagnostics={**pair.diagnostics, **marks}) if marks else pair


LIGHT = Estimator(name="light", methods=(METHOD,), measure=measure_light)


def measure_cameras(
    evidence: ClipEvidence, known: Sequence[PairMeasurement], max_offset_s: float
) -> list[PairMeasurement]:
    """Measure cameras against gyroscopes, or else against one another and a CAN yaw rate.

    Cameras that no gyroscope explains, or all where there is none, are measured against the one of
    them that moves most, and that one against a CAN yaw rate. They form a star rather than all
    pairs, because pairs that share a camera share its noise and would seem to agree. A camera that
    a gyroscope explains is no witness for them: the gyroscope would have explained them as well,
    unless they are stabilised or not fixed to it.
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
    # Where a robot's state explains some cameras, they are not fixed to one rigid body.
    if not alone or any(pair.accepted and pair.source in evidence.image_motions for pair in known):
        return measured
    if not alone.keys() - evidence.sampled:
        return measured  # frames selected by a gyroscope's motion are no evidence between cameras
    hub, pairs = _star(evidence, alone, max_offset_s)
    yaws = [
        measure_camera_yaw(
            alone[hub],
            motion[Quantity.YAW_RATE],
            max_offset_s=max_offset_s,
            is_one_clock=evidence.share_a_clock(bus, hub),
        )
        for bus, motion in evidence.motion.items()
        if Quantity.YAW_RATE in motion
    ]
    return [*measured, *pairs, *yaws]


ROTATION = Estimator(name="rotation", methods=("rotation", "yaw_rotation"), measure=measure_cameras)


def _star(
    evidence: ClipEvidence, alone: dict[str, RotationIncrements], max_offset_s: float
) -> tuple[str, list[PairMeasurement]]:
    """Measure cameras against one of them: among the liveliest few, the one most agree with.

    A camera may look lively only because a nearby wall passes by.
    """
    witnesses = alone.keys() - evidence.sampled
    lively = [name for name in rank_by_motion(evidence) if name in witnesses]
    best, most, found = lively[0], -1, list[PairMeasurement]()
    known: dict[tuple[str, str], PairMeasurement] = {}
    for hub in lively[:MAX_HUBS]:
        others = [name for name in alone if name != hub]
        for name in others:
            if (name, hub) not in known:
                pair = measure_camera_camera(
                    alone[name],
                    alone[hub],
                    max_offset_s=max_offset_s,
                    is_one_clock=evidence.share_a_clock(name, hub),
                )
                known[name, hub], known[hub, name] = pair, pair.turned()
        pairs = [known[name, hub] for name in others]
        n_accepted = sum(pair.accepted for pair in pairs)
        if n_accepted > most:
            best, most, found = hub, n_accepted, pairs
        if n_accepted == len(pairs):
            break
    return best, found


def rank_by_motion(evidence: ClipEvidence) -> list[str]:
    """Return the cameras whose rotation was tracked, in decreasing order of motion."""
    return sorted(evidence.rotations, key=lambda name: -_liveliness(evidence.rotations[name]))


def _liveliness(rotation: RotationIncrements) -> float:
    """Return the information on a delay in a camera's own rotation: changes over noise."""
    change = np.diff(rotation.angles_rad, axis=0)
    noise = np.maximum(np.median(rotation.std_rad, axis=0), 1e-5)
    return float(np.sum((np.median(np.abs(change), axis=0) / noise) ** 2)) * len(change)
