"""A clip of a car whose measurements are judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from syncaudit.graph.solve import solve_clocks
from syncaudit.model import (
    CameraSpec,
    CanSpec,
    Clip,
    ClipRecord,
    ClipVerdict,
    ClockSolution,
    Finding,
    ImuSpec,
    PairMeasurement,
    SourceSpec,
    StampAudit,
)
from syncaudit.policy import Case, Policy, judge, load_policy
from testkit.measured_pairs import AT_NS, pair

POLICY = load_policy()
RIG: Mapping[str, SourceSpec] = {
    "cam_front": CameraSpec(uri="f.mp4"),
    "cam_rear": CameraSpec(uri="r.mp4"),
    "imu": ImuSpec(uri="imu.csv"),
    "can": CanSpec(uri="can.log"),
}


GOOD = (
    pair("cam_front", "imu", 0.0002),
    pair("cam_rear", "imu", -0.0001),
    pair("imu", "can", 0.001, 0.002, method="yaw_rate"),
)


def judge_measured(
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
    """Judge a clip of `sources`; its clocks are solved from measurements unless given."""
    clip = Clip(clip_id="drive07/1", recording_id="drive07", sources=sources, reference=reference)
    if solution is None:
        solution = solve_clocks(
            measurements,
            clip.clocks,
            at_ns=AT_NS,
            tolerance_s=policy.clock_tolerances(clip),
            reference=reference,
            preference=policy.clock_preference(clip),
            span_s=span_s,
        )
    record = ClipRecord(
        at_ns=AT_NS,
        span_s=span_s,
        max_offset_s=policy.max_offset_s,
        stamps=stamps or {},
        findings=tuple(findings),
        measurements=tuple(measurements),
        stages={"read": 0.4, "detect": 1.5},
    )
    return judge(
        Case(
            clip=clip,
            policy=policy,
            record=record,
            solution=solution,
            measurements=record.measurements,
        )
    )


def reason_codes(verdict: ClipVerdict) -> list[tuple[str, str | None]]:
    """Return the code and source of every reason."""
    return [(str(finding.code), finding.source) for finding in verdict.reasons]


def source_verdicts(verdict: ClipVerdict) -> dict[str, str]:
    """Return the verdict of every source by name."""
    return {name: str(source.verdict) for name, source in verdict.sources.items()}


def stamp_audit(**figures: object) -> StampAudit:
    """Return an audit of healthy timestamps except for these figures."""
    fields: dict[str, object] = {"samples": 240, "rate_hz": 12.0} | figures
    return StampAudit(**fields)  # type: ignore[arg-type]  # fields of the record
