"""Verdicts on transcripts from measurements against their audio."""

from __future__ import annotations

from dataclasses import replace

import pytest

from syncaudit.model import (
    Clip,
    ClipRecord,
    ClockSolution,
    PairMeasurement,
    ReasonCode,
    TranscriptSpec,
    Verdict,
)
from syncaudit.policy import load_policy
from syncaudit.policy.case import Case, CheckResult
from syncaudit.policy.transcripts import judge_transcript

AT_NS = 1_767_225_600_000_000_000
S = 1_000_000_000


def speech(offset_s: float, **more: object) -> PairMeasurement:
    fields: dict[str, object] = {"offset_std_s": 0.002, "accepted": True, "at_ns": AT_NS} | more
    return PairMeasurement(
        source="text",
        target="mic",
        method="speech",
        offset_s=offset_s,
        **fields,  # type: ignore[arg-type]  # fields of the record
    )


def judged(
    *pairs: PairMeasurement, expected_offset_s: float = 0.0, span_s: float = 20.0
) -> CheckResult:
    spec = TranscriptSpec(audio="mic", expected_offset_s=expected_offset_s)
    case = Case(
        clip=Clip(clip_id="clip", recording_id="clip", sources={"text": spec}),
        policy=load_policy(),
        record=ClipRecord(at_ns=AT_NS, span_s=span_s, max_offset_s=2.0),
        solution=ClockSolution(reference=None, is_reference_stated=False, at_ns=AT_NS, clocks={}),
        measurements=pairs,
    )
    return judge_transcript(case, "text", spec)


@pytest.mark.parametrize(
    ("offset_s", "is_words", "verdict", "n_warnings"),
    [
        (0.02, 0.0, Verdict.PASS, 0),
        (-0.033, 0.0, Verdict.PASS, 1),
        (0.06, 0.0, Verdict.REJECT, 0),
        (0.044, 0.0, Verdict.UNVERIFIED, 1),
        (0.035, 1.0, Verdict.PASS, 0),
        (0.06, 1.0, Verdict.PASS, 1),
        (-0.1, 1.0, Verdict.REJECT, 0),
    ],
)
def test_limits_of_phones_and_words(
    offset_s: float, is_words: float, verdict: Verdict, n_warnings: int
) -> None:
    result = judged(speech(offset_s, diagnostics={"is_words": is_words}))
    assert result.verdict is verdict
    assert len(result.warnings) == n_warnings


def test_intended_offset_is_taken_off() -> None:
    assert judged(speech(0.2), expected_offset_s=0.2).verdict is Verdict.PASS
    assert judged(speech(0.0), expected_offset_s=0.2).verdict is Verdict.REJECT


def test_drift_counts_at_the_ends_of_the_clip() -> None:
    drifting = speech(0.0, drift_ppm=6000.0, drift_std_ppm=20.0)
    assert [f.code for f in judged(drifting).defects] == [ReasonCode.DRIFT]


def test_tier_whose_drift_is_unknown_is_not_vouched_for_at_its_ends() -> None:
    # Times may stretch by 0.1 %: 30 ms at either end of a minute.
    unknown = speech(0.02, diagnostics={"seconds": 60.0})
    result = judged(unknown, span_s=60.0)
    assert result.verdict is Verdict.UNVERIFIED
    assert "a drift that the clip cannot exclude" in result.gaps[0].message


def test_drift_that_a_tier_shows_counts_over_the_tier_alone() -> None:
    # 69 ms at the end of 25.7 s, and nothing beyond 3 s of words.
    drifting = speech(0.0, drift_ppm=3000.0, drift_std_ppm=200.0, diagnostics={"seconds": 25.7})
    brief = replace(drifting, drift_std_ppm=2000.0, diagnostics={"seconds": 3.0})
    assert judged(replace(drifting, offset_s=0.035)).verdict is Verdict.REJECT
    assert judged(brief).verdict is Verdict.PASS


def test_drift_is_judged_within_the_clip() -> None:
    # The evidence lies 2.3 s before the middle of 26.7 s: the offset grows to 41 ms at either end.
    drifting = speech(
        -0.0071,
        at_ns=AT_NS - round(2.3 * S),
        drift_ppm=3100.0,
        drift_std_ppm=20.0,
        diagnostics={"seconds": 26.6},
    )
    assert judged(drifting, span_s=26.7).verdict is not Verdict.REJECT
    assert judged(replace(drifting, drift_ppm=4200.0), span_s=26.7).verdict is Verdict.REJECT


@pytest.mark.parametrize("seconds", [26.6, 9.0])
def test_step_is_dated_from_the_start_of_the_clip(seconds: float) -> None:
    stepped = speech(
        0.0,
        at_ns=AT_NS - round(2.3 * S),
        step_s=0.2,
        step_std_s=0.002,
        step_at_ns=AT_NS + round(1.5 * S),
        diagnostics={"seconds": seconds},
    )
    (defect,) = judged(stepped, span_s=26.7).defects
    assert "at 14.8 s" in defect.message or "at 14.9 s" in defect.message


def test_step_counts_on_its_side_of_the_clip() -> None:
    early = speech(0.0, step_s=0.2, step_std_s=0.002, step_at_ns=AT_NS + 5 * S)
    # The offset is valid 8 s after the middle of the clip, beyond the step.
    late = replace(early, offset_s=0.2, at_ns=AT_NS + 8 * S)
    for m in (early, late):
        (defect,) = judged(m).defects
        assert defect.code is ReasonCode.STEP
        assert defect.value == pytest.approx(0.2)


def refused(**figures: float) -> PairMeasurement:
    return PairMeasurement.refused("text", "mic", "speech", AT_NS, "nothing stands out", figures)


def test_foreign_text_rejects_and_doubt_does_not() -> None:
    foreign = judged(refused(is_foreign=1.0, is_words=1.0))
    assert [f.code for f in foreign.defects] == [ReasonCode.BAD_TEXT]
    assert foreign.defects[0].message.startswith("the words of text are not what is spoken in mic")
    doubt = judged(refused(is_foreign=0.0))
    assert doubt.verdict is Verdict.UNVERIFIED
    assert [f.code for f in doubt.gaps] == [ReasonCode.UNOBSERVABLE]
    assert [f.code for f in judged(refused(steps=2.0)).defects] == [ReasonCode.STEP]
    # Recognisers shift whole phrases: that is not a clock.
    loose = judged(refused(steps=2.0, is_words=1.0))
    assert loose.verdict is Verdict.UNVERIFIED


def test_transcript_without_times_is_unverified() -> None:
    result = judged()
    assert result.verdict is Verdict.UNVERIFIED
    assert "holds no words with times" in result.gaps[0].message
