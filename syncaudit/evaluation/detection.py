"""Detection rates of injected errors by size, per kind of source and per source."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from syncaudit.dsp.rates import Rate
from syncaudit.evaluation.accuracy import Accuracy, Miss, accuracy_of, miss_of
from syncaudit.evaluation.change import Quantity
from syncaudit.evaluation.injected import Injected
from syncaudit.evaluation.judged import Judged
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
        return accuracy_of(self.misses)

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
        miss = miss_of(row, variant, control)
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
