"""Findings of readers and detectors enter the verdict by their severity."""

from __future__ import annotations

from syncaudit.model import Finding, ReasonCode, Severity, Verdict
from testkit.judged_clips import GOOD, judge_measured, source_verdicts


def test_defect_of_a_source_rejects_and_silences_what_is_missing() -> None:
    broken = Finding(code=ReasonCode.UNREADABLE, source="cam_rear", message="cam_rear: no video")
    result = judge_measured([GOOD[0], GOOD[2]], findings=[broken])
    assert result.verdict is Verdict.REJECT
    assert result.reasons == (broken,)
    assert result.warnings == ()


def test_defect_of_the_clip_rejects() -> None:
    late = Finding(code=ReasonCode.TIMEOUT, message="no verdict within 60 s")
    result = judge_measured(findings=[late])
    assert result.verdict is Verdict.REJECT
    assert result.reasons == (late,)
    assert set(source_verdicts(result).values()) == {"pass"}


def test_finding_about_a_stranger_concerns_the_clip() -> None:
    strange = Finding(code=ReasonCode.MISSING_FILE, source="gps", message="gps: no file")
    assert judge_measured(findings=[strange]).reasons == (strange,)


def test_warning_decides_nothing() -> None:
    dark = Finding(
        code=ReasonCode.CORRUPT,
        source="cam_rear",
        message="cam_rear is dark",
        severity=Severity.WARNING,
    )
    result = judge_measured(findings=[dark])
    assert result.verdict is Verdict.PASS
    assert result.warnings == (dark,)


def test_lack_of_evidence_is_no_defect_whoever_reports_it() -> None:
    blind = Finding(code=ReasonCode.UNOBSERVABLE, source="cam_rear", message="cam_rear is blind")
    assert judge_measured(findings=[blind]).warnings == (blind,)
    result = judge_measured([GOOD[0], GOOD[2]], findings=[blind])
    assert result.verdict is Verdict.UNVERIFIED
    assert result.reasons[0] is blind
