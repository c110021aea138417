"""Offsets, drifts and steps of a source are judged against its limits, and described."""

from __future__ import annotations

from dataclasses import replace

import pytest

from syncaudit.model import CameraSpec, ReasonCode, Verdict
from testkit.judged_clips import (
    GOOD,
    POLICY,
    RIG,
    judge_measured,
    reason_codes,
    source_verdicts,
    stamp_audit,
)
from testkit.measured_pairs import AT_NS, pair


def test_everything_in_time_passes() -> None:
    result = judge_measured()
    assert result.verdict is Verdict.PASS
    assert set(source_verdicts(result).values()) == {"pass"}
    assert result.reasons == result.warnings == ()
    assert (result.clip_id, result.recording_id) == ("drive07/1", "drive07")
    assert (result.reference, result.at_ns) == ("imu", AT_NS)
    assert result.pairs == GOOD
    assert (result.seconds, dict(result.stages)) == (1.9, {"read": 0.4, "detect": 1.5})
    row = result.to_json()["sources"]
    assert isinstance(row, dict)
    assert row["cam_rear"]["offset_s"] == pytest.approx(-0.0001)
    assert row["cam_rear"]["observable"] is True


@pytest.mark.parametrize(("sign", "word"), [(1.0, "early"), (-1.0, "late")])
def test_shifted_camera_is_rejected_in_words(sign: float, word: str) -> None:
    result = judge_measured([GOOD[0], pair("cam_rear", "imu", sign * 0.0351, 0.0006), GOOD[2]])
    assert result.verdict is Verdict.REJECT
    assert source_verdicts(result) == {
        "cam_front": "pass",
        "cam_rear": "reject",
        "imu": "pass",
        "can": "pass",
    }
    (reason,) = result.reasons
    assert reason.message == f"cam_rear is 35.1 ± 0.6 ms {word}; limit 10 ms"
    assert reason.code is ReasonCode.OFFSET
    assert reason.value == pytest.approx(sign * 0.0351)
    assert reason.limit == pytest.approx(0.010)


def test_intended_offset_is_named() -> None:
    sources = dict(RIG) | {"cam_rear": CameraSpec(uri="r.mp4", expected_offset_s=0.02)}
    result = judge_measured(
        [GOOD[0], pair("cam_rear", "imu", 0.0351, 0.0006), GOOD[2]], sources=sources
    )
    expected = "cam_rear is 35.1 ± 0.6 ms early beyond the intended 20 ms; limit 10 ms"
    assert result.reasons[0].message == expected


@pytest.mark.parametrize(
    ("offset_s", "std_s", "expected"),
    [
        (0.0078, 0.0010, "pass"),  # 7.8 + 1.96 * 1.12 = 9.99 ms at an end, 50 ppm * 10 s included
        (0.0080, 0.0010, "unverified"),
        (0.0081, 0.0010, "unverified"),
        (0.0119, 0.0010, "unverified"),
        (0.0120, 0.0010, "reject"),  # 12 - 1.96 = 10.04 ms
        (-0.0078, 0.0010, "pass"),
        (-0.0120, 0.0010, "reject"),
        (0.0, 0.0050, "pass"),
        (0.0, 0.0052, "unverified"),
    ],
)
def test_three_way_test_at_95_percent(offset_s: float, std_s: float, expected: str) -> None:
    result = judge_measured([GOOD[0], pair("cam_rear", "imu", offset_s, std_s), GOOD[2]])
    assert source_verdicts(result)["cam_rear"] == expected
    assert str(result.verdict) == expected


def test_confidence_widens_the_interval() -> None:
    measurements = [GOOD[0], pair("cam_rear", "imu", 0.0120, 0.0010), GOOD[2]]
    result = judge_measured(measurements, policy=replace(POLICY, confidence=0.99))
    assert source_verdicts(result)["cam_rear"] == "unverified"


def test_too_uncertain_says_what_would_tell() -> None:
    result = judge_measured([GOOD[0], pair("cam_rear", "imu", 0.008, 0.0032), GOOD[2]])
    assert reason_codes(result) == [("unobservable", "cam_rear")]
    assert result.reasons[0].message == (
        "cam_rear is 8 ± 3 ms early, too uncertain for the limit of 10 ms: a standard error "
        "below 1.02 ms is needed"
    )


def test_drift_takes_a_clock_out_at_the_end() -> None:
    drifting = pair("cam_rear", "imu", 0.002, drift_ppm=1500.0, drift_std_ppm=20.0)
    result = judge_measured([GOOD[0], drifting, GOOD[2]])
    (reason,) = result.reasons
    assert reason.code is ReasonCode.DRIFT
    assert reason.message == (
        "cam_rear drifts 1500 ± 20 ppm (5400 ms/h): 17.0 ± 0.4 ms early at the end of "
        "the clip; limit 10 ms"
    )
    assert reason.value == pytest.approx(0.017)


def test_drift_may_take_a_clock_out() -> None:
    drifting = pair("cam_rear", "imu", 0.002, drift_ppm=790.0, drift_std_ppm=20.0)
    result = judge_measured([GOOD[0], drifting, GOOD[2]])
    assert reason_codes(result) == [("unobservable", "cam_rear")]
    assert "but its drift of 790 ± 20 ppm (2844 ms/h) may take it past" in result.reasons[0].message


def test_worthless_drift_does_not_forbid_a_pass() -> None:
    vague = pair("cam_rear", "imu", 0.002, drift_ppm=300.0, drift_std_ppm=3000.0)
    assert judge_measured([GOOD[0], vague, GOOD[2]]).verdict is Verdict.PASS


@pytest.mark.parametrize(
    ("drift", "std", "expected", "words"),
    [
        (10.0, 5.0, "pass", ""),
        (35.0, 5.0, "unverified", "too uncertain for the limit of 40 ppm"),
        (60.0, 5.0, "reject", "cam_rear drifts 60 ± 5 ppm (216 ms/h); limit 40 ppm"),
        (None, None, "unverified", "the drift of cam_rear could not be measured"),
    ],
)
def test_limit_on_drift(drift: float | None, std: float | None, expected: str, words: str) -> None:
    policy = replace(POLICY, overrides={"cam_rear": {"drift_ppm": 40.0}})
    drifting = pair("cam_rear", "imu", 0.0, drift_ppm=drift, drift_std_ppm=std)
    result = judge_measured([GOOD[0], drifting, GOOD[2]], policy=policy)
    assert source_verdicts(result)["cam_rear"] == expected
    assert words in "".join(finding.message for finding in result.reasons)


def test_step_beyond_its_limit() -> None:
    stepped = pair(
        "cam_rear", "imu", -0.006, step_s=0.012, step_std_s=0.0005, step_at_ns=AT_NS + 2 * 10**9
    )
    result = judge_measured([GOOD[0], stepped, GOOD[2]])
    (reason,) = result.reasons
    assert reason.code is ReasonCode.STEP
    assert reason.message == ("cam_rear jumps 12.0 ± 0.5 ms at 12.0 s; limit 10 ms")


def test_error_of_the_instant_of_a_step() -> None:
    stepped = pair(
        "cam_rear",
        "imu",
        -0.006,
        step_s=0.012,
        step_std_s=0.0005,
        step_at_ns=AT_NS + 2 * 10**9,
        diagnostics={"step_at_std_s": 1.3},
    )
    result = judge_measured([GOOD[0], stepped, GOOD[2]])
    (reason,) = result.reasons
    assert " at 12.0 ± 1.3 s; limit 10 ms" in reason.message


def test_step_that_takes_the_offset_out() -> None:
    stepped = pair(
        "cam_rear", "imu", 0.006, step_s=0.008, step_std_s=0.0005, step_at_ns=AT_NS + 2 * 10**9
    )
    result = judge_measured([GOOD[0], stepped, GOOD[2]])
    (reason,) = result.reasons
    assert reason.code is ReasonCode.STEP
    assert "and is 14.0 ± 0.6 ms early at the end of the clip; limit 10 ms" in reason.message


def test_step_that_may_take_the_offset_out() -> None:
    stepped = pair(
        "cam_rear", "imu", 0.004, step_s=-0.0055, step_std_s=0.0009, step_at_ns=AT_NS - 2 * 10**9
    )
    result = judge_measured([GOOD[0], stepped, GOOD[2]])
    assert reason_codes(result) == [("unobservable", "cam_rear")]
    assert "but its jump by 5.5 ± 0.9 ms may take it past" in result.reasons[0].message


def test_step_outside_the_clip_does_not_count() -> None:
    stepped = pair(
        "cam_rear", "imu", 0.006, step_s=0.008, step_std_s=0.0005, step_at_ns=AT_NS + 60 * 10**9
    )
    assert judge_measured([GOOD[0], stepped, GOOD[2]]).verdict is Verdict.PASS


# Whole frame periods


@pytest.mark.parametrize(
    ("offset_s", "std_s", "words"),
    [
        (2 / 12, 0.001, ": exactly 2 frame periods, likely 2 frames lost and"),
        (-1 / 12 + 0.001, 0.001, ": exactly 1 frame period, likely 1 frame doubled and"),
        (0.035, 0.001, None),
        (2 / 12, 0.02, None),  # any offset would fit
        (60.0, 0.001, None),  # longer than the clip: another epoch
    ],
)
def test_offset_of_whole_frame_periods_smells_of_lost_frames(
    offset_s: float, std_s: float, words: str | None
) -> None:
    rear = replace(GOOD[1], offset_s=offset_s, offset_std_s=std_s)
    result = judge_measured([GOOD[0], rear, GOOD[2]], stamps={"cam_rear": stamp_audit()})
    (message,) = [f.message for f in result.reasons if f.source == "cam_rear"]
    assert ("frame period" in message) == (words is not None)
    assert words is None or words in message
    (plain,) = [f.message for f in judge_measured([GOOD[0], rear, GOOD[2]]).reasons]
    assert "frame period" not in plain  # no timestamps, no period


def test_jump_seen_by_stamps_and_content_is_one_reason() -> None:
    rear = replace(GOOD[1], step_s=0.06, step_std_s=0.001, step_at_ns=AT_NS + 10**9)
    stepped = stamp_audit(steps=((AT_NS + 10**9, -0.06),))
    result = judge_measured([GOOD[0], rear, GOOD[2]], stamps={"cam_rear": stepped})
    assert reason_codes(result) == [("step", "cam_rear")]
    assert "early at the end of the clip" in result.reasons[0].message


def test_clock_that_is_good_on_one_side_of_a_step_is_told_by_the_step() -> None:
    before = replace(GOOD[1], offset_s=0.0, step_s=0.06, step_std_s=0.001, step_at_ns=AT_NS - 10**9)
    for shift_s, words in ((0.06, "from then on"), (0.0, "early at the end")):
        at_ns = AT_NS - 10**9 if shift_s else AT_NS + 10**9
        rear = replace(before, offset_s=shift_s, step_at_ns=at_ns)
        result = judge_measured([GOOD[0], rear, GOOD[2]])
        assert reason_codes(result) == [("step", "cam_rear")]
        assert words in result.reasons[0].message


@pytest.mark.parametrize(("drift_ppm", "n"), [(800.0, 1), (-800.0, 1), (150.0, 0)])
def test_drift_that_no_crystal_has_is_a_warning_inside_the_limit(drift_ppm: float, n: int) -> None:
    rear = replace(GOOD[1], drift_ppm=drift_ppm, drift_std_ppm=30.0)
    result = judge_measured([GOOD[0], rear, GOOD[2]], span_s=10.0)
    assert result.verdict is Verdict.PASS
    drifts = [w for w in result.warnings if w.code is ReasonCode.DRIFT]
    assert len(drifts) == n
    assert all("more than quartz does" in w.message for w in drifts)


def test_drift_of_the_reference_is_not_told_of_all_others() -> None:
    drifting = [replace(each, drift_ppm=800.0, drift_std_ppm=30.0) for each in GOOD[:2]]
    result = judge_measured([*drifting, GOOD[2]], span_s=5.0)
    drifts = [w for w in result.warnings if w.code is ReasonCode.DRIFT]
    assert [w.source for w in drifts] == ["imu"]
    assert "against cam_" in drifts[0].message
