"""Findings about arrival times."""

from __future__ import annotations

from syncaudit.model import ArrivalAudit, Severity
from testkit.judged_clips import judge_measured, stamp_audit


def test_many_jumps_of_the_delay_are_told_once_with_the_worst() -> None:
    steps = tuple((1_000 + k, 0.01 * (k + 1)) for k in range(5))
    audit = ArrivalAudit(
        samples=900, span_s=60.0, floor_s=0.005, floor_std_s=1e-4, spread_s=0.002, steps=steps
    )
    (finding,) = judge_measured(stamps={"imu": stamp_audit(arrival=audit)}).warnings
    assert finding.severity is Severity.WARNING
    assert finding.message == (
        "imu: the time from timestamp to arrival jumps by 50 ms (up) at 1004 ns, the "
        "largest of 5 jumps: a stepped clock, or a queue"
    )


def test_a_delay_that_wanders_is_told() -> None:
    audit = ArrivalAudit(
        samples=900, span_s=60.0, floor_s=0.005, floor_std_s=1e-4, spread_s=0.002, wander_s=0.08
    )
    (finding,) = judge_measured(stamps={"imu": stamp_audit(arrival=audit)}).warnings
    assert (finding.severity, finding.value) == (Severity.WARNING, 0.08)
    assert "wanders by 80 ms: a queue that fills and empties, or a steered" in finding.message
