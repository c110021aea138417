"""A clip as the checks see it (what was measured, its clocks, the policy), and what they return."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
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
    Severity,
    Verdict,
)
from syncaudit.policy.equivalence import QUARTZ_PPM, quantile
from syncaudit.policy.limits import Limits, Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """Verdict of one check and the findings behind it."""

    verdict: Verdict  # of this check alone
    defects: tuple[Finding, ...] = ()  # findings that reject
    gaps: tuple[Finding, ...] = ()  # findings of missing evidence (code ``unobservable``)
    warnings: tuple[Finding, ...] = ()  # findings that decide nothing
    # if no measurement constrains its clock: what was tried and refused
    why_unmeasured: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Everything a verdict follows from."""

    clip: Clip
    policy: Policy
    record: ClipRecord  # what was measured
    solution: ClockSolution  # all clocks, solved from `measurements` in this order
    # accepted and refused, marked where the policy requires a baseline for them
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
            "clocks": self.clip.clocks,
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

    def kinds_of_clocks(self) -> dict[str, set[str]]:
        """Return the kinds of the sources that every clock stamps."""
        kinds: dict[str, set[str]] = {}
        for name, clock in self.clocks.items():
            kinds.setdefault(clock, set()).add(self.kinds[name])
        return kinds


def is_undecided(
    agreeing: Collection[str], suspects: Collection[str], kinds: Mapping[str, Collection[str]]
) -> bool:
    """Return whether no majority shows which clocks, on either of two sides, are wrong.

    Sources of one kind do not confirm one another against those of other kinds: cameras pass
    through one computer, and what delays one delays all. `kinds` are those of the sources that
    every clock stamps.
    """
    if not suspects or len(suspects) >= len(agreeing):
        return bool(suspects)
    ours, theirs = (
        {kind for name in side for kind in kinds[name]} for side in (agreeing, suspects)
    )
    return len(ours) == 1 and not ours & theirs


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockCase:
    """The clock of one source as it is judged."""

    name: str
    clock: str  # the clock that stamps the source
    limits: Limits  # of this source
    solution: ClockSolution  # all clocks; holds what is left after subtracting intended offsets
    # in the order given to the solver; refused ones explain why nothing is known
    measurements: Sequence[PairMeasurement]
    clocks: Mapping[str, str]  # clock of every source
    expected_offset_s: float  # intended offset of the source, for the wording
    span_s: float  # length of the part of the clip that is judged
    z: float  # standard errors of the confidence interval
    start_s: float = 0.0  # from the start of the clip to that of this part
    # frame period of a camera: offsets and steps of whole periods are reported as lost frames
    period_s: float | None = None
    # whether the timestamps only count samples: then only the content can show an offset
    is_counted: bool = False
    # largest drift typical of such a clock, used if none was measured
    prior_ppm: float = QUARTZ_PPM

    @property
    def is_reference(self) -> bool:
        """Whether reference time is read from this clock."""
        return self.clock == self.solution.reference


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What one check found on a clip."""

    findings: Sequence[Finding] = ()  # about the clip, or about one of its sources
    doubtful: frozenset[str] = frozenset()  # sources that cannot pass
    # sources that pass although nothing constrains their clock
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


def doubt(
    code: ReasonCode,
    source: str,
    message: str,
    *,
    value: float | None = None,
    limit: float | None = None,
) -> Finding:
    """Return a finding that keeps a source from passing, and rejects nothing."""
    severity = Severity.DOUBT
    return Finding(
        code=code, source=source, message=message, value=value, limit=limit, severity=severity
    )


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

    Nothing is over a limit of None; `word` formats it. `is_over` decides if the figure alone does
    not.
    """
    if limit is None:
        return Finding.warning(code, source, message, value=value)
    is_over = value > limit if is_over is None else is_over
    make = defect if is_over else Finding.warning
    return make(code, source, f"{message}; limit {word(limit)}", value=value, limit=limit)


def percentage(share: float) -> str:
    """Format a share for display: ``2.5 %``."""
    return f"{100.0 * share:.3g} %"
