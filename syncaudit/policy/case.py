"""A clip as the checks see it (what was measured, its clocks, the policy), and what they return.

A figure that has a standard error is inside a limit, outside or inconclusive by a three-way
equivalence test (two one-sided tests, D. J. Schuirmann, 1987): the whole confidence interval must
lie inside the limit to pass, and outside of it to be rejected. A figure that is too uncertain is
neither: silence is never a pass.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from statistics import NormalDist

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
from syncaudit.policy.limits import Limits, Policy

# Quartz is good to 100 ppm whatever its temperature; a drift estimate that is less certain than
# that and not distinguishable from zero, or no estimate at all, constrains it less.
QUARTZ_PPM = 100.0


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
    return len(ours) == 1 and not theirs <= ours


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
    source: str | None,
    message: str,
    *,
    value: float | None = None,
    limit: float | None = None,
) -> Finding:
    """Return a finding that keeps a source from passing, and rejects nothing."""
    found = defect(code, source, message, value=value, limit=limit)
    return replace(found, severity=Severity.DOUBT)


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


class Equivalence(StrEnum):
    """Position of a figure relative to its limit."""

    INSIDE = "inside"
    INCONCLUSIVE = "open"
    OUTSIDE = "outside"


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """Correction of a clock at one instant of the clip."""

    after_s: float  # seconds after the middle of the clip
    value_s: float
    std_s: float
    is_stepped: bool = False  # whether a step of the clock is part of it


def quantile(confidence: float) -> float:
    """Return the standard errors that a two-sided interval reaches: 1.96 for 0.95."""
    return NormalDist().inv_cdf(0.5 + 0.5 * confidence)


def compare(value: float, std: float, limit: float, z: float) -> Equivalence:
    """Return the position of ``|value| ± z * std`` relative to the limit."""
    if abs(value) + z * std <= limit:
        return Equivalence.INSIDE
    return Equivalence.OUTSIDE if abs(value) - z * std > limit else Equivalence.INCONCLUSIVE


def worst(standings: Iterable[Equivalence]) -> Equivalence:
    """Return the worst of several standings; inconclusive if there are none."""
    found = set(standings)
    for standing in (Equivalence.OUTSIDE, Equivalence.INCONCLUSIVE, Equivalence.INSIDE):
        if standing in found:
            return standing
    return Equivalence.INCONCLUSIVE


def seconds_to_step(clock: ClockEstimate, *, at_ns: int, span_s: float) -> float:
    """Return when a clock steps, in seconds after the instant at which its offset holds.

    By the clock's own timestamps, which the clip's window is stated in; only those of a clock of
    another epoch are converted to reference time first.
    """
    own_s = ((clock.step_at_ns or 0) - at_ns) * 1e-9
    return own_s if abs(own_s) <= span_s else own_s + (clock.offset_s or 0.0)


def course_of(
    clock: ClockEstimate, *, at_ns: int, span_s: float, prior_ppm: float = QUARTZ_PPM
) -> list[Course]:
    """Return the corrections of an observable clock where they are extreme: middle, ends, a step.

    A clip does not confirm what it cannot exclude: if no drift was measured, a plausible one, up to
    `prior_ppm` (0 for the reference itself), widens the corrections at the ends. `at_ns` is the
    middle of the clip, where its offset holds; `span_s` its length.
    """
    offset_s, std_s = clock.offset_s or 0.0, clock.offset_std_s or 0.0
    drift, drift_std = _drift(clock, prior_ppm)
    half_s = 0.5 * span_s
    instants = [(0.0, False)]
    if half_s > 0.0 and (drift or drift_std):
        instants += [(-half_s, False), (half_s, False)]
    step_s, step_std_s = 0.0, 0.0
    if clock.step_s is not None and clock.step_at_ns is not None:
        step_after_s = seconds_to_step(clock, at_ns=at_ns, span_s=span_s)
        if abs(step_after_s) < max(half_s, 1e-3):
            step_s, step_std_s = clock.step_s, clock.step_std_s or 0.0
            sign = -1.0 if clock.is_step_past else 1.0
            # The other side of the step begins there and extends to its end of the clip.
            instants = [p for p in instants if sign * p[0] <= 0.0]
            instants += [(step_after_s, True), (sign * half_s, True)]
            step_s *= sign
    return [
        Course(
            after_s=after_s,
            value_s=offset_s + drift * after_s + (step_s if is_stepped else 0.0),
            std_s=math.hypot(
                math.hypot(std_s, drift_std * after_s), step_std_s if is_stepped else 0.0
            ),
            is_stepped=is_stepped,
        )
        for after_s, is_stepped in instants
    ]


def _drift(clock: ClockEstimate, prior_ppm: float) -> tuple[float, float]:
    """Return drift and standard error, shrunk towards plausible values if poorly known."""
    if clock.drift_ppm is None:
        return 0.0, 0.5e-6 * prior_ppm  # the largest is two standard deviations
    drift, std = clock.drift_ppm, clock.drift_std_ppm or 0.0
    if std > prior_ppm > 0.0 and abs(drift) < 2.0 * std:
        share = prior_ppm**2 / (prior_ppm**2 + std**2)
        return 1e-6 * drift * share, 1e-6 * std * math.sqrt(share)
    return 1e-6 * drift, 1e-6 * std
