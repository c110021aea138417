"""Combine all available evidence of how often a run errs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from syncaudit.errors import UsageError
from syncaudit.evaluation.agreement import Agreement, agreement_of
from syncaudit.evaluation.detection import Detection, detect
from syncaudit.evaluation.injected import read_truth
from syncaudit.evaluation.judged import Judged, read_judged
from syncaudit.evaluation.labels import Labels, read_labels
from syncaudit.evaluation.outcomes import Outcome
from syncaudit.model import Verdict
from syncaudit.report.trends import week_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """Error rates of a run, by what it was compared with."""

    detection: Detection | None  # from injected errors
    agreement: Agreement | None  # from people's labels
    # The agreement for each week with labels, if there are several.
    by_week: Mapping[str, Agreement] = field(default_factory=dict)

    @property
    def is_void(self) -> bool:
        """Whether errors were injected but the run judged none of them."""
        if self.detection is None or not self.detection.n_variants:
            return False
        cells = (cell for group in self.detection.groups for cell in group.by_size.values())
        return all(set(cell.outcomes) <= {Outcome.UNVERIFIED, Outcome.UNJUDGED} for cell in cells)

    def to_json(self) -> dict[str, object]:
        """Return the output of ``syncaudit evaluate --json``."""
        return {
            "version": 1,
            "detection": None if self.detection is None else self.detection.to_json(),
            "labels": None if self.agreement is None else self.agreement.to_json(),
            "labels_by_week": {week: one.to_json() for week, one in self.by_week.items()},
        }


def evaluate_run(
    run: str,
    *,
    truth: str | None = None,
    labels: str | None = None,
    originals: str | None = None,
    partial: bool = False,
    detection: Detection | None = None,
) -> Evaluation:
    """Compare a run with injected errors, with labels, or with both.

    `truth` is the ``truth.jsonl`` of the variants that were judged, `labels` a label file of the
    viewer, and `originals` a run over the original clips, used if the run has no control.
    `detection` is that by the run's policy on variants of its clips, if no run judged those. With
    `partial`, runs that were not finished are accepted. UsageError if a file is missing, damaged or
    empty, or does not belong to this run.
    """
    injected = {} if truth is None else read_truth(truth)
    given = None if labels is None else read_labels(labels)
    made_of = {each.original for each in injected.values()}
    judged: dict[str, Judged] = {}
    before: dict[str, Judged] = {}
    verdicts: dict[str, Verdict] = {}
    weeks: dict[str, dict[str, Verdict]] = defaultdict(dict)
    for each in read_judged(run, partial=partial):
        verdicts[each.clip_id] = each.verdict
        if given is not None and (week := week_of(each.at_ns)) is not None:
            weeks[week][each.clip_id] = each.verdict
        if each.clip_id in injected:
            judged[each.clip_id] = each
        elif each.clip_id in made_of:
            before[each.clip_id] = each
    if originals is not None:
        known = read_judged(originals, partial=partial)
        before |= {each.clip_id: each for each in known if each.clip_id in made_of}
    if truth is not None and not judged:
        raise _of_another_run("truth", truth, next(iter(injected)), next(iter(verdicts)))
    if labels is not None and given is not None and not given.by_clip.keys() & verdicts.keys():
        clip_id = next(iter(given.by_clip), None)
        raise _of_another_run("labels", labels, clip_id or "none", next(iter(verdicts)))
    return Evaluation(
        detection=detection if truth is None else detect(injected.values(), judged, before),
        agreement=None if given is None else agreement_of(given, verdicts),
        by_week={} if given is None else _by_week(given, weeks),
    )


def _by_week(labels: Labels, weeks: Mapping[str, Mapping[str, Verdict]]) -> dict[str, Agreement]:
    found = {}
    for week in sorted(weeks):
        own = {k: label for k, label in labels.by_clip.items() if k in weeks[week]}
        if own:
            found[week] = agreement_of(Labels(by_clip=own, n_damaged=0), weeks[week])
    return found if len(found) > 1 else {}


def _of_another_run(what: str, path: str, theirs: str, ours: str) -> UsageError:
    return UsageError(
        f"this is the {what} of another run: none of its clips was judged (it names '{theirs}', "
        f"the run judged '{ours}')",
        path=path,
        hint="Give the file that belongs to the clips of this run.",
    )
