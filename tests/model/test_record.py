"""What was measured goes into a verdict row and comes back the same."""

import json

from syncaudit.batch.json_encoding import json_line
from syncaudit.model import (
    ClipRecord,
    ClipVerdict,
    Finding,
    PairMeasurement,
    PictureAudit,
    PictureFault,
    PictureSpell,
    ReasonCode,
    Severity,
    SourceVerdict,
    StampAudit,
    StampRemark,
    Verdict,
)
from syncaudit.model.timing import ArrivalAudit

ARRIVAL = ArrivalAudit(
    samples=9, span_s=2.0, floor_s=0.01, floor_std_s=0.001, spread_s=0.1, steps=((7, 0.5),)
)
STAMPS = StampAudit(
    samples=10,
    rate_hz=12.0,
    steps=((5, 0.1),),
    remarks=(StampRemark(code=ReasonCode.GAP, text="a gap", is_figure=True),),
    arrival=ARRIVAL,
)
RECORD = ClipRecord(
    at_ns=1_767_225_610_000_000_000,
    span_s=20.0,
    max_offset_s=2.0,
    stamps={"cam": STAMPS},
    pictures={
        "cam": PictureAudit(
            frames=9,
            counts={"blank": 2},
            spells=(
                PictureSpell(
                    fault=PictureFault.BLANK,
                    first=3,
                    last=4,
                    frames=2,
                    start_s=0.3,
                    stop_s=0.4,
                    duration_s=0.2,
                    level=16.0,
                ),
            ),
        )
    },
    findings=(Finding(code=ReasonCode.CORRUPT, message="m", severity=Severity.WARNING),),
    measurements=(
        PairMeasurement(
            source="cam",
            target="imu",
            method="steering",
            at_ns=5,
            offset_s=0.1,
            offset_std_s=0.01,
            accepted=True,
            is_baseline_only=True,
            diagnostics={"gap": 3.0},
        ),
        PairMeasurement.refused("cam", "imu", "rotation", 5, "too dark"),
    ),
    stages={"decode": 0.5},
)


def row_of(record):
    verdict = ClipVerdict(
        clip_id="c",
        recording_id="c",
        verdict=Verdict.PASS,
        sources={
            "cam": SourceVerdict(verdict=Verdict.PASS, kind="camera", clock="cam", timing=STAMPS)
        },
        pairs=RECORD.measurements,
        stages=RECORD.stages,
        record=record,
    )
    return json.loads(json_line(verdict.to_json()))


def test_a_record_survives_its_row():
    assert ClipRecord.from_row(row_of(RECORD)) == RECORD


def test_a_clip_that_was_never_measured_has_none():
    assert ClipRecord.from_row(row_of(None)) is None
