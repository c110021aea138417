"""The filter compared with people's labels: precision and recall of its rejections."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from syncaudit.dsp.rates import LEVEL, Rate
from syncaudit.evaluation.labels import Label, Labels
from syncaudit.model import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispute:
    """A clip on which filter and person disagree."""

    clip_id: str
    verdict: Verdict
    says: Label
    note: str

    def to_json(self) -> dict[str, object]:
        """Return clip, verdict, label and note."""
        return {
            "clip_id": self.clip_id,
            "verdict": str(self.verdict),
            "label": str(self.says),
            "note": self.note,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """Labels compared with verdicts."""

    counts: Counter[tuple[Verdict, Label]]  # labelled clips by verdict and label
    n_clips: Counter[Verdict]  # all clips of the run
    # Rejected clips that the person accepts, and passed ones that the person rejects.
    disputes: tuple[Dispute, ...]
    n_without_verdict: int  # labels that match no clip of the run
    n_damaged: int  # lines of the label file without a valid label
    n_seen: int  # labels given with the verdict visible

    def bad(self, verdict: Verdict) -> Rate:
        """Return how often the person rejects clips of a verdict; unsure labels do not count."""
        n_bad = self.counts[verdict, Label.REJECT]
        n = n_bad + self.counts[verdict, Label.ACCEPT]
        return Rate(n_hits=n_bad, n=n, n_clips=n)

    @property
    def precision(self) -> Rate:
        """How often the person rejects what the filter rejects."""
        return self.bad(Verdict.REJECT)

    @property
    def recall(self) -> tuple[float | None, float, float]:
        """Share of the bad clips of the run that the filter rejects: estimate, lowest, highest.

        Labels are drawn verdict by verdict (`syncaudit sample`), so each verdict is weighted with
        its clips in the run: N_reject p_reject / sum N_v p_v, where p_v is the share of labelled
        clips of verdict v that are bad (a stratified estimate, W. G. Cochran, "Sampling
        Techniques", 1977). The bounds put every p_v at its worst end; together these hold with 95 %
        (Bonferroni), so the interval is conservative. Assumes that the labelled clips of every
        verdict were drawn at random. The estimate is None if a verdict has no label, or nothing is
        bad.
        """
        present = [verdict for verdict in Verdict if self.n_clips[verdict]]
        level = 1.0 - (1.0 - LEVEL) / max(len(present), 1)
        bounds = {verdict: self.bad(verdict).interval(level) for verdict in present}
        shares = {verdict: self.bad(verdict).share for verdict in present}
        low = self._recall({v: bounds[v][0 if v is Verdict.REJECT else 1] for v in present})
        high = self._recall({v: bounds[v][1 if v is Verdict.REJECT else 0] for v in present})
        known = {verdict: share for verdict, share in shares.items() if share is not None}
        estimate = self._recall(known) if len(known) == len(present) else None
        return estimate, 0.0 if low is None else low, 1.0 if high is None else high

    def _recall(self, shares: Mapping[Verdict, float]) -> float | None:
        bad = {verdict: self.n_clips[verdict] * share for verdict, share in shares.items()}
        total = sum(bad.values())
        return bad.get(Verdict.REJECT, 0.0) / total if total else None

    def to_json(self) -> dict[str, object]:
        """Return rates, counts and disputes."""
        recall, low, high = self.recall
        return {
            "precision": self.precision.to_json(),
            "recall": {"share": recall, "low": low, "high": high},
            "bad_of_passed": self.bad(Verdict.PASS).to_json(),
            "bad_of_unverified": self.bad(Verdict.UNVERIFIED).to_json(),
            "labels": {
                str(verdict): {str(says): self.counts[verdict, says] for says in Label}
                for verdict in Verdict
            },
            "clips": {str(verdict): self.n_clips[verdict] for verdict in Verdict},
            "without_verdict": self.n_without_verdict,
            "damaged_lines": self.n_damaged,
            "verdict_was_shown": self.n_seen,
            "disputes": [dispute.to_json() for dispute in self.disputes],
        }


def agreement_of(labels: Labels, verdicts: Mapping[str, Verdict]) -> Agreement:
    """Compare labels with the verdicts of a run, by clip."""
    counts: Counter[tuple[Verdict, Label]] = Counter()
    disputes: list[Dispute] = []
    n_without = 0
    for clip_id, row in labels.by_clip.items():
        verdict, says = verdicts.get(clip_id), row.label
        if verdict is None or says is None:
            n_without += 1
            continue
        counts[verdict, says] += 1
        if (verdict, says) in (
            (Verdict.REJECT, Label.ACCEPT),
            (Verdict.PASS, Label.REJECT),
        ):
            disputes.append(Dispute(clip_id=clip_id, verdict=verdict, says=says, note=row.note))
    return Agreement(
        counts=counts,
        n_clips=Counter(verdicts.values()),
        disputes=tuple(disputes),
        n_without_verdict=n_without,
        n_damaged=labels.n_damaged,
        n_seen=sum(row.has_seen for row in labels.by_clip.values()),
    )
