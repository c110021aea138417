"""What the checks of one source hand to the verdict."""

from __future__ import annotations

from dataclasses import dataclass

from syncaudit.model import Finding, ReasonCode, Severity, Verdict

__all__ = ["CheckResult", "defect", "remark"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """Verdict of one check and the findings behind it.

    Parameters
    ----------
    verdict : Verdict
        Of this check alone.
    defects : tuple of Finding
        What rejects.
    gaps : tuple of Finding
        What is missing to tell (code ``unobservable``).
    warnings : tuple of Finding
        What decides nothing.
    why_unmeasured : str, optional
        Where no measurement tells of its clock: what was tried and refused.
    """

    verdict: Verdict
    defects: tuple[Finding, ...] = ()
    gaps: tuple[Finding, ...] = ()
    warnings: tuple[Finding, ...] = ()
    why_unmeasured: str | None = None


def defect(
    code: ReasonCode,
    source: str | None,
    message: str,
    *,
    value: float | None = None,
    limit: float | None = None,
) -> Finding:
    """Return a finding that rejects."""
    return Finding(code=code, source=source, message=message, value=value, limit=limit)


def remark(
    code: ReasonCode,
    source: str | None,
    message: str,
    *,
    value: float | None = None,
    limit: float | None = None,
) -> Finding:
    """Return a finding that rejects nothing."""
    return Finding(
        code=code,
        source=source,
        message=message,
        value=value,
        limit=limit,
        severity=Severity.WARNING,
    )
