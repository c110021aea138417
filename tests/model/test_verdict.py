"""Verdicts as rows of verdicts.jsonl."""

import json

from syncaudit.model import (
    ClipVerdict,
    Finding,
    PairMeasurement,
    ReasonCode,
    Severity,
    SourceVerdict,
    StampAudit,
    StampRemark,
    Verdict,
)


def test_clip_row_is_json_with_every_key():
    clip = ClipVerdict(
        clip_id="a",
        recording_id="r",
        verdict=Verdict.REJECT,
        reasons=(
            Finding(code=ReasonCode.OFFSET, message="late", source="cam", value=0.1, limit=0.01),
        ),
        warnings=(Finding(code=ReasonCode.GAP, message="gap", severity=Severity.WARNING),),
        reference="imu",
        at_ns=1_767_225_600_000_000_001,
        sources={
            "cam": SourceVerdict(
                verdict=Verdict.REJECT,
                kind="camera",
                clock="cam",
                offset_s=0.1,
                is_observable=True,
                timing=StampAudit(samples=3, steps=((5, 0.1),)),
            ),
            "mic": SourceVerdict(verdict=Verdict.UNVERIFIED, kind="audio", clock="mic"),
        },
        pairs=(
            PairMeasurement(source="cam", target="imu", method="rotation", at_ns=1, why="weak"),
        ),
        seconds=1.23456,
        stages={"decode": 0.123456},
    )
    row = json.loads(json.dumps(clip.to_json()))
    assert row["verdict"] == "reject"
    assert row["at_ns"] == 1_767_225_600_000_000_001
    assert row["reasons"] == [
        {"code": "offset", "source": "cam", "message": "late", "value": 0.1, "limit": 0.01}
    ]
    assert row["warnings"][0]["code"] == "gap"
    assert row["sources"]["cam"]["observable"] is True
    assert row["sources"]["cam"]["timing"]["steps"] == [{"at_ns": 5, "step_s": 0.1}]
    assert row["sources"]["mic"]["timing"] is None
    assert row["sources"]["mic"]["offset_s"] is None
    assert row["pairs"][0]["why"] == "weak"
    assert (row["seconds"], row["stages"]) == (1.2346, {"decode": 0.1235})


def test_verdicts_are_three_words():
    assert [str(one) for one in Verdict] == ["pass", "reject", "unverified"]


def test_remarks_of_an_audit_in_words():
    audit = StampAudit(
        samples=9,
        remarks=(
            StampRemark(code=ReasonCode.GAP, text="a gap"),
            StampRemark(code=ReasonCode.RATE, text="a rate"),
        ),
    )
    assert audit.warnings == ("a gap", "a rate")
