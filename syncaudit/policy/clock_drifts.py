"""Judge how fast a clock runs away, apart from where that takes it."""

from __future__ import annotations

from syncaudit.model import ClockEstimate, Finding, ReasonCode, Verdict
from syncaudit.model.wording import word_drift
from syncaudit.policy.check_result import CheckResult, defect, remark
from syncaudit.policy.equivalence import Equivalence, compare
from syncaudit.policy.limits import Limits
from syncaudit.policy.unobservable import unknown

__all__ = ["judge_drift"]

# Crystals of any make stay within 100 ppm; twice that is none's.
_QUARTZ_PPM = 200.0


def judge_drift(
    name: str, is_reference: bool, estimate: ClockEstimate, limits: Limits, z: float
) -> CheckResult:
    """Return the opinion on a drift by itself, and a warning where no oscillator has it."""
    limit = limits.drift_ppm
    if limit is None or is_reference:
        return CheckResult(verdict=Verdict.PASS, warnings=_beyond_quartz(name, estimate, z))
    if estimate.drift_ppm is None or estimate.drift_std_ppm is None:
        return unknown(
            name,
            f"the drift of {name} could not be measured, but the policy limits it to "
            f"{limit:g} ppm: a longer clip, or more clips of the recording, would tell",
            limit=limit,
        )
    drift = word_drift(estimate.drift_ppm, estimate.drift_std_ppm)
    standing = compare(estimate.drift_ppm, estimate.drift_std_ppm, limit, z)
    if standing is Equivalence.INSIDE:
        return CheckResult(verdict=Verdict.PASS)
    if standing is Equivalence.INCONCLUSIVE:
        return unknown(
            name,
            f"{name} drifts {drift}, too uncertain for the limit of {limit:g} ppm",
            limit=limit,
        )
    message = f"{name} drifts {drift}; limit {limit:g} ppm"
    return CheckResult(
        verdict=Verdict.REJECT,
        defects=(defect(ReasonCode.DRIFT, name, message, value=estimate.drift_ppm, limit=limit),),
    )


def _beyond_quartz(name: str, estimate: ClockEstimate, z: float) -> tuple[Finding, ...]:
    """Warn of a drift that no oscillator has, even where the offset stays inside its limit."""
    drift, std = estimate.drift_ppm, estimate.drift_std_ppm
    if drift is None or std is None or abs(drift) - 2.0 * z * std <= _QUARTZ_PPM:
        return ()
    text = (
        f"{name} drifts {word_drift(drift, std)}, more than quartz does: its stamps may be "
        "made up at a nominal rate, or frames get lost now and then"
    )
    return (remark(ReasonCode.DRIFT, name, text, value=drift),)
