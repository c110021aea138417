"""A gyroscope in degrees is recognised by the sources it was compared with."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from syncaudit.graph.solve import solve_clocks
from syncaudit.model import Clip, ClipRecord, ImuSpec, PairMeasurement
from syncaudit.policy.case import Case
from syncaudit.policy.sources import check_units
from testkit.judged_clips import POLICY, RIG
from testkit.measured_pairs import AT_NS, pair, refused_pair

DEGREES = math.pi / 180.0


def seen(source: str, gain: float, method: str = "rotation") -> PairMeasurement:
    return refused_pair(source, "imu", "its gain", method=method, diagnostics={"gain": gain})


def told(*measurements: PairMeasurement, imu: ImuSpec | None = None) -> list[str]:
    clip = Clip(clip_id="c", recording_id="c", sources={**RIG, "imu": imu or RIG["imu"]})
    solution = solve_clocks(
        measurements, {name: name for name in RIG}, at_ns=AT_NS, tolerance_s={}, span_s=20.0
    )
    record = ClipRecord(at_ns=AT_NS, span_s=20.0, max_offset_s=2.0)
    case = Case(
        clip=clip,
        policy=POLICY,
        record=replace(record, measurements=measurements),
        solution=solution,
        measurements=measurements,
    )
    return [finding.message for finding in check_units(case).findings]


BY_ALL = (
    seen("cam_front", 1.02 * DEGREES),
    seen("cam_rear", 0.97 * DEGREES),
    seen("can", DEGREES, "yaw_rate"),
)


def test_a_gyroscope_in_degrees_is_told_with_the_line_that_states_it() -> None:
    (message,) = told(*BY_ALL)
    assert "imu looks like degrees, not radians: 3 sources" in message
    assert '"units": {"gyro": "deg/s"}' in message


@pytest.mark.parametrize(
    "measurements",
    [
        BY_ALL[:1],  # one camera may be stabilised
        (seen("cam_front", 1.3 * DEGREES), seen("cam_rear", 1.3 * DEGREES)),
        (BY_ALL[0], seen("cam_rear", 0.3), seen("can", 0.4, "yaw_rate")),
        (pair("cam_front", "imu", 0.0), pair("cam_rear", "imu", 0.0)),
        (),
    ],
)
def test_no_unit_is_told_that_the_motion_does_not_show(
    measurements: tuple[PairMeasurement, ...],
) -> None:
    assert told(*measurements) == []


def test_a_stated_unit_is_believed() -> None:
    assert told(*BY_ALL, imu=ImuSpec(uri="imu.csv", units={"gyro": "deg/s"})) == []
