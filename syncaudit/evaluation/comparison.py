"""Differences between two runs over the same clips."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass
from math import hypot
from statistics import NormalDist, median
from typing import Any

from syncaudit.dsp.rates import LEVEL
from syncaudit.evaluation.judged import Judged
from syncaudit.model import Verdict

_Z = NormalDist().inv_cdf(0.5 + 0.5 * LEVEL)
# Smaller differences are invisible at a tenth of a millisecond and two digits of a ratio.
_TOLD_S = 5e-5
_TOLD_RATIO = 0.005

Reason = tuple[str, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shift:
    """Changed offset of one source: `before_s`, `after_s`, and their combined error."""

    before_s: float
    after_s: float
    std_s: float

    @property
    def change_s(self) -> float:
        """After minus before."""
        return self.after_s - self.before_s

    @property
    def is_beyond(self) -> bool:
        """Whether the change exceeds the combined error at 95 %."""
        return abs(self.change_s) > _Z * self.std_s


@dataclass(frozen=True, slots=True, kw_only=True)
class ClipChange:
    """A clip on which the two runs differ."""

    clip_id: str
    before: Verdict  # its verdicts
    after: Verdict
    # Codes and sources of reasons that only the earlier or only the later run has.
    gone: tuple[Reason, ...]
    new: tuple[Reason, ...]
    moved: Mapping[str, Shift]  # sources whose offsets differ beyond their errors

    def to_json(self) -> dict[str, object]:
        """Return all fields as JSON values."""
        return {
            "clip_id": self.clip_id,
            "before": str(self.before),
            "after": str(self.after),
            "gone": [{"code": code, "source": source} for code, source in self.gone],
            "new": [{"code": code, "source": source} for code, source in self.new],
            "moved": {name: asdict(shift) for name, shift in self.moved.items()},
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceShifts:
    """Changes of the offsets of one source between the runs."""

    # Clips in which both runs measured it against the same reference, and those of them in which
    # the offsets differ beyond their errors.
    n: int
    n_beyond: int
    median_s: float  # change of the offset: the typical one, and the largest with its sign
    largest_s: float
    std_ratio: float  # typical standard error of the later run over that of the earlier one

    @property
    def has_moved(self) -> bool:
        """Whether any reported figure differs: by 0.05 ms, or the errors by half a percent."""
        return abs(self.largest_s) >= _TOLD_S or abs(self.std_ratio - 1.0) >= _TOLD_RATIO

    @classmethod
    def of(cls, shifts: Iterable[Shift], ratios: Iterable[float]) -> SourceShifts:
        """Summarise the shifts of one source, at least one."""
        found = list(shifts)
        return cls(
            n=len(found),
            n_beyond=sum(shift.is_beyond for shift in found),
            median_s=median(shift.change_s for shift in found),
            largest_s=max((shift.change_s for shift in found), key=abs),
            std_ratio=median(ratios),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two runs compared, clip by clip and in total."""

    n_compared: int  # clips in both runs
    only_old: tuple[str, ...]  # clips in only one run
    only_new: tuple[str, ...]
    # Clips whose offsets are not compared, since their reference clock changed.
    n_other_reference: int
    transitions: Mapping[tuple[Verdict, Verdict], int]  # clips by their verdicts before and after
    # Number of clips in which a reason, by code and source, disappeared or appeared.
    gone: Mapping[Reason, int]
    new: Mapping[Reason, int]
    sources: Mapping[str, SourceShifts]
    changes: tuple[ClipChange, ...]  # in the order of the earlier run; changed verdicts first

    @property
    def is_same(self) -> bool:
        """Whether the later run agrees with the earlier one on every clip."""
        return not self.changes and not self.only_old

    def to_json(self) -> dict[str, Any]:
        """Return all fields as JSON values."""
        return {
            "compared": self.n_compared,
            "only_old": list(self.only_old),
            "only_new": list(self.only_new),
            "other_reference": self.n_other_reference,
            "transitions": [
                {"before": str(before), "after": str(after), "clips": n}
                for (before, after), n in self.transitions.items()
            ],
            **{
                key: [
                    {"code": code, "source": source, "clips": n}
                    for (code, source), n in counts.items()
                ]
                for key, counts in (("gone", self.gone), ("new", self.new))
            },
            "sources": {
                name: {
                    "clips": one.n,
                    "beyond_errors": one.n_beyond,
                    "median_change_s": one.median_s,
                    "largest_change_s": one.largest_s,
                    "std_ratio": one.std_ratio,
                }
                for name, one in self.sources.items()
            },
            "changes": [change.to_json() for change in self.changes],
        }


def compare_runs(
    old: Iterable[Judged], new: Iterable[Judged], *, only: Collection[str] | None = None
) -> Comparison:
    """Return the differences between two runs on the clips that both have.

    Errors of two audits of the same recording are mostly correlated, so a difference beyond the
    combined error, computed as if they were independent, is not due to chance.

    If `only` is given, all other clips are ignored.
    """
    before = {one.clip_id: one for one in old if only is None or one.clip_id in only}
    only_new: list[str] = []
    seen: set[str] = set()
    transitions: Counter[tuple[Verdict, Verdict]] = Counter()
    gone: Counter[Reason] = Counter()
    fresh: Counter[Reason] = Counter()
    shifts: dict[str, list[Shift]] = defaultdict(list)
    ratios: dict[str, list[float]] = defaultdict(list)
    changes: dict[str, ClipChange] = {}
    n_other = 0
    for one in new:
        if only is not None and one.clip_id not in only:
            continue
        was = before.get(one.clip_id)
        if was is None:
            only_new.append(one.clip_id)
            continue
        seen.add(one.clip_id)
        transitions[was.verdict, one.verdict] += 1
        moved = {}
        if was.reference != one.reference:
            n_other += 1
        else:
            for name, shift, ratio in _shifts(was, one):
                shifts[name].append(shift)
                ratios[name].append(ratio)
                if shift.is_beyond:
                    moved[name] = shift
        lost = sorted(was.reasons - one.reasons, key=str)
        found = sorted(one.reasons - was.reasons, key=str)
        gone.update(lost)
        fresh.update(found)
        if lost or found or moved or was.verdict is not one.verdict:
            changes[one.clip_id] = ClipChange(
                clip_id=one.clip_id,
                before=was.verdict,
                after=one.verdict,
                gone=tuple(lost),
                new=tuple(found),
                moved=moved,
            )
    order = [changes[clip_id] for clip_id in before if clip_id in changes]
    return Comparison(
        n_compared=len(seen),
        only_old=tuple(clip_id for clip_id in before if clip_id not in seen),
        only_new=tuple(only_new),
        n_other_reference=n_other,
        transitions=dict(transitions.most_common()),
        gone=dict(gone.most_common()),
        new=dict(fresh.most_common()),
        sources={name: SourceShifts.of(shifts[name], ratios[name]) for name in sorted(shifts)},
        changes=tuple(sorted(order, key=lambda change: change.before is change.after)),
    )


def _shifts(was: Judged, one: Judged) -> Iterable[tuple[str, Shift, float]]:
    """Yield name, shift, and ratio of the errors, for sources that both runs measured."""
    for name, source in one.sources.items():
        other = was.sources.get(name)
        if other is None or name == one.reference or source.clock == one.reference:
            continue
        figures = (other.offset_s, other.offset_std_s, source.offset_s, source.offset_std_s)
        if any(figure is None for figure in figures):
            continue
        before_s, before_std_s, after_s, after_std_s = (figure or 0.0 for figure in figures)
        shift = Shift(before_s=before_s, after_s=after_s, std_s=hypot(before_std_s, after_std_s))
        yield name, shift, after_std_s / before_std_s if before_std_s > 0.0 else 1.0
