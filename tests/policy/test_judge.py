"""Every branch of the verdict, and the sentences that people read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from syncaudit.graph import solve_clocks
from syncaudit.model import (
    AudioSpec,
    CameraSpec,
    CanSpec,
    Clip,
    ClipVerdict,
    ClockEstimate,
    ClockSolution,
    EdgeResidual,
    EventsSpec,
    Finding,
    ImuSpec,
    PairMeasurement,
    ReasonCode,
    Severity,
    SourceSpec,
    StampAudit,
    StampRemark,
    StateSpec,
    Verdict,
    clock_of,
)
from syncaudit.policy import Baseline, Policy, judge, load_policy

AT_NS = 1_767_225_610_000_000_000
POLICY = load_policy()
RIG: Mapping[str, SourceSpec] = {
    "cam_front": CameraSpec(uri="f.mp4"),
    "cam_rear": CameraSpec(uri="r.mp4"),
    "imu": ImuSpec(uri="imu.csv"),
    "can": CanSpec(uri="can.log"),
}


def pair(
    source: str, target: str, offset_s: float, std_s: float = 3e-4, **more: object
) -> PairMeasurement:
    fields: dict[str, object] = {"method": "rotation", "at_ns": AT_NS, "accepted": True} | more
    return PairMeasurement(
        source=source,
        target=target,
        offset_s=offset_s,
        offset_std_s=std_s,
        **fields,  # type: ignore[arg-type]  # fields of the record
    )


def refused(source: str, target: str, why: str, **more: object) -> PairMeasurement:
    fields: dict[str, object] = {"method": "rotation"} | more
    return PairMeasurement(
        source=source,
        target=target,
        at_ns=AT_NS,
        why=why,
        **fields,  # type: ignore[arg-type]  # fields of the record
    )


GOOD = (
    pair("cam_front", "imu", 0.0002),
    pair("cam_rear", "imu", -0.0001),
    pair("imu", "can", 0.001, 0.002, method="yaw_rate"),
)


def run(
    measurements: Sequence[PairMeasurement] = GOOD,
    *,
    sources: Mapping[str, SourceSpec] = RIG,
    policy: Policy = POLICY,
    reference: str | None = "imu",
    stamps: Mapping[str, StampAudit] | None = None,
    findings: Sequence[Finding] = (),
    solution: ClockSolution | None = None,
    span_s: float = 20.0,
) -> ClipVerdict:
    clip = Clip(clip_id="drive07/1", recording_id="drive07", sources=sources)
    if solution is None:
        solution = solve_clocks(
            measurements,
            {name: clock_of(name, spec) for name, spec in sources.items()},
            at_ns=AT_NS,
            tolerance_s=policy.clock_tolerances(clip),
            reference=reference,
            preference=policy.clock_preference(clip),
            span_s=span_s,
        )
    return judge(
        clip,
        policy=policy,
        solution=solution,
        stamps=stamps or {},
        findings=findings,
        measurements=measurements,
        span_s=span_s,
        seconds=1.9,
        stages={"read": 0.4},
    )


def codes(verdict: ClipVerdict) -> list[tuple[str, str | None]]:
    return [(str(finding.code), finding.source) for finding in verdict.reasons]


def verdicts(verdict: ClipVerdict) -> dict[str, str]:
    return {name: str(source.verdict) for name, source in verdict.sources.items()}


def changed(**limits: float | None) -> Policy:
    return replace(POLICY, overrides={"*": limits})


# The clock of a source


def test_everything_in_time_passes() -> None:
    result = run()
    assert result.verdict is Verdict.PASS
    assert set(verdicts(result).values()) == {"pass"}
    assert result.reasons == result.warnings == ()
    assert (result.clip_id, result.recording_id) == ("drive07/1", "drive07")
    assert (result.reference, result.at_ns) == ("imu", AT_NS)
    assert result.pairs == GOOD
    assert (result.seconds, dict(result.stages)) == (1.9, {"read": 0.4})
    row = result.to_json()["sources"]
    assert isinstance(row, dict)
    assert row["cam_rear"]["offset_s"] == pytest.approx(-0.0001)
    assert row["cam_rear"]["observable"] is True


@pytest.mark.parametrize(("sign", "word"), [(1.0, "early"), (-1.0, "late")])
def test_shifted_camera_is_rejected_in_words(sign: float, word: str) -> None:
    result = run([GOOD[0], pair("cam_rear", "imu", sign * 0.0351, 0.0006), GOOD[2]])
    assert result.verdict is Verdict.REJECT
    assert verdicts(result) == {
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
    result = run([GOOD[0], pair("cam_rear", "imu", 0.0351, 0.0006), GOOD[2]], sources=sources)
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
    result = run([GOOD[0], pair("cam_rear", "imu", offset_s, std_s), GOOD[2]])
    assert verdicts(result)["cam_rear"] == expected
    assert str(result.verdict) == expected


def test_confidence_widens_the_interval() -> None:
    measurements = [GOOD[0], pair("cam_rear", "imu", 0.0120, 0.0010), GOOD[2]]
    result = run(measurements, policy=replace(POLICY, confidence=0.99))
    assert verdicts(result)["cam_rear"] == "unverified"


def test_too_uncertain_says_what_would_tell() -> None:
    result = run([GOOD[0], pair("cam_rear", "imu", 0.008, 0.0032), GOOD[2]])
    assert codes(result) == [("unobservable", "cam_rear")]
    assert result.reasons[0].message == (
        "cam_rear is 8 ± 3 ms early, too uncertain for the limit of 10 ms: a standard error "
        "below 1.02 ms would tell"
    )


def test_drift_takes_a_clock_out_at_the_end() -> None:
    drifting = pair("cam_rear", "imu", 0.002, drift_ppm=1500.0, drift_std_ppm=20.0)
    result = run([GOOD[0], drifting, GOOD[2]])
    (reason,) = result.reasons
    assert reason.code is ReasonCode.DRIFT
    assert reason.message == (
        "cam_rear drifts by 1500 ± 20 ppm (5400 ms/h) and is 17.0 ± 0.4 ms early at the end of "
        "the clip; limit 10 ms"
    )
    assert reason.value == pytest.approx(0.017)


def test_drift_may_take_a_clock_out() -> None:
    drifting = pair("cam_rear", "imu", 0.002, drift_ppm=790.0, drift_std_ppm=20.0)
    result = run([GOOD[0], drifting, GOOD[2]])
    assert codes(result) == [("unobservable", "cam_rear")]
    assert "but its drift of 790 ± 20 ppm (2844 ms/h) may take it past" in result.reasons[0].message


def test_worthless_drift_does_not_forbid_a_pass() -> None:
    vague = pair("cam_rear", "imu", 0.002, drift_ppm=300.0, drift_std_ppm=3000.0)
    assert run([GOOD[0], vague, GOOD[2]]).verdict is Verdict.PASS


@pytest.mark.parametrize(
    ("drift", "std", "expected", "words"),
    [
        (10.0, 5.0, "pass", ""),
        (35.0, 5.0, "unverified", "too uncertain for the limit of 40 ppm"),
        (60.0, 5.0, "reject", "cam_rear drifts by 60 ± 5 ppm (216 ms/h); limit 40 ppm"),
        (None, None, "unverified", "the drift of cam_rear could not be measured"),
    ],
)
def test_limit_on_drift(drift: float | None, std: float | None, expected: str, words: str) -> None:
    policy = replace(POLICY, overrides={"cam_rear": {"drift_ppm": 40.0}})
    drifting = pair("cam_rear", "imu", 0.0, drift_ppm=drift, drift_std_ppm=std)
    result = run([GOOD[0], drifting, GOOD[2]], policy=policy)
    assert verdicts(result)["cam_rear"] == expected
    assert words in "".join(finding.message for finding in result.reasons)


def test_step_beyond_its_limit() -> None:
    stepped = pair(
        "cam_rear", "imu", -0.006, step_s=0.012, step_std_s=0.0005, step_at_ns=AT_NS + 2 * 10**9
    )
    result = run([GOOD[0], stepped, GOOD[2]])
    (reason,) = result.reasons
    assert reason.code is ReasonCode.STEP
    assert reason.message == (
        "cam_rear jumps by 12.0 ± 0.5 ms 12.0 s after the clip's start; limit 10 ms"
    )


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
    result = run([GOOD[0], stepped, GOOD[2]])
    (reason,) = result.reasons
    assert " 12.0 ± 1.3 s after the clip's start; limit 10 ms" in reason.message


def test_step_that_takes_the_offset_out() -> None:
    stepped = pair(
        "cam_rear", "imu", 0.006, step_s=0.008, step_std_s=0.0005, step_at_ns=AT_NS + 2 * 10**9
    )
    result = run([GOOD[0], stepped, GOOD[2]])
    (reason,) = result.reasons
    assert reason.code is ReasonCode.STEP
    assert "and is 14.0 ± 0.6 ms early at the end of the clip; limit 10 ms" in reason.message


def test_step_that_may_take_the_offset_out() -> None:
    stepped = pair(
        "cam_rear", "imu", 0.004, step_s=-0.0055, step_std_s=0.0009, step_at_ns=AT_NS - 2 * 10**9
    )
    result = run([GOOD[0], stepped, GOOD[2]])
    assert codes(result) == [("unobservable", "cam_rear")]
    assert "but its jump by 5.5 ± 0.9 ms may take it past" in result.reasons[0].message


def test_step_outside_the_clip_does_not_count() -> None:
    stepped = pair(
        "cam_rear", "imu", 0.006, step_s=0.008, step_std_s=0.0005, step_at_ns=AT_NS + 60 * 10**9
    )
    assert run([GOOD[0], stepped, GOOD[2]]).verdict is Verdict.PASS


# What is missing


def test_unobservable_source_cites_the_best_refusal() -> None:
    measurements = [
        GOOD[0],
        GOOD[2],
        refused("cam_rear", "imu", "gain 0.3 outside [0.5, 2]"),
        refused("cam_rear", "mic", "nothing heard", method="onset"),
    ]
    sources = dict(RIG) | {"mic": AudioSpec(uri="m.wav")}
    result = run(measurements, sources=sources)
    assert result.verdict is Verdict.UNVERIFIED
    assert codes(result) == [("unobservable", "cam_rear")]
    assert result.reasons[0].message == (
        "cam_rear cannot be judged: its rotation could not be matched to imu: gain 0.3 outside "
        "[0.5, 2] (1 other attempt failed too)"
    )
    # The microphone is no required kind: it holds nothing back but is told.
    assert verdicts(result)["mic"] == "unverified"
    assert [w.source for w in result.warnings] == ["mic"]


@pytest.mark.parametrize("ends", [("cam_rear", "imu"), ("imu", "cam_rear")])
def test_refusal_that_would_tie_to_the_reference_is_cited_first(ends: tuple[str, str]) -> None:
    away = refused("cam_rear", "mic", "nothing heard", method="onset")
    measurements = [GOOD[0], GOOD[2], away, refused(*ends, "too dark")]
    result = run(measurements, sources=dict(RIG) | {"mic": AudioSpec(uri="m.wav")})
    assert "could not be matched to imu: too dark" in result.reasons[0].message


def test_refusal_of_another_source_on_the_clock_is_cited() -> None:
    sources = dict(RIG) | {"cam_left": CameraSpec(uri="l", clock="cam_rear")}
    result = run([GOOD[0], GOOD[2], refused("imu", "cam_rear", "too dark")], sources=sources)
    messages = {f.source: f.message for f in result.reasons}
    assert messages["cam_left"] == (
        "cam_left cannot be judged: the rotation of cam_rear could not be matched to imu: too dark"
    )


def test_source_in_another_component() -> None:
    sources = dict(RIG) | {"extra": CameraSpec(uri="x.mp4"), "mic": AudioSpec(uri="m.wav")}
    result = run([*GOOD, pair("extra", "mic", 0.0, method="flash")], sources=sources)
    assert result.verdict is Verdict.UNVERIFIED
    assert result.reasons[0].message == (
        "extra cannot be judged: it is tied to mic, but nothing ties them to imu"
    )


def test_source_without_any_measurement() -> None:
    result = run([GOOD[0], GOOD[2]])
    assert result.reasons[0].message == (
        "cam_rear cannot be judged: no measurement ties it to another source"
    )


def test_nothing_measured_at_all() -> None:
    result = run([], reference=None)
    assert result.verdict is Verdict.UNVERIFIED
    assert result.reference is None
    assert result.at_ns is None
    assert len(result.reasons) == 4


def test_only_optional_sources_and_no_evidence_is_no_pass() -> None:
    result = run([], sources={"mic": AudioSpec(uri="m")}, reference=None)
    assert result.verdict is Verdict.UNVERIFIED
    assert codes(result) == [("unobservable", "mic")]


def test_clip_without_sources_is_no_pass() -> None:
    result = run([], sources={}, reference=None)
    assert result.verdict is Verdict.UNVERIFIED
    assert result.reasons[0].message == "the clip has no source that could be judged"


def test_optional_source_that_fails_still_rejects() -> None:
    sources = dict(RIG) | {"trigger": EventsSpec(uri="t.csv")}
    result = run([*GOOD, pair("trigger", "cam_front", 0.05, method="flash")], sources=sources)
    assert result.verdict is Verdict.REJECT
    assert codes(result) == [("offset", "trigger")]


def test_clock_missing_from_the_solution_is_unobservable() -> None:
    empty = ClockSolution(reference=None, is_reference_stated=False, at_ns=AT_NS, clocks={})
    result = run([], solution=empty)
    assert result.verdict is Verdict.UNVERIFIED
    assert not result.sources["imu"].is_observable


def test_unobservable_stays_out_of_the_reasons_of_a_reject() -> None:
    result = run([pair("cam_front", "imu", 0.05), GOOD[2]])
    assert codes(result) == [("offset", "cam_front")]
    assert ("unobservable", "cam_rear") in [(str(w.code), w.source) for w in result.warnings]


# Shared clocks


def test_sources_of_one_clock_share_its_result() -> None:
    sources = dict(RIG) | {"cam_left": CameraSpec(uri="l", clock="cam_rear")}
    good = run(GOOD, sources=sources)
    assert verdicts(good)["cam_left"] == "pass"
    bad = run([GOOD[0], pair("cam_rear", "imu", 0.0351, 0.0006), GOOD[2]], sources=sources)
    assert codes(bad) == [("offset", "cam_rear"), ("offset", "cam_left")]


RIGID: Mapping[str, SourceSpec] = {
    "cam": CameraSpec(uri="c", clock="rig"),
    "imu": ImuSpec(uri="i", clock="rig"),
}


def test_one_clock_is_judged_by_its_own_sources() -> None:
    result = run([pair("cam", "imu", 0.001)], sources=RIGID, reference=None)
    assert result.verdict is Verdict.PASS
    assert result.reference == "rig"


def test_one_clock_whose_sources_disagree_is_inconsistent() -> None:
    result = run([pair("cam", "imu", 0.035)], sources=RIGID, reference=None)
    assert result.verdict is Verdict.REJECT
    assert codes(result) == [("inconsistent", None)]
    assert result.reasons[0].message == (
        "cam and imu name the same clock 'rig', but rotation finds them 35.0 ± 0.3 ms apart; "
        "limit 10 ms"
    )
    assert verdicts(result) == {"cam": "unverified", "imu": "unverified"}
    assert "cam and imu share a clock but lie 35.0 ± 0.3 ms apart" in result.warnings[0].message


def test_one_clock_with_a_source_that_nobody_measured() -> None:
    sources = dict(RIGID) | {"cam2": CameraSpec(uri="d", clock="rig")}
    result = run([pair("cam", "imu", 0.001)], sources=sources, reference=None)
    assert verdicts(result) == {"cam": "pass", "imu": "pass", "cam2": "unverified"}


# Baselines


STEERING = pair("can", "imu", 0.062, 0.002, method="steering", is_baseline_only=True)


def with_baseline(offset_s: float, tolerance_s: float | None = None) -> Policy:
    baseline = Baseline(offset_s=offset_s, tolerance_s=tolerance_s)
    return replace(POLICY, baselines={"steering": baseline})


def test_steering_is_never_judged_against_zero() -> None:
    result = run([*GOOD, STEERING])
    assert result.verdict is Verdict.PASS
    assert result.warnings == ()


def test_steering_alone_verifies_nothing() -> None:
    result = run([*GOOD[:2], STEERING])
    assert verdicts(result)["can"] == "unverified"
    assert result.reasons[0].message == (
        "can cannot be judged: steering alone says nothing without a baseline in the policy"
    )


def test_steering_near_its_baseline_vouches_for_the_bus() -> None:
    result = run([*GOOD[:2], STEERING], policy=with_baseline(0.06))
    assert result.verdict is Verdict.PASS


def test_steering_far_from_its_baseline_rejects_the_bus() -> None:
    result = run([*GOOD[:2], STEERING], policy=with_baseline(0.03))
    assert codes(result) == [("offset", "can")]
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
    result = run([late], sources=CELL, policy=policy, reference=None)
    assert [source for code, source in codes(result) if code == "offset"] == ["wrist"]


@pytest.mark.parametrize(
    ("offset_s", "words"),
    [
        (-0.138, ": about 4 frame periods, which stamps that count cannot show"),
        (-0.050, ", which stamps that count cannot show"),
    ],
)
def test_offset_behind_a_counter_is_told_in_frames(offset_s: float, words: str) -> None:
    measured = [
        pair("wrist", "state", offset_s, 0.003, method="arm_motion"),
        pair("top", "state", 0.001, 0.003, method="arm_motion"),
    ]
    stamps = {"wrist": replace(audit(is_synthetic=True), rate_hz=30.0)}
    result = run(measured, sources=CELL, stamps=stamps, reference="state")
    (late,) = [reason for reason in result.reasons if reason.source == "wrist"]
    assert late.message.startswith(f"wrist is {abs(1e3 * offset_s):.0f} ± 3 ms late")
    assert late.message.endswith(words)


def test_known_offset_of_the_bus_is_not_told_twice() -> None:
    shifted = pair("imu", "can", -0.05, 0.001, method="yaw_rate")
    steering = replace(STEERING, offset_s=0.112)
    result = run([*GOOD[:2], shifted, steering], policy=with_baseline(0.06, 0.01))
    assert codes(result) == [("offset", "can")]
    assert result.reasons[0].message == "can is 50.0 ± 1.0 ms early; limit 20 ms"


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_baseline_between_clocks_of_which_one_is_poorly_known_tells_nothing(sign: float) -> None:
    vague = pair("imu", "can", 0.0, 0.02, method="yaw_rate")
    ends = ("can", "imu") if sign > 0.0 else ("imu", "can")
    steering = pair(*ends, sign * 0.062, 0.002, method="steering", is_baseline_only=True)
    result = run([*GOOD[:2], vague, steering], policy=with_baseline(sign * 0.03))
    assert "offset" not in [code for code, _ in codes(result)]


def test_refused_steering_tells_nothing() -> None:
    weak = refused("can", "imu", "weak", method="steering", is_baseline_only=True)
    result = run([*GOOD, weak], policy=with_baseline(0.0))
    assert result.verdict is Verdict.PASS


def test_uncertain_steering_tells_nothing() -> None:
    result = run([*GOOD, replace(STEERING, offset_std_s=0.02)], policy=with_baseline(0.03))
    assert result.verdict is Verdict.PASS


# Stamps


def said(text: str, *, is_figure: bool = False) -> StampRemark:
    return StampRemark(code=ReasonCode.JITTER, text=text, is_figure=is_figure)


def audit(**figures: object) -> StampAudit:
    fields: dict[str, object] = {"samples": 240, "rate_hz": 12.0} | figures
    return StampAudit(**fields)  # type: ignore[arg-type]  # fields of the record


@pytest.mark.parametrize(
    ("figures", "code", "message"),
    [
        (
            {"missing": 30, "gaps": 1, "max_gap_s": 0.25},
            "missing_frames",
            "cam_rear lacks 30 of 270 frames (11.1 %); limit 5 %",
        ),
        (
            {"missing": 7, "gaps": 1, "max_gap_s": 0.66},
            "gap",
            "cam_rear is silent for 660 ms (7.92 periods) at its longest gap: 577 ms are lost; "
            "limit 417 ms",
        ),
        (
            {"duplicates": 3},
            "duplicate",
            "cam_rear repeats 3 of 240 timestamps (1.25 %); limit 0.5 %",
        ),
        (
            {"doubled": 3},
            "duplicate",
            "cam_rear has 3 frames too many of 240 (1.25 %); limit 0.5 %",
        ),
        (
            {"backwards": 1},
            "backwards",
            "cam_rear goes back in time at 1 of 240 timestamps (0.417 %); limit 0 %",
        ),
        (
            {"jitter_s": 0.0123, "buffering_s": 0.004},
            "jitter",
            "cam_rear jitters by 12.3 ms (one sigma); limit 5 ms",
        ),
        (
            {"buffering_s": 0.015},
            "jitter",
            "cam_rear is stamped after waiting 15 ms in a buffer on average; limit 5 ms",
        ),
        (
            {"steps": ((AT_NS, -0.02),)},
            "step",
            f"cam_rear jumps by 20 ms against its own rate at timestamp {AT_NS}; limit 10 ms",
        ),
    ],
)
def test_bad_stamps_reject(figures: dict[str, object], code: str, message: str) -> None:
    result = run(stamps={"cam_rear": audit(**figures)})
    assert result.verdict is Verdict.REJECT
    assert codes(result) == [(code, "cam_rear")]
    assert result.reasons[0].message == message
    assert result.sources["cam_rear"].timing is not None


def test_wrong_rate_rejects_where_one_is_demanded() -> None:
    result = run(stamps={"imu": audit(rate_hz=95.0)}, policy=changed(rate_hz=100.0))
    assert codes(result) == [("rate", "imu")]
    assert result.reasons[0].message == "imu runs at 95 Hz instead of 100 Hz; limit 2 %"
    fine = run(stamps={"imu": audit(rate_hz=99.0)}, policy=changed(rate_hz=100.0))
    assert fine.verdict is Verdict.PASS


@pytest.mark.parametrize(
    ("figures", "code"),
    [
        ({"missing": 1, "gaps": 1, "max_gap_s": 0.1667}, ["missing_frames", "gap"]),
        ({"duplicates": 1}, ["duplicate"]),
        ({"steps": ((AT_NS, 0.004),)}, ["step"]),
        ({"gaps": 2}, ["gap"]),
        ({"remarks": (said("stamps are rounded to 1 ms"),)}, ["jitter"]),
        ({"remarks": (said("2 samples missing", is_figure=True),)}, []),
        ({"buffering_s": 0.003}, ["jitter"]),
        ({"buffering_s": 0.0004}, []),
        ({"is_synthetic": True}, ["rate"]),
    ],
)
def test_small_faults_of_stamps_only_warn(figures: dict[str, object], code: list[str]) -> None:
    result = run(stamps={"cam_rear": audit(**figures)})
    assert result.verdict is Verdict.PASS
    assert [str(w.code) for w in result.warnings] == code
    assert all(w.source == "cam_rear" and w.severity is Severity.WARNING for w in result.warnings)


def test_single_dropped_frame_is_worded() -> None:
    result = run(stamps={"cam_rear": audit(missing=1, gaps=1, max_gap_s=1 / 6)})
    assert [w.message for w in result.warnings] == [
        "cam_rear lacks 1 of 241 frames (0.415 %); limit 5 %",
        "cam_rear is silent for 167 ms (2 periods) at its longest gap: 83.3 ms are lost; limit "
        "417 ms",
    ]


@pytest.mark.parametrize(
    ("rate_hz", "longest_s", "is_defect"),
    [
        (10.0, 0.107, False),  # a receiver's fix that comes 7 ms late
        (10.0, 0.30, False),  # two samples
        (10.0, 0.40, True),
        (200.0, 0.24, False),
        (200.0, 0.30, True),
        (1.0, 2.0, False),  # one sample of a slow source
        (1.0, 3.0, True),
    ],
)
def test_gaps_count_by_what_they_lose(rate_hz: float, longest_s: float, is_defect: bool) -> None:
    figures = audit(
        rate_hz=rate_hz, max_gap_s=longest_s, lost_s=longest_s - 1.0 / rate_hz, gaps=1, missing=1
    )
    result = run(stamps={"imu": figures})
    assert ("gap" in [code for code, _ in codes(result)]) == is_defect


def test_verdicts_of_older_versions_state_no_lost_time() -> None:
    old = audit(rate_hz=100.0, max_gap_s=0.4, gaps=1, missing=39)
    assert codes(run(stamps={"imu": old})) == [("gap", "imu")]


def test_a_strict_limit_in_periods_allows_no_lost_frame() -> None:
    lost = audit(max_gap_s=1 / 6, lost_s=1 / 12, gaps=1, missing=1)
    strict = load_policy(profile="strict")
    result = run(stamps={"cam_rear": lost}, policy=strict)
    assert {code for code, _ in codes(result)} == {"gap", "missing_frames"}


def test_each_code_rejects_once_for_a_source() -> None:
    steps = tuple((AT_NS + k, -0.02 - 0.001 * k) for k in range(40))
    wild = audit(steps=steps, duplicates=9, doubled=30, jitter_s=0.02, buffering_s=0.03)
    result = run(stamps={"cam_rear": wild})
    assert sorted(code for code, _ in codes(result)) == ["duplicate", "jitter", "step"]
    (step,) = [finding for finding in result.reasons if finding.code is ReasonCode.STEP]
    assert step.message == (
        f"cam_rear jumps by 59 ms against its own rate at timestamp {AT_NS + 39}, and 39 more "
        "times by less; limit 10 ms"
    )


def with_share(share: float, std: float = 0.02) -> tuple[PairMeasurement, ...]:
    figures = {"stamp_share": share, "stamp_share_std": std}
    return (GOOD[0], pair("cam_rear", "imu", -0.0001, diagnostics=figures), GOOD[2])


JITTERING = audit(jitter_s=0.0105)
BUFFERED = audit(jitter_s=0.008, buffering_s=0.009)


@pytest.mark.parametrize("figures", [JITTERING, BUFFERED])
@pytest.mark.parametrize(("share", "verdict"), [(0.95, "reject"), (0.0, "pass"), (-0.1, "pass")])
def test_content_tells_uneven_stamps_from_uneven_sampling(
    figures: StampAudit, share: float, verdict: str
) -> None:
    result = run(with_share(share), stamps={"cam_rear": figures})
    assert result.verdict == verdict
    told = [f for f in (*result.reasons, *result.warnings) if f.source == "cam_rear"]
    assert [str(finding.code) for finding in told] == ["jitter"]
    assert ("samples unevenly" in told[0].message) == (verdict == "pass")


def test_the_part_of_the_stamps_is_what_counts() -> None:
    # Of 10 ms with a limit of 5 ms: surely most of the variance, perhaps most, surely little.
    for share, verdict in ((0.8, "reject"), (0.5, "unverified"), (0.02, "pass")):
        result = run(with_share(share), stamps={"cam_rear": audit(jitter_s=0.010)})
        assert result.verdict == verdict
    assert result.warnings[0].message == (
        "cam_rear jitters by 10 ms (one sigma); limit 5 ms. By the content it samples unevenly, "
        "and its timestamps are good to 4.73 ms"
    )


@pytest.mark.parametrize("measured", [GOOD, with_share(0.5, 0.4)])
def test_jitter_of_unknown_origin_is_unverified(measured: Sequence[PairMeasurement]) -> None:
    result = run(measured, stamps={"cam_rear": JITTERING})
    assert result.verdict is Verdict.UNVERIFIED
    assert [finding.message for finding in result.reasons] == [
        "cam_rear: nothing shows whether its sampling or its timestamps are uneven. Record motion "
        "that a gyroscope measures as well, or stamp at capture (hardware trigger, PTP)"
    ]
    assert [finding.message for finding in result.warnings] == [
        "cam_rear jitters by 10.5 ms (one sigma); limit 5 ms"
    ]


def test_one_sided_delays_show_that_stamps_are_of_arrival() -> None:
    assert codes(run(stamps={"cam_rear": BUFFERED})) == [("jitter", "cam_rear")]


def test_devices_that_sample_by_their_own_oscillator_do_not_jitter() -> None:
    assert codes(run(stamps={"imu": audit(rate_hz=100.0, jitter_s=0.004)})) == [("jitter", "imu")]


def test_irregular_sampling_is_a_warning() -> None:
    text = "no regular clock fits the stamps"
    remarks = (StampRemark(code=ReasonCode.RATE, text=text),)
    result = run(stamps={"cam_rear": audit(is_irregular=True, remarks=remarks)})
    assert result.verdict is Verdict.PASS
    assert [finding.message for finding in result.warnings] == [f"cam_rear: {text}"]


def test_made_up_stamps_prove_nothing() -> None:
    result = run(stamps={"cam_rear": audit(rate_hz=30.0, is_synthetic=True)})
    assert result.warnings[0].message == (
        "cam_rear: its timestamps lie exactly on index / 30 Hz: they were made up afterwards "
        "and prove nothing"
    )
    counter = dict(RIG) | {"cam_rear": CameraSpec(uri="r", stamp_kind="counter")}
    admitted = run(stamps={"cam_rear": audit(is_synthetic=True)}, sources=counter)
    assert [finding.message for finding in admitted.warnings] == [
        "cam_rear: its timestamps are a counter (stamp_kind), index / 12 Hz: they give the order "
        "and the rate, not the times of capture"
    ]


def test_a_counter_that_jitters_is_questioned() -> None:
    counter = dict(RIG) | {"cam_rear": CameraSpec(uri="r", stamp_kind="counter")}
    result = run(stamps={"cam_rear": audit(jitter_s=0.002)}, sources=counter)
    assert [finding.message for finding in result.warnings] == [
        "cam_rear: its timestamps jitter by 2 ms, which no counter does: their stamp_kind is "
        "'counter', but they may be times of capture"
    ]
    told = audit(is_synthetic=True, remarks=(said("synthetic stamps prove nothing"),))
    assert len(run(stamps={"cam_rear": told}).warnings) == 1


def test_limits_that_are_off_only_warn() -> None:
    off = changed(
        step_s=None,
        max_gap_periods=None,
        missing_share=None,
        duplicate_share=None,
        backwards_share=None,
    )
    wild = audit(
        backwards=9, duplicates=9, missing=99, gaps=3, max_gap_s=9.0, steps=((AT_NS, 1.0),)
    )
    result = run(stamps={"cam_rear": wild}, policy=off)
    assert result.verdict is Verdict.PASS
    assert len(result.warnings) == 5
    assert not any("limit" in w.message for w in result.warnings)


def test_bunched_can_frames_are_no_defect() -> None:
    # 100 Hz through a USB adapter: 0.1 to 29 ms between frames.
    bunched = audit(samples=2000, rate_hz=100.0, jitter_s=0.006, buffering_s=0.008, max_gap_s=0.029)
    assert run(stamps={"can": bunched}).verdict is Verdict.PASS


# Findings of readers and detectors


def test_defect_of_a_source_rejects_and_silences_what_is_missing() -> None:
    broken = Finding(code=ReasonCode.UNREADABLE, source="cam_rear", message="cam_rear: no video")
    result = run([GOOD[0], GOOD[2]], findings=[broken])
    assert result.verdict is Verdict.REJECT
    assert result.reasons == (broken,)
    assert result.warnings == ()


def test_defect_of_the_clip_rejects() -> None:
    late = Finding(code=ReasonCode.TIMEOUT, message="no verdict within 60 s")
    result = run(findings=[late])
    assert result.verdict is Verdict.REJECT
    assert result.reasons == (late,)
    assert set(verdicts(result).values()) == {"pass"}


def test_finding_about_a_stranger_concerns_the_clip() -> None:
    strange = Finding(code=ReasonCode.MISSING_FILE, source="gps", message="gps: no file")
    assert run(findings=[strange]).reasons == (strange,)


def test_warning_decides_nothing() -> None:
    dark = Finding(
        code=ReasonCode.CORRUPT,
        source="cam_rear",
        message="cam_rear is dark",
        severity=Severity.WARNING,
    )
    result = run(findings=[dark])
    assert result.verdict is Verdict.PASS
    assert result.warnings == (dark,)


def test_lack_of_evidence_is_no_defect_whoever_reports_it() -> None:
    blind = Finding(code=ReasonCode.UNOBSERVABLE, source="cam_rear", message="cam_rear is blind")
    assert run(findings=[blind]).warnings == (blind,)
    result = run([GOOD[0], GOOD[2]], findings=[blind])
    assert result.verdict is Verdict.UNVERIFIED
    assert result.reasons[0] is blind


# Contradictions


def test_contradicting_methods_make_the_clip_inconsistent() -> None:
    result = run([*GOOD, pair("cam_rear", "imu", 0.0401, method="flash")])
    assert result.verdict is Verdict.REJECT
    assert codes(result) == [("inconsistent", None)]
    assert result.reasons[0].message == (
        "flashes and rotation between cam_rear and imu contradict each other by 40.2 ± 0.4 ms, "
        "and nothing tells which is wrong; limit 10 ms"
    )
    assert verdicts(result)["cam_rear"] == "unverified"
    assert verdicts(result)["cam_front"] == "pass"


def test_loop_of_three_that_does_not_close() -> None:
    result = run([*GOOD, pair("cam_front", "cam_rear", 0.03, method="flash")])
    assert result.verdict is Verdict.REJECT
    (reason,) = result.reasons
    assert reason.code is ReasonCode.INCONSISTENT
    assert "contradict each other by" in reason.message
    assert " - imu" in reason.message
    assert reason.limit == pytest.approx(0.010)


def test_small_contradiction_is_a_warning() -> None:
    result = run([*GOOD, pair("cam_rear", "imu", 0.003, method="flash")])
    assert result.verdict is Verdict.PASS
    assert [str(w.code) for w in result.warnings] == ["inconsistent"]


def test_blamed_measurement_is_a_warning() -> None:
    measurements = [
        *GOOD,
        pair("cam_rear", "imu", 0.0001, method="flash"),
        pair("cam_rear", "imu", 0.05, method="onset"),
    ]
    result = run(measurements)
    assert result.verdict is Verdict.PASS
    assert result.warnings[0].message == (
        "onset between cam_rear and imu contradicts all other measurements by 50 ms and was left "
        "out"
    )


def test_contradicting_drifts_are_told_by_what_they_do_to_the_clip() -> None:
    measurements = [
        pair("cam_rear", "imu", 0.0, drift_ppm=0.0, drift_std_ppm=5.0),
        pair("cam_rear", "imu", 0.0, drift_ppm=4000.0, drift_std_ppm=5.0, method="flash"),
        *GOOD[::2],
    ]
    result = run(measurements)
    assert ("inconsistent", None) in codes(result)
    assert "the drift between cam_rear and imu contradicts other" in result.reasons[0].message


def test_contradicted_edge_without_a_loop_is_still_told() -> None:
    solution = solve_clocks(GOOD, {name: name for name in RIG}, at_ns=AT_NS, tolerance_s={})
    edge = EdgeResidual(index=0, residual_s=0.03, z=9.0, weight=0.1, is_contradicted=True)
    result = run(solution=replace(solution, edges=(edge,), loops=()))
    assert result.reasons[0].message == (
        "rotation between cam_front and imu contradicts other measurements by 30 ms, and nothing "
        "tells which is wrong; limit 10 ms"
    )


# The reference


def test_stated_reference_against_a_clear_consensus() -> None:
    cams = {f"cam{i}": CameraSpec(uri="x") for i in range(6)}
    measurements = [pair(cam, "imu", 0.04) for cam in cams]
    result = run(measurements, sources={**cams, "imu": ImuSpec(uri="i")})
    assert codes(result)[-1] == ("offset", "imu")
    assert result.reasons[-1].message == (
        "imu, the stated reference, is 40.0 ± 0.3 ms late against the consensus of 6 others; more "
        "likely it is the one that is wrong"
    )
    assert result.reasons[-1].value == pytest.approx(-0.04)
    assert codes(result)[:6] == [("offset", cam) for cam in cams]


def test_without_stated_reference_only_the_imu_is_told() -> None:
    cams = {f"cam{i}": CameraSpec(uri="x") for i in range(6)}
    measurements = [pair(cam, "imu", 0.04) for cam in cams]
    result = run(measurements, sources={**cams, "imu": ImuSpec(uri="i")}, reference=None)
    assert codes(result) == [("offset", "imu")]
    assert result.reasons[0].message == "imu is 40.0 ± 0.3 ms late; limit 5 ms"


def test_stated_reference_in_doubt_without_consensus_is_a_warning() -> None:
    sources = {"cam": CameraSpec(uri="x"), "imu": ImuSpec(uri="i")}
    result = run([pair("cam", "imu", 0.04)], sources=sources, reference="cam")
    assert codes(result) == [("offset", "imu")]
    assert result.warnings[0].message == (
        "cam, the stated reference, may itself be the one that is wrong: consensus would correct "
        "it rather than the others"
    )


def test_scattered_others_are_no_consensus() -> None:
    solution = ClockSolution(
        reference="imu",
        is_reference_stated=True,
        at_ns=AT_NS,
        clocks={
            name: ClockEstimate(
                clock=name,
                is_observable=True,
                offset_s=offset_s,
                offset_std_s=1e-4,
                n_measurements=1,
            )
            for name, offset_s in [
                ("imu", 0.0),
                ("cam_front", 0.05),
                ("cam_rear", 0.15),
                ("can", 0.3),
            ]
        },
        components=(tuple(RIG),),
        suspects=("imu",),
    )
    result = run([], solution=solution)
    assert ("offset", "imu") not in codes(result)
    assert "may itself be the one that is wrong" in result.warnings[0].message


def test_a_tie_is_told_as_a_tie() -> None:
    sources = {"cam": CameraSpec(uri="x"), "imu": ImuSpec(uri="i")}
    result = run([pair("cam", "imu", 0.035)], sources=sources, reference=None)
    assert codes(result) == [("offset", "cam")]
    assert result.warnings[0].message == (
        "nothing tells which side is wrong, imu or cam: imu was trusted"
    )


def test_cameras_alike_do_not_outvote_another_kind() -> None:
    """They may share what delays them."""
    cameras = {"cam": CameraSpec(uri="x"), "top": CameraSpec(uri="y")}
    pairs = [pair("cam", "imu", 0.035), pair("top", "imu", 0.0351)]
    result = run(pairs, sources={**cameras, "imu": ImuSpec(uri="i")}, reference=None)
    (warning,) = [w for w in result.warnings if "which side" in w.message]
    assert "nothing tells which side is wrong, cam and top or imu: " in warning.message
    assert "may be off alike, by one computer" in warning.message


def test_a_camera_that_others_of_every_kind_contradict_is_wrong() -> None:
    cameras = {"cam": CameraSpec(uri="x"), "top": CameraSpec(uri="y"), "low": CameraSpec(uri="z")}
    pairs = [pair("cam", "imu", 0.035), pair("top", "imu", 0.0), pair("low", "imu", 0.0)]
    result = run(pairs, sources={**cameras, "imu": ImuSpec(uri="i")}, reference=None)
    assert codes(result) == [("offset", "cam")]
    assert not [w for w in result.warnings if "which side" in w.message]


def test_contradiction_just_below_the_limit_leaves_doubt_but_rejects_nothing() -> None:
    result = run([*GOOD, pair("cam_rear", "imu", 0.0099, method="flash")])
    assert result.verdict is Verdict.UNVERIFIED
    assert codes(result) == [("unobservable", "cam_rear")]
    assert [str(w.code) for w in result.warnings] == ["inconsistent"]


# Whole frame periods


@pytest.mark.parametrize(
    ("offset_s", "std_s", "words"),
    [
        (2 / 12, 0.001, ": exactly 2 frame periods, as if 2 frames had been lost while"),
        (-1 / 12 + 0.001, 0.001, ": exactly 1 frame period, as if 1 frame had been doubled while"),
        (0.035, 0.001, None),
        (2 / 12, 0.02, None),  # any offset would fit
    ],
)
def test_offset_of_whole_frame_periods_smells_of_lost_frames(
    offset_s: float, std_s: float, words: str | None
) -> None:
    rear = replace(GOOD[1], offset_s=offset_s, offset_std_s=std_s)
    result = run([GOOD[0], rear, GOOD[2]], stamps={"cam_rear": audit()})
    (message,) = [f.message for f in result.reasons if f.source == "cam_rear"]
    assert ("frame period" in message) == (words is not None)
    assert words is None or words in message
    (plain,) = [f.message for f in run([GOOD[0], rear, GOOD[2]]).reasons]
    assert "frame period" not in plain  # no stamps, no period


def test_jump_seen_by_stamps_and_content_is_one_reason() -> None:
    rear = replace(GOOD[1], step_s=0.06, step_std_s=0.001, step_at_ns=AT_NS + 10**9)
    stepped = audit(steps=((AT_NS + 10**9, -0.06),))
    result = run([GOOD[0], rear, GOOD[2]], stamps={"cam_rear": stepped})
    assert codes(result) == [("step", "cam_rear")]
    assert "early at the end of the clip" in result.reasons[0].message


def test_clock_that_is_good_on_one_side_of_a_step_is_told_by_the_step() -> None:
    before = replace(GOOD[1], offset_s=0.0, step_s=0.06, step_std_s=0.001, step_at_ns=AT_NS - 10**9)
    for shift_s, words in ((0.06, "from then on"), (0.0, "early at the end")):
        at_ns = AT_NS - 10**9 if shift_s else AT_NS + 10**9
        rear = replace(before, offset_s=shift_s, step_at_ns=at_ns)
        result = run([GOOD[0], rear, GOOD[2]])
        assert codes(result) == [("step", "cam_rear")]
        assert words in result.reasons[0].message


@pytest.mark.parametrize(("drift_ppm", "n"), [(800.0, 1), (-800.0, 1), (150.0, 0)])
def test_drift_that_no_crystal_has_is_a_warning_inside_the_limit(drift_ppm: float, n: int) -> None:
    rear = replace(GOOD[1], drift_ppm=drift_ppm, drift_std_ppm=30.0)
    result = run([GOOD[0], rear, GOOD[2]], span_s=10.0)
    assert result.verdict is Verdict.PASS
    drifts = [w for w in result.warnings if w.code is ReasonCode.DRIFT]
    assert len(drifts) == n
    assert all("more than quartz does" in w.message for w in drifts)


def test_the_refusal_that_tells_most_is_told_everywhere():
    """One choice serves verdict, terminal, report and viewer."""
    tried = (
        refused("cam_front", "can", "it holds no turn", method="yaw_rate"),
        refused(
            "cam_front",
            "cam_rear",
            "3 events agree",
            method="flash",
            diagnostics={"source_events": 3.0, "target_events": 4.0, "chance": 0.01},
        ),
        refused("cam_front", "imu", "2 events", method="flash", diagnostics={"source_events": 2.0}),
    )
    verdict = run(tried)
    told = (
        "its flashes could not be matched to cam_rear: 3 events agree (2 other attempts failed too)"
    )
    assert verdict.sources["cam_front"].why_unmeasured == told
    assert verdict.to_json()["sources"]["cam_front"]["why_unmeasured"] == told
    messages = [f.message for f in (*verdict.reasons, *verdict.warnings) if f.source == "cam_front"]
    assert messages == [f"cam_front cannot be judged: {told}"]


def test_an_offset_that_was_found_and_not_believed_is_told_first():
    tried = (
        refused("cam_front", "imu", "nothing alike", diagnostics={"runner_up": 3.0}),
        refused("cam_front", "can", "gain is off", offset_s=0.02, offset_std_s=0.001),
    )
    assert "gain is off" in run(tried).sources["cam_front"].why_unmeasured


def test_where_no_pair_was_tried_nothing_is_made_up():
    assert run(()).sources["cam_front"].why_unmeasured is None


def test_what_was_refused_is_told_beside_a_rejected_source():
    """A clip rejected for one source leaves no other without its reason."""
    tried = (
        pair("cam_rear", "imu", 0.5),
        pair("imu", "can", 0.001, 0.002, method="yaw_rate"),
        refused("cam_front", "imu", "gain 0.4 is outside [0.5, 2]"),
    )
    verdict = run(tried)
    assert verdict.verdict is Verdict.REJECT
    assert "gain 0.4" in verdict.sources["cam_front"].why_unmeasured


def test_a_pair_on_one_clock_that_was_refused_is_told():
    sources = {
        "cam": CameraSpec(uri="f.mp4", clock="board"),
        "imu": ImuSpec(uri="i.csv", clock="board"),
    }
    verdict = run((refused("cam", "imu", "too little motion"),), sources=sources)
    assert "too little motion" in verdict.sources["cam"].why_unmeasured
    assert not any("no measurement ties" in f.message for f in verdict.reasons)
