"""Which sources that ride on one body are measured: IMUs against one another, and buses."""

from __future__ import annotations

from collections.abc import Sequence

from syncaudit.estimators.inertial import measure_imu_imu
from syncaudit.estimators.protocol import Estimator
from syncaudit.estimators.vehicle import BUS_METHODS, measure_can_imu
from syncaudit.model import Activity, ClipEvidence, PairMeasurement, Quantity

__all__ = ["BUSES", "IMUS"]

_INERTIAL = (Quantity.ANGULAR_RATE, Quantity.SPECIFIC_FORCE)


def measure_imus(
    evidence: ClipEvidence,
    known: Sequence[PairMeasurement],  # noqa: ARG001  # one signature
    max_offset_s: float,
) -> list[PairMeasurement]:
    """Measure every two IMUs by a quantity that both have, rotation before force."""
    imus = _imus(evidence)
    names = list(imus)
    return [
        measure_imu_imu(
            imus[name][quantity],
            imus[other][quantity],
            max_offset_s=max_offset_s,
            is_one_clock=evidence.share_a_clock(name, other),
        )
        for k, name in enumerate(names)
        for other in names[:k]
        for quantity in [q for q in _INERTIAL if q in imus[name] and q in imus[other]][:1]
    ]


def measure_buses(
    evidence: ClipEvidence,
    known: Sequence[PairMeasurement],  # noqa: ARG001  # one signature
    max_offset_s: float,
) -> list[PairMeasurement]:
    """Measure every bus against every IMU by all that both tell of the vehicle's motion."""
    imus = _imus(evidence)
    return [
        pair
        for name, signals in evidence.motion.items()
        if name not in imus
        for other, imu in imus.items()
        for pair in measure_can_imu(
            signals,
            imu,
            max_offset_s=max_offset_s,
            is_one_clock=evidence.share_a_clock(name, other),
        )
    ]


IMUS = Estimator(name="imus", methods=tuple(map(str, _INERTIAL)), measure=measure_imus)
BUSES = Estimator(name="buses", methods=BUS_METHODS, measure=measure_buses)


def _imus(evidence: ClipEvidence) -> dict[str, dict[Quantity, Activity]]:
    return {
        name: motion
        for name, motion in evidence.motion.items()
        if any(quantity in motion for quantity in _INERTIAL)
    }
