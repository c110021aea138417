"""What was not measured is unverified, with the most informative rejection as the reason."""

from __future__ import annotations

from dataclasses import replace

import pytest

from syncaudit.model import AudioSpec, CameraSpec, ClockSolution, EventsSpec, ImuSpec, Verdict
from testkit.judged_clips import GOOD, POLICY, RIG, judge_measured, reason_codes, source_verdicts
from testkit.measured_pairs import AT_NS, pair, refused_pair


def test_unobservable_source_cites_the_best_refusal() -> None:
    measurements = [
        GOOD[0],
        GOOD[2],
        refused_pair("cam_rear", "imu", "gain 0.3 outside [0.5, 2]"),
        refused_pair("cam_rear", "mic", "nothing heard", method="onset"),
    ]
    sources = dict(RIG) | {"mic": AudioSpec(uri="m.wav")}
    result = judge_measured(measurements, sources=sources)
    assert result.verdict is Verdict.UNVERIFIED
    assert reason_codes(result) == [("unobservable", "cam_rear")]
    assert result.reasons[0].message == (
        "cam_rear cannot be judged: its rotation could not be matched to imu: gain 0.3 outside "
        "[0.5, 2] (1 other attempt failed too)"
    )
    # The microphone is not a required kind: it does not affect the verdict but is reported.
    assert source_verdicts(result)["mic"] == "unverified"
    assert [w.source for w in result.warnings] == ["mic"]


@pytest.mark.parametrize("ends", [("cam_rear", "imu"), ("imu", "cam_rear")])
def test_refusal_that_would_tie_to_the_reference_is_cited_first(ends: tuple[str, str]) -> None:
    away = refused_pair("cam_rear", "mic", "nothing heard", method="onset")
    measurements = [GOOD[0], GOOD[2], away, refused_pair(*ends, "too dark")]
    result = judge_measured(measurements, sources=dict(RIG) | {"mic": AudioSpec(uri="m.wav")})
    assert "could not be matched to imu: too dark" in result.reasons[0].message


def test_refusal_of_another_source_on_the_clock_is_cited() -> None:
    sources = dict(RIG) | {"cam_left": CameraSpec(uri="l", clock="cam_rear")}
    result = judge_measured(
        [GOOD[0], GOOD[2], refused_pair("imu", "cam_rear", "too dark")], sources=sources
    )
    messages = {f.source: f.message for f in result.reasons}
    assert messages["cam_left"] == (
        "cam_left cannot be judged: the rotation of cam_rear could not be matched to imu: too dark"
    )


def test_source_in_another_component() -> None:
    sources = dict(RIG) | {"extra": CameraSpec(uri="x.mp4"), "mic": AudioSpec(uri="m.wav")}
    result = judge_measured([*GOOD, pair("extra", "mic", 0.0, method="flash")], sources=sources)
    assert result.verdict is Verdict.UNVERIFIED
    assert result.reasons[0].message == (
        "extra cannot be judged: it is tied to mic, but nothing ties them to imu"
    )


def test_source_without_any_measurement() -> None:
    result = judge_measured([GOOD[0], GOOD[2]])
    assert result.reasons[0].message == (
        "cam_rear cannot be judged: no measurement ties it to another source"
    )


def test_nothing_measured_at_all() -> None:
    result = judge_measured([], reference=None)
    assert result.verdict is Verdict.UNVERIFIED
    assert result.reference is None
    assert result.at_ns is None
    assert len(result.reasons) == 4


def test_only_optional_sources_and_no_evidence_is_no_pass() -> None:
    result = judge_measured([], sources={"mic": AudioSpec(uri="m")}, reference=None)
    assert result.verdict is Verdict.UNVERIFIED
    assert reason_codes(result) == [("unobservable", "mic")]


def test_clip_without_sources_is_no_pass() -> None:
    result = judge_measured([], sources={}, reference=None)
    assert result.verdict is Verdict.UNVERIFIED
    assert result.reasons[0].message == "the clip has no source that could be judged"


def test_optional_source_that_fails_still_rejects() -> None:
    sources = dict(RIG) | {"trigger": EventsSpec(uri="t.csv")}
    result = judge_measured(
        [*GOOD, pair("trigger", "cam_front", 0.05, method="flash")], sources=sources
    )
    assert result.verdict is Verdict.REJECT
    assert reason_codes(result) == [("offset", "trigger")]


def test_clock_missing_from_the_solution_is_unobservable() -> None:
    empty = ClockSolution(reference=None, is_reference_stated=False, at_ns=AT_NS, clocks={})
    result = judge_measured([], solution=empty)
    assert result.verdict is Verdict.UNVERIFIED
    assert not result.sources["imu"].is_observable


def test_unobservable_stays_out_of_the_reasons_of_a_reject() -> None:
    result = judge_measured([pair("cam_front", "imu", 0.05), GOOD[2]])
    assert reason_codes(result) == [("offset", "cam_front")]
    assert ("unobservable", "cam_rear") in [(str(w.code), w.source) for w in result.warnings]


def test_the_refusal_that_tells_most_is_told_everywhere():
    """One choice serves verdict, terminal, report and viewer."""
    tried = (
        refused_pair("cam_front", "can", "it holds no turn", method="yaw_rate"),
        refused_pair(
            "cam_front",
            "cam_rear",
            "3 events agree",
            method="flash",
            diagnostics={"source_events": 3.0, "target_events": 4.0, "chance": 0.01},
        ),
        refused_pair(
            "cam_front", "imu", "2 events", method="flash", diagnostics={"source_events": 2.0}
        ),
    )
    verdict = judge_measured(tried)
    told = (
        "its flashes could not be matched to cam_rear: 3 events agree (2 other attempts failed too)"
    )
    assert verdict.sources["cam_front"].why_unmeasured == told
    assert verdict.to_json()["sources"]["cam_front"]["why_unmeasured"] == told
    messages = [f.message for f in (*verdict.reasons, *verdict.warnings) if f.source == "cam_front"]
    assert messages == [f"cam_front cannot be judged: {told}"]


def test_an_offset_that_was_found_and_not_believed_is_told_first():
    tried = (
        refused_pair("cam_front", "imu", "nothing alike", diagnostics={"runner_up": 3.0}),
        refused_pair("cam_front", "can", "gain is off", offset_s=0.02, offset_std_s=0.001),
    )
    assert "gain is off" in judge_measured(tried).sources["cam_front"].why_unmeasured


def test_where_no_pair_was_tried_nothing_is_made_up():
    assert judge_measured(()).sources["cam_front"].why_unmeasured is None


def test_what_was_refused_is_told_beside_a_rejected_source():
    """A clip rejected for one source still reports the reason of every other."""
    tried = (
        pair("cam_rear", "imu", 0.5),
        pair("imu", "can", 0.001, 0.002, method="yaw_rate"),
        refused_pair("cam_front", "imu", "gain 0.4 is outside [0.5, 2]"),
    )
    verdict = judge_measured(tried)
    assert verdict.verdict is Verdict.REJECT
    assert "gain 0.4" in verdict.sources["cam_front"].why_unmeasured


def test_a_pair_on_one_clock_that_was_refused_is_told():
    sources = {
        "cam": CameraSpec(uri="f.mp4", clock="board"),
        "imu": ImuSpec(uri="i.csv", clock="board"),
    }
    verdict = judge_measured((refused_pair("cam", "imu", "too little motion"),), sources=sources)
    assert "too little motion" in verdict.sources["cam"].why_unmeasured
    assert not any("no measurement ties" in f.message for f in verdict.reasons)


DEPARTS = {"diagnostics": {"departs_by_s": 0.19}}
WHY = "its last 1.1 s fit +190 ms more than the rest of it"


def test_a_camera_that_departs_does_not_pass_by_agreeing_with_a_camera():
    tried = (
        refused_pair("cam_front", "imu", WHY, **DEPARTS),
        pair("cam_front", "cam_rear", 0.0),
        pair("cam_rear", "imu", 0.0),
        pair("imu", "can", 0.001, 0.002, method="yaw_rate"),
    )
    verdict = judge_measured(tried)
    assert verdict.verdict is Verdict.UNVERIFIED
    assert source_verdicts(verdict) == {
        "cam_front": "unverified",
        "cam_rear": "pass",
        "imu": "pass",
        "can": "pass",
    }
    assert [finding.message for finding in verdict.reasons] == [
        f"cam_front cannot be judged: its rotation could not be matched to imu: {WHY}. It agrees "
        "only with sources of its own kind, which may share the fault"
    ]


def test_cameras_that_all_depart_do_not_pass_by_agreeing():
    optional = replace(POLICY, required_kinds=frozenset({"camera"}))
    tried = (
        refused_pair("cam_front", "imu", WHY, **DEPARTS),
        refused_pair("cam_rear", "imu", WHY, **DEPARTS),
        pair("cam_front", "cam_rear", 0.0),
    )
    verdict = judge_measured(tried, reference=None, policy=optional)
    assert verdict.verdict is Verdict.UNVERIFIED
    assert set(source_verdicts(verdict).values()) == {"unverified"}


def test_a_clock_that_sources_of_another_kind_confirm_does_not_depart():
    tried = (
        refused_pair("can", "imu", WHY, method="yaw_rate", **DEPARTS),
        pair("cam_front", "imu", 0.0),
        pair("cam_rear", "imu", 0.0),
    )
    found = source_verdicts(judge_measured(tried))
    assert found == {"cam_front": "pass", "cam_rear": "pass", "imu": "pass", "can": "unverified"}


def test_the_clock_that_fewer_sources_of_other_kinds_confirm_departs():
    """A bus too coarse to see where a camera was late does not clear it."""
    tried = (
        refused_pair("cam_front", "imu", WHY, **DEPARTS),
        pair("cam_front", "can", 0.0, 0.003, method="yaw_rotation"),
        pair("cam_rear", "imu", 0.0),
        pair("imu", "can", 0.001, 0.002, method="yaw_rate"),
    )
    found = source_verdicts(judge_measured(tried))
    assert found == {"cam_front": "unverified", "cam_rear": "pass", "imu": "pass", "can": "pass"}
    found = source_verdicts(judge_measured((*tried[:2], tried[3]), reference=None))
    assert {found["cam_front"], found["imu"]} == {"unverified"}
