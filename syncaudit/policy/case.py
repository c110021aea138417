"""A clip as the checks see it (what was measured, its clocks, the policy), and what they return."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from syncaudit.formatting import word_duration
from syncaudit.model import (
    Clip,
    ClipRecord,
    ClockEstimate,
    ClockSolution,
    Finding,
    PairMeasurement,
    ReasonCode,
    Verdict,
    clock_of,
)
from syncaudit.policy.equivalence import QUARTZ_PPM, quantile
from syncaudit.policy.limits import Limits, Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """Verdict of one check and the findings behind it.

    Parameters
    ----------
    verdict : Verdict
        Of this check alone.
    defects : tuple of Finding
        Findings that reject.
    gaps : tuple of Finding
        Findings of missing evidence (code ``unobservable``).
    warnings : tuple of Finding
        Findings that decide nothing.
    why_unmeasured : str, optional
        If no measurement constrains its clock: what was tried and refused.
    """

    verdict: Verdict
    defects: tuple[Finding, ...] = ()
    gaps: tuple[Finding, ...] = ()
    warnings: tuple[Finding, ...] = ()
    why_unmeasured: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Everything a verdict follows from.

    Parameters
    ----------
    clip : Clip
        The manifest row.
    policy : Policy
        What to judge by.
    record : ClipRecord
        What was measured.
    solution : ClockSolution
        All clocks, solved from `measurements` in this order.
    measurements : tuple of PairMeasurement
        Accepted and refused, marked where the policy requires a baseline for them.
    """

    clip: Clip
    policy: Policy
    record: ClipRecord
    solution: ClockSolution
    measurements: tuple[PairMeasurement, ...]
    clocks: dict[str, str] = field(init=False)
    """Clock of every source."""
    kinds: dict[str, str] = field(init=False)
    """Kind of every source."""
    limits: dict[str, Limits] = field(init=False)
    """Limits of every source."""
    z: float = field(init=False)
    """Standard errors of the confidence interval."""

    def __post_init__(self) -> None:
        """Look up the manifest and policy entries of every source."""
        sources = self.clip.sources.items()
        derived = {
            "clocks": {name: clock_of(name, spec) for name, spec in sources},
            "kinds": {name: str(spec.kind) for name, spec in sources},
            "limits": {name: self.policy.limits(name, spec.kind) for name, spec in sources},
            "z": quantile(self.policy.confidence),
        }
        for name, value in derived.items():
            object.__setattr__(self, name, value)

    def clock(self, source: str) -> ClockEstimate | None:
        """Return the clock of a source, None if nothing ties it to the reference."""
        estimate = self.solution.clocks.get(self.clocks.get(source, ""))
        return estimate if estimate is not None and estimate.is_observable else None

    def widest_limit_s(self, *sources: str) -> float:
        """Return the largest offset limit of some sources; 0 if none are in the clip."""
        return max(
            (self.limits[name].offset_s for name in sources if name in self.limits), default=0.0
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockCase:
    """The clock of one source as it is judged.

    Parameters
    ----------
    name, clock : str
        Source, and the clock that stamps it.
    limits : Limits
        Of this source.
    solution : ClockSolution
        All clocks; holds what is left after subtracting intended offsets.
    measurements : sequence of PairMeasurement
        In the order given to the solver; refused ones explain why nothing is known.
    clocks : mapping of str to str
        Clock of every source.
    expected_offset_s : float
        Intended offset of the source, for the wording.
    span_s : float
        Length of the part of the clip that is judged.
    start_s : float
        From the start of the clip to that of this part.
    z : float
        Standard errors of the confidence interval.
    period_s : float, optional
        Frame period of a camera: offsets and steps of whole periods are reported as lost frames.
    is_counted : bool
        Whether the timestamps only count samples: then only the content can show an offset.
    prior_ppm : float
        Largest drift typical of such a clock, used if none was measured.
    """

    name: str
    clock: str
    limits: Limits
    solution: ClockSolution
    measurements: Sequence[PairMeasurement]
    clocks: Mapping[str, str]
    expected_offset_s: float
    span_s: float
    z: float
    start_s: float = 0.0
    period_s: float | None = None
    is_counted: bool = False
    prior_ppm: float = QUARTZ_PPM

    @property
    def is_reference(self) -> bool:
        """Whether reference time is read from this clock."""
        return self.clock == self.solution.reference


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What one check found on a clip.

    Parameters
    ----------
    findings : sequence of Finding
        About the clip, or about one of its sources.
    doubtful : frozenset of str
        Sources that cannot pass.
    verified : frozenset of str
        Sources that pass although nothing constrains their clock.
    """

    findings: Sequence[Finding] = ()
    doubtful: frozenset[str] = frozenset()
    verified: frozenset[str] = frozenset()


Check = Callable[[Case], Findings]


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


def rejected(
    code: ReasonCode,
    source: str,
    message: str,
    *,
    value: float | None = None,
    limit: float | None = None,
) -> CheckResult:
    """Return the result that a source is rejected, and why."""
    found = defect(code, source, message, value=value, limit=limit)
    return CheckResult(verdict=Verdict.REJECT, defects=(found,))


def limited(
    code: ReasonCode,
    source: str,
    message: str,
    value: float,
    limit: float | None,
    *,
    word: Callable[[float], str] = word_duration,
    is_over: bool | None = None,
) -> Finding:
    """Return a defect if a figure is over its limit, else a warning; either states the limit.

    Parameters
    ----------
    code, source, message
        Of the finding.
    value : float
        The figure.
    limit : float, optional
        None: nothing is over it.
    word : callable
        Formats the limit.
    is_over : bool, optional
        Whether it is over the limit, if the figure alone does not determine that.
    """
    if limit is None:
        return Finding.warning(code, source, message, value=value)
    is_over = value > limit if is_over is None else is_over
    make = defect if is_over else Finding.warning
    return make(code, source, f"{message}; limit {word(limit)}", value=value, limit=limit)


def percentage(share: float) -> str:
    """Format a share for display: ``2.5 %``."""
    return f"{100.0 * share:.3g} %"
