"""Requirements for every check of a clip."""

from __future__ import annotations

from dataclasses import replace

import pytest

from syncaudit.graph.solve import solve_clocks
from syncaudit.model import (
    ArrivalAudit,
    Clip,
    ClipRecord,
    ImageAudit,
    ImageFault,
    ImageFaultRun,
    StampRemark,
)
from syncaudit.model.findings import ReasonCode
from syncaudit.policy.case import Case, Check
from syncaudit.policy.judge import CHECKS, judge
from testkit.judged_clips import POLICY, RIG, stamp_audit
from testkit.measured_pairs import AT_NS, pair

S = 10**9


def case_of(record: ClipRecord) -> Case:
    clip = Clip(clip_id="c", recording_id="c", sources=RIG)
    solution = solve_clocks(
        record.measurements,
        {name: name for name in RIG},
        at_ns=AT_NS,
        tolerance_s=POLICY.clock_tolerances(clip),
        reference="imu" if record.measurements else None,
        span_s=record.span_s,
    )
    return Case(
        clip=clip,
        policy=POLICY,
        record=record,
        solution=solution,
        measurements=record.measurements,
    )


NOTHING = ClipRecord(at_ns=AT_NS, span_s=20.0, max_offset_s=2.0)
FAULTY = replace(
    NOTHING,
    stamps={
        "imu": stamp_audit(rate_hz=100.0, backwards=3),
        "can": stamp_audit(
            remarks=(StampRemark(code=ReasonCode.GAP, text="a gap"),),
            arrival=ArrivalAudit(
                samples=99, span_s=20.0, floor_s=99.0, floor_std_s=1e-3, spread_s=1e-3
            ),
        ),
    },
    pictures={
        "cam_front": ImageAudit(
            frames=240,
            counts={str(ImageFault.BLANK): 200},
            spells=(
                ImageFaultRun(
                    fault=ImageFault.BLANK,
                    first=0,
                    last=199,
                    frames=200,
                    start_s=0.0,
                    stop_s=16.0,
                    duration_s=16.0,
                    level=16.0,
                ),
            ),
        )
    },
    extents=dict.fromkeys(RIG, (AT_NS - S, AT_NS + S)),
    measurements=(
        pair("cam_front", "imu", 0.05),
        pair("cam_rear", "imu", 0.05),
        pair("cam_front", "cam_rear", 0.2),
    ),
)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_a_check_finds_nothing_where_nothing_was_measured(check: Check) -> None:
    found = check(case_of(NOTHING))
    assert (list(found.findings), found.doubtful, found.verified) == ([], set(), set())


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_a_check_names_sources_of_the_clip_and_says_the_same_twice(check: Check) -> None:
    case = case_of(FAULTY)
    found = check(case)
    assert {finding.source for finding in found.findings} <= {None, *RIG}
    assert found.doubtful | found.verified <= set(RIG)
    assert check(case) == found


def test_what_checks_find_is_in_the_verdict() -> None:
    case = case_of(FAULTY)
    found = [finding for check in CHECKS for finding in check(case).findings]
    assert len({finding.code for finding in found}) > 3
    verdict = judge(case)
    told = {finding.message for finding in (*verdict.reasons, *verdict.warnings)}
    # A step or a lack of evidence may be reported elsewhere; defects never go unreported.
    missing = {f.message for f in found if not f.is_lack and f.code is not ReasonCode.STEP} - told
    assert not missing
