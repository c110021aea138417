"""Detection rates of injected errors by size, per kind of source and per source."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field

from syncaudit.dsp.rates import Rate
from syncaudit.evaluation.change import Quantity
from syncaudit.evaluation.injected import Injected
from syncaudit.evaluation.judged import Judged, JudgedSource
from syncaudit.evaluation.outcomes import Outcome, outcome_of
from syncaudit.model import Verdict

WANTED = 0.95
"""Share of variants that must be found at the smallest offset that counts as found."""


@dataclass(slots=True, kw_only=True)
class Size:
    """Variants of one group and one injected size."""

    size: float  # absolute value of what was injected, in the unit of the quantity
    outcomes: Counter[Outcome] = field(default_factory=Counter)
    clips: set[str] = field(default_factory=set)

    def rate(self, outcome: Outcome) -> Rate:
        """Return the rate of an outcome."""
        n = self.outcomes.total()
        return Rate(n_hits=self.outcomes[outcome], n=n, n_clips=len(self.clips))

    def to_json(self) -> dict[str, object]:
        """Return the rate of every outcome."""
        rates = {str(outcome): self.rate(outcome).to_json() for outcome in Outcome}
        return {
            "size": self.size,
            "n": self.outcomes.total(),
            "clips": len(self.clips),
            **rates,
        }


@dataclass(slots=True, kw_only=True)
class Group:
    """Variants of one kind of source, or of one source, in which one quantity was injected."""

    quantity: Quantity  # what was injected
    kind: str  # kind of source
    source: str | None  # name; None for all sources of the kind
    by_size: dict[float, Size] = field(default_factory=dict)
    misses: list[Miss] = field(default_factory=list)

    @property
    def sizes(self) -> Sequence[Size]:
        """Sizes in ascending order."""
        return [self.by_size[size] for size in sorted(self.by_size)]

    @property
    def found_from(self) -> Size | None:
        """Smallest size from which the lower bound of the detection rate reaches `WANTED`."""
        return self._from(lambda rate: rate.interval()[0] >= WANTED)

    @property
    def seen_from(self) -> Size | None:
        """Smallest size from which `WANTED` of these variants were found: not a guarantee."""
        return self._from(lambda rate: (rate.share or 0.0) >= WANTED)

    @property
    def clips_to_promise(self) -> int:
        """Clips without a miss needed to prove `seen_from`, for the size that needs the most."""
        seen = self.seen_from
        if seen is None:
            return 0
        rates = [each.rate(Outcome.FOUND) for each in self.sizes if each.size >= seen.size]
        return max(rate.clips_to_promise(WANTED) for rate in rates)

    def _from(self, is_enough: Callable[[Rate], bool]) -> Size | None:
        found = None
        for each in reversed(self.sizes):
            if not is_enough(each.rate(Outcome.FOUND)):
                break
            found = each
        return found

    @property
    def accuracy(self) -> Accuracy:
        """Measured minus injected."""
        return _accuracy_of(self.misses)

    def to_json(self) -> dict[str, object]:
        """Return all counts as JSON values."""
        found, seen = self.found_from, self.seen_from
        return {
            "quantity": str(self.quantity),
            "kind": self.kind,
            "source": self.source,
            "found_in_95_percent_from": None if found is None else found.size,
            "seen_in_95_percent_from": None if seen is None else seen.size,
            "clips_to_promise": self.clips_to_promise,
            "sizes": [each.to_json() for each in self.sizes],
            "measured_minus_injected": self.accuracy.to_json(),
        }


@dataclass(slots=True, kw_only=True)
class Detection:
    """Outcomes of a run on injected errors."""

    groups: list[Group]  # kinds first, then their sources
    controls: Counter[Verdict]  # verdicts on clips in which nothing was moved
    n_variants: int = 0
    n_without_verdict: int = 0  # variants and controls in the truth that the run did not judge
    # Variants not counted: the moved source is rejected in the control, or has no verdict.
    n_rejected_before: int = 0
    n_without_control: int = 0  # variants counted although there is no verdict on the unmoved clip

    def control_rate(self, verdict: Verdict) -> Rate:
        """Return how often controls got a verdict."""
        n = self.controls.total()
        return Rate(n_hits=self.controls[verdict], n=n, n_clips=n)

    def to_json(self) -> dict[str, object]:
        """Return all counts as JSON values."""
        return {
            "variants": self.n_variants,
            "without_verdict": self.n_without_verdict,
            "rejected_before": self.n_rejected_before,
            "without_control": self.n_without_control,
            "controls": {str(v): self.control_rate(v).to_json() for v in Verdict},
            "groups": [group.to_json() for group in self.groups],
        }


def detect(
    truth: Iterable[Injected], judged: Mapping[str, Judged], originals: Mapping[str, Judged]
) -> Detection:
    """Count the outcomes of a run on injected errors.

    `originals` holds verdicts on the original clips, for variants without a control.
    """
    rows = list(truth)
    controls = {r.original: judged[r.clip_id] for r in rows if r.is_control and r.clip_id in judged}
    groups: dict[tuple[Quantity, str, str], Group] = {}
    found = Detection(groups=[], controls=Counter(c.verdict for c in controls.values()))
    for row in rows:
        variant = judged.get(row.clip_id)
        if variant is None:
            found.n_without_verdict += 1
        if variant is None or row.source is None or row.kind is None:
            continue
        control = controls.get(row.original) or originals.get(row.original)
        outcome = outcome_of(row, variant, control)
        if outcome is None:
            found.n_rejected_before += 1
            continue
        found.n_variants += 1
        found.n_without_control += control is None
        quantity, size = row.change.quantity, row.change.size
        miss = _miss_of(row, variant, control)
        for source in (None, row.source):
            key = (quantity, row.kind, source or "")
            if key not in groups:
                groups[key] = Group(quantity=quantity, kind=row.kind, source=source)
            cell = groups[key].by_size.setdefault(size, Size(size=size))
            cell.outcomes[outcome] += 1
            cell.clips.add(row.original)
            if miss is not None:
                groups[key].misses.append(miss)
    order = list(Quantity)
    found.groups = [
        groups[key] for key in sorted(groups, key=lambda k: (order.index(k[0]), *k[1:]))
    ]
    return found


# Two-sided 95 % of a normal error: how claimed errors are checked (formats, section 1).
_Z = 1.96


@dataclass(frozen=True, slots=True, kw_only=True)
class Miss:
    """One measurement compared with what was injected."""

    clip_id: str  # the original clip
    error: float  # measured minus injected; includes the clip's own error before the change
    std: float | None  # claimed standard error
    change: float | None  # `error` minus that of the control: the effect of the change alone


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """Errors over many variants, in the unit of the quantity."""

    n: int  # variants in which the moved source was measured against another
    rmse: float | None  # root mean square and mean of measured minus injected
    bias: float | None
    coverage: Rate  # rate at which the error lies within 1.96 claimed standard errors
    n_changes: int  # variants whose control was measured too
    change_rmse: float | None  # RMSE and bias of the change against the control
    change_bias: float | None

    def to_json(self) -> dict[str, object]:
        """Return the figures."""
        return {**asdict(self), "coverage": self.coverage.to_json()}


def _miss_of(injected: Injected, variant: Judged, control: Judged | None) -> Miss | None:
    """Return measured minus injected for a variant; None if nothing was measured.

    Only offsets and drifts have a measurement that holds for the whole clip. A moved clock that is
    itself the time reference cannot be measured: the others seem moved.
    """
    source = variant.sources.get(injected.source or "")
    is_drift = injected.change.quantity is Quantity.DRIFT
    if source is None or source.clock == variant.reference:
        return None
    if injected.change.quantity not in (Quantity.OFFSET, Quantity.DRIFT):
        return None
    measured, std = _measured(source, is_drift=is_drift)
    if measured is None:
        return None
    error = measured - (injected.change.amount if is_drift else injected.offset_at(variant.at_ns))
    before = (
        None if control is None else _against(control, source, variant.reference, is_drift=is_drift)
    )
    return Miss(
        clip_id=injected.original,
        error=error,
        std=std,
        change=None if before is None else error - before,
    )


def _measured(source: JudgedSource, *, is_drift: bool) -> tuple[float | None, float | None]:
    """Return the measured offset or drift of a source and its claimed error."""
    if is_drift:
        return source.drift_ppm, source.drift_std_ppm
    return source.offset_s, source.offset_std_s


def _against(
    control: Judged, source: JudgedSource, reference: str | None, *, is_drift: bool
) -> float | None:
    """Return the control's value for a clock against the reference of the variant."""

    def of(clock: str | None) -> float | None:
        if clock == control.reference:
            return 0.0
        mates = (s for s in control.sources.values() if s.clock == clock)
        values = (_measured(mate, is_drift=is_drift)[0] for mate in mates)
        return next((value for value in values if value is not None), None)

    own, other = of(source.clock), of(reference)
    return None if own is None or other is None else own - other


def _accuracy_of(misses: Sequence[Miss]) -> Accuracy:
    errors = [miss.error for miss in misses]
    changes = [miss.change for miss in misses if miss.change is not None]
    claimed = [miss for miss in misses if miss.std is not None]
    coverage = Rate(
        n_hits=sum(abs(miss.error) <= _Z * (miss.std or 0.0) for miss in claimed),
        n=len(claimed),
        n_clips=len({miss.clip_id for miss in claimed}),
    )
    return Accuracy(
        n=len(errors),
        rmse=_rmse(errors),
        bias=_mean(errors),
        coverage=coverage,
        n_changes=len(changes),
        change_rmse=_rmse(changes),
        change_bias=_mean(changes),
    )


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def _rmse(values: Sequence[float]) -> float | None:
    return math.sqrt(math.fsum(v * v for v in values) / len(values)) if values else None
