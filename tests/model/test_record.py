"""Measurements are written to a verdict row and restored unchanged."""

import json
from dataclasses import replace

import pytest

from syncaudit.batch.json_encoding import json_line
from syncaudit.model import (
    ClipRecord,
    ClipVerdict,
    ClockEstimate,
    CommonOffsets,
    Finding,
    ImageAudit,
    ImageFault,
    ImageFaultRun,
    PairMeasurement,
    ReasonCode,
    Severity,
    SourceVerdict,
    StampAudit,
    StampRemark,
    Verdict,
)
from syncaudit.model.findings import ArrivalAudit

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
        "cam": ImageAudit(
            frames=9,
            counts={"blank": 2},
            spells=(
                ImageFaultRun(
                    fault=ImageFault.BLANK,
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


def verdict_of(record):
    return ClipVerdict(
        clip_id="c",
        recording_id="r",
        verdict=Verdict.REJECT,
        reasons=(Finding(code=ReasonCode.GAP, message="a gap", source="cam", value=0.5),),
        reference="imu",
        at_ns=5,
        sources={
            "cam": SourceVerdict(
                verdict=Verdict.PASS,
                kind="camera",
                clock="cams",
                timing=STAMPS,
                is_observable=True,
                offset_s=0.1,
                recording=ClockEstimate(clock="cams", is_observable=True, offset_s=0.2),
                why_unmeasured="it is dark",
            )
        },
        pairs=RECORD.measurements,
        seconds=1.5,
        stages=RECORD.stages,
        record=record,
        common=CommonOffsets(reference="imu", offset_s={"cams": 0.1}),
    )


@pytest.mark.parametrize("record", [RECORD, None])
def test_a_verdict_survives_its_row(record):
    verdict = verdict_of(record)
    line = json_line(verdict.to_json())
    read = ClipVerdict.from_row(json.loads(line))
    if record is None:  # which is where a row holds remarks
        timing = replace(STAMPS, remarks=())
        cam = replace(verdict.sources["cam"], timing=timing)
        verdict = replace(verdict, sources={"cam": cam})
    assert read == verdict
    assert json_line(read.to_json()) == line


def test_a_row_of_another_version_is_read():
    row = {"clip_id": "c", "verdict": "pass", "sources": {"cam": {"verdict": "pass", "new": 1}}}
    verdict = ClipVerdict.from_row(row)
    assert verdict.recording_id == "c"
    assert verdict.sources["cam"].clock == "cam"
    assert verdict.record is None


@pytest.mark.parametrize("key", ["reasons", "warnings", "pairs", "sources", "stages"])
def test_a_row_with_something_else_in_it_is_refused(key):
    row = {"clip_id": "c", "verdict": "pass", key: "something else"}
    with pytest.raises((KeyError, TypeError, ValueError, AttributeError)):
        ClipVerdict.from_row(row)
