"""Measurements with a baseline are judged against it, never against zero."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from syncaudit.model import CameraSpec, SourceSpec, StateSpec, Verdict
from syncaudit.policy import Baseline, Policy
from testkit.judged_clips import (
    GOOD,
    POLICY,
    judge_measured,
    reason_codes,
    source_verdicts,
    stamp_audit,
)
from testkit.measured_pairs import pair, refused_pair

STEERING = pair("can", "imu", 0.062, 0.002, method="steering", is_baseline_only=True)


def with_baseline(offset_s: float, tolerance_s: float | None = None) -> Policy:
    baseline = Baseline(offset_s=offset_s, tolerance_s=tolerance_s)
    return replace(POLICY, baselines={"steering": baseline})


def test_steering_is_never_judged_against_zero() -> None:
    result = judge_measured([*GOOD, STEERING])
    assert result.verdict is Verdict.PASS
    assert result.warnings == ()


def test_steering_alone_verifies_nothing() -> None:
    result = judge_measured([*GOOD[:2], STEERING])
    assert source_verdicts(result)["can"] == "unverified"
    assert result.reasons[0].message == (
        "can cannot be judged: steering can be judged only against a baseline in the policy"
    )


def test_steering_near_its_baseline_vouches_for_the_bus() -> None:
    result = judge_measured([*GOOD[:2], STEERING], policy=with_baseline(0.06))
    assert result.verdict is Verdict.PASS


def test_steering_far_from_its_baseline_rejects_the_bus() -> None:
    result = judge_measured([*GOOD[:2], STEERING], policy=with_baseline(0.03))
    assert reason_codes(result) == [("offset", "can")]
    assert result.reasons[0].message == (
        "steering between can and imu is 32 ± 2 ms away from its baseline of 30 ms; limit 20 ms"
    )


CELL: Mapping[str, SourceSpec] = {
    "wrist": CameraSpec(uri="w.mp4", stamp_kind="counter"),
    "top": CameraSpec(uri="t.mp4", stamp_kind="counter"),
    "state": StateSpec(uri="s.parquet", stamp_kind="counter"),
}


def test_camera_far_from_the_baseline_of_commands_is_blamed_itself() -> None:
    late = pair("wrist", "state", -0.207, 0.003, method="commanded_motion", is_baseline_only=True)
    policy = replace(POLICY, baselines={"commanded_motion": Baseline(offset_s=-0.09)})
    result = judge_measured([late], sources=CELL, policy=policy, reference=None)
    assert [source for code, source in reason_codes(result) if code == "offset"] == ["wrist"]


@pytest.mark.parametrize(
    ("offset_s", "words"),
    [
        (-0.138, ": about 4 frame periods, which counted timestamps cannot show"),
        (-0.050, ", which counted timestamps cannot show"),
    ],
)
def test_offset_behind_a_counter_is_told_in_frames(offset_s: float, words: str) -> None:
    measured = [
        pair("wrist", "state", offset_s, 0.003, method="arm_motion"),
        pair("top", "state", 0.001, 0.003, method="arm_motion"),
    ]
    stamps = {"wrist": replace(stamp_audit(is_synthetic=True), rate_hz=30.0)}
    result = judge_measured(measured, sources=CELL, stamps=stamps, reference="state")
    (late,) = [reason for reason in result.reasons if reason.source == "wrist"]
    assert late.message.startswith(f"wrist is {abs(1e3 * offset_s):.0f} ± 3 ms late")
    assert late.message.endswith(words)


def test_known_offset_of_the_bus_is_not_told_twice() -> None:
    shifted = pair("imu", "can", -0.05, 0.001, method="yaw_rate")
    steering = replace(STEERING, offset_s=0.112)
    result = judge_measured([*GOOD[:2], shifted, steering], policy=with_baseline(0.06, 0.01))
    assert reason_codes(result) == [("offset", "can")]
    assert result.reasons[0].message == "can is 50.0 ± 1.0 ms early; limit 20 ms"


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_baseline_between_clocks_of_which_one_is_poorly_known_tells_nothing(sign: float) -> None:
    vague = pair("imu", "can", 0.0, 0.02, method="yaw_rate")
    ends = ("can", "imu") if sign > 0.0 else ("imu", "can")
    steering = pair(*ends, sign * 0.062, 0.002, method="steering", is_baseline_only=True)
    result = judge_measured([*GOOD[:2], vague, steering], policy=with_baseline(sign * 0.03))
    assert "offset" not in [code for code, _ in reason_codes(result)]


def test_refused_steering_tells_nothing() -> None:
    weak = refused_pair("can", "imu", "weak", method="steering", is_baseline_only=True)
    result = judge_measured([*GOOD, weak], policy=with_baseline(0.0))
    assert result.verdict is Verdict.PASS


def test_uncertain_steering_tells_nothing() -> None:
    result = judge_measured(
        [*GOOD, replace(STEERING, offset_std_s=0.02)], policy=with_baseline(0.03)
    )
    assert result.verdict is Verdict.PASS
