"""Figures and remarks on timestamps reject, warn or stay silent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from syncaudit.model import (
    CameraSpec,
    PairMeasurement,
    ReasonCode,
    Severity,
    StampAudit,
    StampRemark,
    Verdict,
)
from syncaudit.policy import Policy, load_policy
from testkit.judged_clips import GOOD, POLICY, RIG, judge_measured, reason_codes, stamp_audit
from testkit.measured_pairs import AT_NS, pair


def policy_limiting(**limits: float | None) -> Policy:
    return replace(POLICY, overrides={"*": limits})


def said(text: str, *, is_figure: bool = False) -> StampRemark:
    return StampRemark(code=ReasonCode.JITTER, text=text, is_figure=is_figure)


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
            "cam_rear is silent for 660 ms (7.92 periods) at its longest gap, 577 ms more than "
            "usual; limit 417 ms",
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
            "cam_rear waits 15 ms on average before being timestamped; limit 5 ms",
        ),
        (
            {"steps": ((AT_NS, -0.02),)},
            "step",
            f"cam_rear jumps by 20 ms against its own rate at timestamp {AT_NS}; limit 10 ms",
        ),
    ],
)
def test_bad_stamps_reject(figures: dict[str, object], code: str, message: str) -> None:
    result = judge_measured(stamps={"cam_rear": stamp_audit(**figures)})
    assert result.verdict is Verdict.REJECT
    assert reason_codes(result) == [(code, "cam_rear")]
    assert result.reasons[0].message == message
    assert result.sources["cam_rear"].timing is not None


def test_wrong_rate_rejects_where_one_is_demanded() -> None:
    result = judge_measured(
        stamps={"imu": stamp_audit(rate_hz=95.0)}, policy=policy_limiting(rate_hz=100.0)
    )
    assert reason_codes(result) == [("rate", "imu")]
    assert result.reasons[0].message == "imu runs at 95 Hz instead of 100 Hz; limit 2 %"
    fine = judge_measured(
        stamps={"imu": stamp_audit(rate_hz=99.0)}, policy=policy_limiting(rate_hz=100.0)
    )
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
    result = judge_measured(stamps={"cam_rear": stamp_audit(**figures)})
    assert result.verdict is Verdict.PASS
    assert [str(w.code) for w in result.warnings] == code
    assert all(w.source == "cam_rear" and w.severity is Severity.WARNING for w in result.warnings)


def test_single_dropped_frame_is_worded() -> None:
    result = judge_measured(stamps={"cam_rear": stamp_audit(missing=1, gaps=1, max_gap_s=1 / 6)})
    assert [w.message for w in result.warnings] == [
        "cam_rear lacks 1 of 241 frames (0.415 %); limit 5 %",
        "cam_rear is silent for 167 ms (2 periods) at its longest gap, 83.3 ms more than usual; "
        "limit 417 ms",
    ]


@pytest.mark.parametrize(
    ("rate_hz", "longest_s", "is_defect"),
    [
        (10.0, 0.107, False),  # a receiver's fix that arrives 7 ms late
        (10.0, 0.30, False),  # two samples
        (10.0, 0.40, True),
        (200.0, 0.24, False),
        (200.0, 0.30, True),
        (1.0, 2.0, False),  # one sample of a slow source
        (1.0, 3.0, True),
    ],
)
def test_gaps_count_by_what_they_lose(rate_hz: float, longest_s: float, is_defect: bool) -> None:
    figures = stamp_audit(
        rate_hz=rate_hz, max_gap_s=longest_s, lost_s=longest_s - 1.0 / rate_hz, gaps=1, missing=1
    )
    result = judge_measured(stamps={"imu": figures})
    assert ("gap" in [code for code, _ in reason_codes(result)]) == is_defect


def test_gap_of_a_slow_message_is_counted_in_its_own_periods() -> None:
    """The odometer of a bus comes once a second, and one is missing."""
    figures = stamp_audit(rate_hz=100.0, max_gap_s=2.0, lost_s=1.0, gaps=1, missing=1)
    result = judge_measured(stamps={"can": figures})
    assert "can is silent for 2 s (2 periods) at its longest gap, 1 s more than usual" in [
        finding.message.partition(";")[0] for finding in result.warnings
    ]


def test_verdicts_of_older_versions_state_no_lost_time() -> None:
    old = stamp_audit(rate_hz=100.0, max_gap_s=0.4, gaps=1, missing=39)
    assert reason_codes(judge_measured(stamps={"imu": old})) == [("gap", "imu")]


def test_a_strict_limit_in_periods_allows_no_lost_frame() -> None:
    lost = stamp_audit(max_gap_s=1 / 6, lost_s=1 / 12, gaps=1, missing=1)
    strict = load_policy(profile="strict")
    result = judge_measured(stamps={"cam_rear": lost}, policy=strict)
    assert {code for code, _ in reason_codes(result)} == {"gap", "missing_frames"}


def test_each_code_rejects_once_for_a_source() -> None:
    steps = tuple((AT_NS + k, -0.02 - 0.001 * k) for k in range(40))
    wild = stamp_audit(steps=steps, duplicates=9, doubled=30, jitter_s=0.02, buffering_s=0.03)
    result = judge_measured(stamps={"cam_rear": wild})
    assert sorted(code for code, _ in reason_codes(result)) == ["duplicate", "jitter", "step"]
    (step,) = [finding for finding in result.reasons if finding.code is ReasonCode.STEP]
    assert step.message == (
        f"cam_rear jumps by 59 ms against its own rate at timestamp {AT_NS + 39}, the "
        "largest of 40 jumps; limit 10 ms"
    )


def with_share(share: float, std: float = 0.02) -> tuple[PairMeasurement, ...]:
    figures = {"stamp_share": share, "stamp_share_std": std}
    return (GOOD[0], pair("cam_rear", "imu", -0.0001, diagnostics=figures), GOOD[2])


JITTERING = stamp_audit(jitter_s=0.0105)
BUFFERED = stamp_audit(jitter_s=0.008, buffering_s=0.009)


@pytest.mark.parametrize("figures", [JITTERING, BUFFERED])
@pytest.mark.parametrize(("share", "verdict"), [(0.95, "reject"), (0.0, "pass"), (-0.1, "pass")])
def test_content_tells_uneven_stamps_from_uneven_sampling(
    figures: StampAudit, share: float, verdict: str
) -> None:
    result = judge_measured(with_share(share), stamps={"cam_rear": figures})
    assert result.verdict == verdict
    told = [f for f in (*result.reasons, *result.warnings) if f.source == "cam_rear"]
    assert [str(finding.code) for finding in told] == ["jitter"]
    assert ("samples unevenly" in told[0].message) == (verdict == "pass")


def test_the_part_of_the_stamps_is_what_counts() -> None:
    # Of 10 ms with a limit of 5 ms: certainly most of the variance, possibly most, certainly
    # little.
    for share, verdict in ((0.8, "reject"), (0.5, "unverified"), (0.02, "pass")):
        result = judge_measured(with_share(share), stamps={"cam_rear": stamp_audit(jitter_s=0.010)})
        assert result.verdict == verdict
    assert result.warnings[0].message == (
        "cam_rear jitters by 10 ms (one sigma); limit 5 ms. By its content it samples unevenly, "
        "and its timestamps are accurate to 4.73 ms"
    )


@pytest.mark.parametrize("measured", [GOOD, with_share(0.5, 0.4)])
def test_jitter_of_unknown_origin_is_unverified(measured: Sequence[PairMeasurement]) -> None:
    result = judge_measured(measured, stamps={"cam_rear": JITTERING})
    assert result.verdict is Verdict.UNVERIFIED
    assert [finding.message for finding in result.reasons] == [
        "cam_rear: nothing shows whether its sampling or its timestamps are uneven. Record "
        "motion that a gyroscope also measures, or timestamp at capture (hardware trigger, PTP)"
    ]
    assert [finding.message for finding in result.warnings] == [
        "cam_rear jitters by 10.5 ms (one sigma); limit 5 ms"
    ]


def test_one_sided_delays_show_that_stamps_are_of_arrival() -> None:
    assert reason_codes(judge_measured(stamps={"cam_rear": BUFFERED})) == [("jitter", "cam_rear")]


def test_devices_that_sample_by_their_own_oscillator_do_not_jitter() -> None:
    assert reason_codes(
        judge_measured(stamps={"imu": stamp_audit(rate_hz=100.0, jitter_s=0.004)})
    ) == [("jitter", "imu")]


def test_irregular_sampling_is_a_warning() -> None:
    text = "no regular clock fits the stamps"
    remarks = (StampRemark(code=ReasonCode.RATE, text=text),)
    result = judge_measured(stamps={"cam_rear": stamp_audit(is_irregular=True, remarks=remarks)})
    assert result.verdict is Verdict.PASS
    assert [finding.message for finding in result.warnings] == [f"cam_rear: {text}"]


def test_made_up_stamps_prove_nothing() -> None:
    result = judge_measured(stamps={"cam_rear": stamp_audit(rate_hz=30.0, is_synthetic=True)})
    assert result.warnings[0].message == (
        "cam_rear: its timestamps equal index / 30 Hz exactly: they are synthetic and prove nothing"
    )
    counter = dict(RIG) | {"cam_rear": CameraSpec(uri="r", stamp_kind="counter")}
    admitted = judge_measured(stamps={"cam_rear": stamp_audit(is_synthetic=True)}, sources=counter)
    assert [finding.message for finding in admitted.warnings] == [
        "cam_rear: its timestamps are a counter (stamp_kind), index / 12 Hz: they give the "
        "order and the rate, not the capture times"
    ]


def test_a_counter_that_jitters_is_questioned() -> None:
    counter = dict(RIG) | {"cam_rear": CameraSpec(uri="r", stamp_kind="counter")}
    result = judge_measured(stamps={"cam_rear": stamp_audit(jitter_s=0.002)}, sources=counter)
    assert [finding.message for finding in result.warnings] == [
        "cam_rear: its timestamps jitter by 2 ms, which a counter does not: their stamp_kind is "
        "'counter', but they may be capture times"
    ]
    told = stamp_audit(is_synthetic=True, remarks=(said("synthetic stamps prove nothing"),))
    assert len(judge_measured(stamps={"cam_rear": told}).warnings) == 1


def test_limits_that_are_off_only_warn() -> None:
    off = policy_limiting(
        step_s=None,
        max_gap_periods=None,
        missing_share=None,
        duplicate_share=None,
        backwards_share=None,
    )
    wild = stamp_audit(
        backwards=9, duplicates=9, missing=99, gaps=3, max_gap_s=9.0, steps=((AT_NS, 1.0),)
    )
    result = judge_measured(stamps={"cam_rear": wild}, policy=off)
    assert result.verdict is Verdict.PASS
    assert len(result.warnings) == 5
    assert not any("limit" in w.message for w in result.warnings)


def test_bunched_can_frames_are_no_defect() -> None:
    # 100 Hz through a USB adapter: 0.1 to 29 ms between frames.
    bunched = stamp_audit(
        samples=2000, rate_hz=100.0, jitter_s=0.006, buffering_s=0.008, max_gap_s=0.029
    )
    assert judge_measured(stamps={"can": bunched}).verdict is Verdict.PASS
