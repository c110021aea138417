"""Which cameras and states of a robot are measured, and against what."""

from __future__ import annotations

from collections.abc import Sequence

from syncaudit.estimators.protocol import Estimator
from syncaudit.estimators.state.measure import measure_camera_state
from syncaudit.estimators.state.states import measure_states
from syncaudit.model import ClipEvidence, PairMeasurement, Quantity

__all__ = ["ROBOT"]


def measure_robot(
    evidence: ClipEvidence,
    known: Sequence[PairMeasurement],  # noqa: ARG001  # one signature
    max_offset_s: float,
) -> list[PairMeasurement]:
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


ROBOT = Estimator(
    name="robot",
    methods=("arm_motion", "commanded_motion", "joint_motion", "command"),
    measure=measure_robot,
)
