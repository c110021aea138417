"""Find what the clips of a data set have in common: one model of all of its clocks.

Every clip is a set of pair offsets. What recordings agree on (`fit_random_effects`) is, pair by
pair, a measurement of the data set as a whole, and `solve_clocks` turns those into clocks as it
does for a clip: one reference for all, by the same consensus. Clips of one recording are fitted
first and then the recordings, so that a long one counts once.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import cast

import numpy as np

from syncaudit.dsp.random_effects import RandomEffects, fit_random_effects
from syncaudit.graph.solve import solve_clocks
from syncaudit.model import (
    Clip,
    ClockSolution,
    CommonOffset,
    CommonOffsets,
    DataSetClocks,
    PairMeasurement,
)
from syncaudit.pipeline.conclude import lasting_clocks
from syncaudit.policy import Policy, is_undecided
from syncaudit.policy.data_sets import is_outside

# Maximum number of clips listed for not sharing the common offset.
MAX_DIFFERING = 1000
# A majority of fewer recordings may be chance.
MIN_RECORDINGS = 4

# Measurements of two clocks: number of the clip, offset from first to second, its standard error,
# and the systematic part of that.
_PairOffsets = list[tuple[int, float, float, float]]


@dataclass(frozen=True, slots=True)
class _Agreement:
    """What recordings agree on."""

    effects: RandomEffects
    systematic_s: float  # typical systematic part of an error
    share: dict[int, float]  # by clip: probability that it shares the common offset
    offset_s: dict[int, float]  # by clip: the offset that it measured


class DataSet:
    """The measurements of the clips of one data set, added row by row.

    `name` states where its clips come from.
    """

    def __init__(self, name: str | None, policy: Policy) -> None:
        self._name = name
        self._policy = policy
        self._clip_ids: list[str] = []
        self._recordings: list[str] = []
        self._references: set[str | None] = set()
        self._n_clips: defaultdict[str, int] = defaultdict(int)
        self._sources: defaultdict[str, set[str]] = defaultdict(set)
        self._kinds: defaultdict[str, set[str]] = defaultdict(set)
        self._lasting: set[str] = set()
        self._tolerance_s: dict[str, float] = {}
        self._preference: dict[str, int] = {}
        self._pairs: defaultdict[tuple[str, str], _PairOffsets] = defaultdict(list)

    def add(self, clip: Clip, measurements: Sequence[PairMeasurement]) -> None:
        """Add one clip and what was measured on it.

        Refused measurements and those with a clock step do not constrain a common offset.
        Intended offsets are subtracted.
        """
        number = len(self._clip_ids)
        self._clip_ids.append(clip.clip_id)
        self._recordings.append(clip.recording_id)
        clocks = clip.clocks
        self._references.add(clocks.get(clip.reference or "", clip.reference))
        for clock in set(clocks.values()):
            self._n_clips[clock] += 1
        for name, clock in clocks.items():
            self._sources[clock].add(name)
            self._kinds[clock].add(str(clip.sources[name].kind))
        self._lasting |= lasting_clocks(clip)
        for clock, limit_s in self._policy.clock_tolerances(clip).items():
            self._tolerance_s[clock] = min(limit_s, self._tolerance_s.get(clock, limit_s))
        for rank, clock in enumerate(self._policy.clock_preference(clip)):
            self._preference[clock] = min(rank, self._preference.get(clock, rank))
        for ends, figures in self._sharpest(clip, clocks, measurements).items():
            self._pairs[ends].append((number, *figures))

    def _sharpest(
        self, clip: Clip, clocks: Mapping[str, str], measurements: Sequence[PairMeasurement]
    ) -> dict[tuple[str, str], tuple[float, float, float]]:
        """Return the most precise measurement of each two clocks: offset, error, systematic."""
        found: dict[tuple[str, str], tuple[float, float, float]] = {}
        intended_s = clip.intended_s
        for pair in measurements:
            source, target = clocks[pair.source], clocks[pair.target]
            is_asked = self._policy.is_baseline_only(pair)
            if not pair.accepted or is_asked or pair.step_s is not None:
                continue
            # An accepted measurement has both.
            offset_s = cast("float", pair.offset_s) - (
                intended_s[pair.source] - intended_s[pair.target]
            )
            std_s = cast("float", pair.offset_std_s)
            # Clocks of different epochs have nothing in common.
            if source == target or abs(offset_s) > self._policy.max_offset_s:
                continue
            ends = (min(source, target), max(source, target))
            sign = 1.0 if ends[0] == source else -1.0
            if ends not in found or std_s < found[ends][1]:
                found[ends] = (sign * offset_s, std_s, pair.systematic_std_s)
        return found

    def clocks(self) -> DataSetClocks | None:
        """Return the clocks of the data set, or None if too few recordings agree on any."""
        if len(set(self._recordings)) < MIN_RECORDINGS:
            return None
        width_s = 2.0 * self._policy.max_offset_s
        # In an order that does not depend on which clip was finished first.
        agreements = {
            ends: _agreement(
                sorted(pair, key=itemgetter(1, 2, 3)), self._recordings, width_s=width_s
            )
            for ends, pair in sorted(self._pairs.items())
        }
        found = {
            ends: common
            for ends, common in agreements.items()
            if common is not None and not self._is_disputed(ends, agreements)
        }
        if not found:
            return None
        solution = self._solved(found)
        reference = solution.reference
        if reference is None:
            return None
        clocks = tuple(self._common_offsets(found, solution, reference))
        home = next(c for c in solution.components if reference in c)
        outside = [clock.clock for clock in clocks if clock.is_outside]
        agreeing = [clock for clock in home if clock not in outside]
        return DataSetClocks(
            dataset=self._name,
            n_clips=len(self._clip_ids),
            reference=reference,
            reference_sources=tuple(sorted(self._sources[reference])),
            is_undecided=not solution.is_reference_stated
            and is_undecided(agreeing, outside, self._kinds),
            clocks=clocks,
            common=CommonOffsets(
                reference=reference, offset_s={clock.clock: clock.offset_s for clock in clocks}
            )
            if outside
            else None,
        )

    def _is_disputed(
        self, ends: tuple[str, str], agreements: Mapping[tuple[str, str], _Agreement | None]
    ) -> bool:
        """Return whether more recordings measured one of the clocks otherwise and disagreed."""

        def n_recordings(of: tuple[str, str]) -> int:
            return len({self._recordings[clip] for clip, *_ in self._pairs[of]})

        others = [each for each in agreements if agreements[each] is None and {*each} & {*ends}]
        return max(map(n_recordings, others), default=0) > n_recordings(ends)

    def _solved(self, found: Mapping[tuple[str, str], _Agreement]) -> ClockSolution:
        (stated, *others) = self._references
        return solve_clocks(
            [
                PairMeasurement(
                    source=source,
                    target=target,
                    method="common",
                    at_ns=0,
                    offset_s=common.effects.mean,
                    offset_std_s=math.hypot(common.effects.std, common.systematic_s),
                    systematic_std_s=common.systematic_s,
                    accepted=True,
                )
                for (source, target), common in found.items()
            ],
            {clock: clock for clock in sorted(self._n_clips)},
            at_ns=0,
            tolerance_s=self._tolerance_s,
            reference=None if others else stated,
            preference=sorted(self._preference, key=lambda c: (self._preference[c], c)),
            followers=set(self._n_clips) - self._lasting,
        )

    def _common_offsets(
        self, found: Mapping[tuple[str, str], _Agreement], solution: ClockSolution, reference: str
    ) -> Iterator[CommonOffset]:
        for name, clock in sorted(solution.clocks.items()):
            if name == reference or clock.offset_s is None or clock.offset_std_s is None:
                continue
            ties = [(ends, common) for ends, common in found.items() if name in ends]
            direct = [tie for tie in ties if reference in tie[0]]
            share = _shares([common for _, common in ties]) | _shares([c for _, c in direct])
            closest = (direct or ties)[0][1].effects
            limit_s = self._tolerance_s[name]
            if any(abs(_off_by(tie, solution)) > limit_s for tie in ties):
                continue  # pairs contradict each other: few sharp ones may outweigh the many
            agreeing = [clip for clip, part in share.items() if part >= 0.5]
            yield CommonOffset(
                clock=name,
                sources=tuple(sorted(self._sources[name])),
                offset_s=clock.offset_s,
                offset_std_s=clock.offset_std_s,
                between_s=closest.between,
                between_chance=closest.chance,
                limit_s=limit_s,
                is_outside=is_outside(self._policy, clock.offset_s, clock.offset_std_s, limit_s),
                n_clips=self._n_clips[name],
                n_measured=len(share),
                n_agreeing=len(agreeing),
                differing=tuple(
                    (self._clip_ids[clip], _measured(direct, name, clip))
                    for clip in sorted(share.keys() - set(agreeing))[:MAX_DIFFERING]
                ),
            )


def _off_by(tie: tuple[tuple[str, str], _Agreement], solution: ClockSolution) -> float:
    """Return what a solution leaves of the offset that recordings agree on."""
    (source, target), common = tie
    source_s, target_s = (solution.clocks[end].offset_s or 0.0 for end in (source, target))
    return common.effects.mean - (source_s - target_s)


def _shares(commons: Sequence[_Agreement]) -> dict[int, float]:
    """Return how far each clip shares the common offset, by the pair that shows it best."""
    shares: dict[int, float] = {}
    for common in commons:
        for clip, part in common.share.items():
            shares[clip] = max(part, shares.get(clip, 0.0))
    return shares


def _measured(
    direct: Sequence[tuple[tuple[str, str], _Agreement]], name: str, clip: int
) -> float | None:
    """Return a clip's measurement of a clock against the reference, if it has one."""
    for (source, _), common in direct:
        if clip in common.offset_s:
            return common.offset_s[clip] * (1.0 if source == name else -1.0)
    return None


def _agreement(
    pair: _PairOffsets, recordings: Sequence[str], *, width_s: float
) -> _Agreement | None:
    """Return what recordings agree on; None if too few do, or not a majority.

    Errors count in full here: whether a systematic part is the same in all recordings is not
    known, so it must neither be reported as scatter between them nor averaged away by users of
    the mean.
    """
    clips = [clip for clip, *_ in pair]
    offsets_s, stds_s, systematic_s = np.array([figures for _, *figures in pair]).T
    places: defaultdict[str, list[int]] = defaultdict(list)
    for place, clip in enumerate(clips):
        places[recordings[clip]].append(place)
    if len(places) < MIN_RECORDINGS:
        return None
    means_s, mean_stds_s = np.empty(len(places)), np.empty(len(places))
    for k, own in enumerate(places.values()):
        if len(own) == 1:  # most data sets have only such recordings, and many of them
            means_s[k], mean_stds_s[k] = offsets_s[own[0]], stds_s[own[0]]
        else:
            fit = fit_random_effects(offsets_s[own], stds_s[own], width=width_s)
            means_s[k], mean_stds_s[k] = fit.mean, fit.std
    effects = fit_random_effects(means_s, mean_stds_s, width=width_s)
    if 2.0 * float(effects.share.sum()) <= len(places):
        return None
    share = effects.share_of(offsets_s, stds_s)
    return _Agreement(
        effects=effects,
        systematic_s=float(np.sqrt(np.mean(np.square(systematic_s)))),
        share=dict(zip(clips, share.tolist(), strict=True)),
        offset_s=dict(zip(clips, offsets_s.tolist(), strict=True)),
    )
