"""Variants of measured clips with known errors, made from the measurements."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from syncaudit.batch import VerdictFile
from syncaudit.errors import UsageError
from syncaudit.evaluation.change import Change, Quantity
from syncaudit.evaluation.draw import Draw, movable_sources
from syncaudit.evaluation.injected import Injected
from syncaudit.evaluation.judged import Judged
from syncaudit.evaluation.labels import Label, Labels
from syncaudit.evaluation.replay import can_replay, first_stamp_ns, replayed_record
from syncaudit.model import Clip, ClipRecord, PairMeasurement, Verdict, nanoseconds
from syncaudit.pipeline import conclude, examine
from syncaudit.policy import Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Actual or simulated measurements of a clip, and the change applied to it."""

    injected: Injected
    clip: Clip
    record: ClipRecord


def make_variants(
    measured: Iterable[tuple[Clip, ClipRecord]],
    changes: Sequence[Change],
    rng: np.random.Generator,
    *,
    n_variants: int,
    policy: Policy,
    patterns: Sequence[str] = (),
) -> Iterator[Measured]:
    """Yield controls and variants of clips, as `syncaudit inject` would write them.

    Offsets are applied to the measurements; a clip for which another error is drawn is decoded
    once for all of its variants.

    A clip gets `n_variants` besides its control. Patterns are as for `movable_sources`. The search
    range of the policy applies where a clip is decoded.
    """
    draw = Draw(changes, rng)
    for clip, record in measured:
        movable, _ = movable_sources(clip, patterns)
        drawn = draw.of_clip(list(movable), n_variants)
        is_decoded = any(change.quantity is not Quantity.OFFSET for _, change in drawn)
        seen = examine(clip, policy, is_thorough=True) if is_decoded else None
        base = record if seen is None or seen.verdict.record is None else seen.verdict.record
        control = Injected(
            clip_id=f"{clip.clip_id}~control", original=clip.clip_id, recording=clip.recording_id
        )
        yield Measured(injected=control, clip=clip, record=base)
        for source, change in drawn:
            moved = movable[source]
            if change.quantity is Quantity.OFFSET:
                variant = moved_record(base, moved, change.amount)
            elif seen is not None and all(can_replay(seen.streams[m], change) for m in moved):
                variant = replayed_record(seen, moved, change, rng)
            else:
                continue
            injected = replace(
                control,
                clip_id=f"{clip.clip_id}~{source}~{change.name}",
                source=source,
                kind=str(clip.sources[source].kind),
                at_ns=first_stamp_ns(base),
                moved=moved,
                change=change,
            )
            yield Measured(injected=injected, clip=clip, record=variant)


def good_clips(
    clips: Iterable[Clip], known: VerdictFile, labels: Labels | None = None
) -> Iterator[tuple[Clip, ClipRecord]]:
    """Yield the clips of a run that count as correct, with their measurements.

    These are the ones that a person accepts; without labels, those that passed.
    """
    for clip in clips:
        if labels is None:
            is_good = known.entry(clip.clip_id).verdict == Verdict.PASS
        else:
            label = labels.by_clip.get(clip.clip_id)
            is_good = label is not None and label.label is Label.ACCEPT
        record = known.verdict(clip.clip_id).record if is_good else None
        if record is not None:
            yield clip, record


def measured_variants(
    clips: Iterable[Clip], known: VerdictFile, truth: Mapping[str, Injected]
) -> Iterator[Measured]:
    """Yield the measurements of the variants that `syncaudit inject` wrote.

    UsageError if there are no measurements of one of them.
    """
    for clip in clips:
        if clip.clip_id not in truth:
            continue
        record = known.verdict(clip.clip_id).record
        if record is None:
            raise UsageError(
                f"nothing was measured of clip '{clip.clip_id}', which cannot be judged",
                path=str(known.path),
                hint="Measure the variants anew with 'syncaudit validate'.",
            )
        yield Measured(injected=truth[clip.clip_id], clip=clip, record=record)


class Judging:
    """Judges measured clips and variants by policies, once each.

    They are kept in memory without the curves behind the measurements.
    """

    def __init__(self, measured: Iterable[Measured]) -> None:
        self._measured = {one.injected.clip_id: _slim(one) for one in measured}
        self._known: dict[tuple[object, str], Judged] = {}

    @property
    def truth(self) -> list[Injected]:
        """Change applied to each."""
        return [one.injected for one in self._measured.values()]

    def by(
        self, policy: Policy, key: object = None, wanted: Collection[str] | None = None
    ) -> dict[str, Judged]:
        """Return the results of a policy on all or some of them, by clip or variant.

        `key` identifies the policy; `wanted` are the clips to judge.
        """
        for name in self._measured if wanted is None else sorted(wanted):
            if (key, name) not in self._known:
                one = self._measured[name]
                _, verdict = conclude(one.clip, one.record, policy)
                self._known[key, name] = Judged.of(replace(verdict, clip_id=name))
        names = self._measured if wanted is None else wanted
        return {name: self._known[key, name] for name in names}


def _slim(one: Measured) -> Measured:
    pairs = (replace(pair, evidence=None, excerpt=None) for pair in one.record.measurements)
    return replace(one, record=replace(one.record, measurements=tuple(pairs)))


def moved_record(record: ClipRecord, moved: Collection[str], offset_s: float) -> ClipRecord:
    """Return a record as if the timestamps of some sources were all too early.

    Estimators do not depend on absolute time, so the offsets of pairs move and nothing else
    changes. What was refused stays refused; what leaves the search range is refused.

    `moved` names all sources of one clock, and `offset_s` is what to add to the moved timestamps to
    undo the change.
    """
    early_ns = nanoseconds(offset_s)
    return replace(
        record,
        measurements=tuple(
            _moved(pair, moved, offset_s, record.max_offset_s) for pair in record.measurements
        ),
        stamps={
            name: replace(audit, steps=tuple((at - early_ns, size) for at, size in audit.steps))
            if name in moved
            else audit
            for name, audit in record.stamps.items()
        },
        extents={
            name: (first - early_ns, last - early_ns) if name in moved else (first, last)
            for name, (first, last) in record.extents.items()
        },
    )


def _moved(
    pair: PairMeasurement, moved: Collection[str], offset_s: float, max_offset_s: float
) -> PairMeasurement:
    if pair.source not in moved:
        if pair.target not in moved:
            return pair
        return _moved(pair.turned(), moved, offset_s, max_offset_s).turned()
    early_ns = nanoseconds(offset_s)
    pair = replace(
        pair,
        evidence=None,
        excerpt=None,
        at_ns=pair.at_ns - early_ns,
        step_at_ns=None if pair.step_at_ns is None else pair.step_at_ns - early_ns,
    )
    if pair.offset_s is None or pair.target in moved:
        return pair
    after_s = pair.offset_s + offset_s
    # Clocks of different epochs are aligned first, and searched around that.
    if pair.accepted and abs(pair.offset_s) <= max_offset_s < abs(after_s):
        why = f"the offset lies beyond the {max_offset_s:g} s that are searched"
        pair = replace(pair, accepted=False, why=why)
    return replace(pair, offset_s=after_s)
