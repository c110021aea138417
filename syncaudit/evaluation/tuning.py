"""Choose limits for a data set, and estimate their performance on unseen recordings.

Limits chosen on some recordings are judged on others (M. Stone, "Cross-validatory choice and
assessment of statistical predictions", 1974): figures on the recordings that a limit was chosen on
are optimistic. Clips of one recording share road, light and clocks, so whole recordings are held
out, and intervals count recordings, not clips.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from syncaudit.dsp.rates import LEVEL, Rate
from syncaudit.errors import UsageError
from syncaudit.evaluation.injected import Injected
from syncaudit.evaluation.judged import Judged
from syncaudit.evaluation.outcomes import Outcome, outcome_of
from syncaudit.model import Verdict

# Limits to try, as fractions of the error that must be found: an error can only be distinguished
# from a limit if they are several standard errors apart.
_SHARES = (0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
_FOLDS = 5
_FOUND = frozenset({Outcome.FOUND})
_THROUGH = frozenset({Outcome.PASSED, Outcome.UNJUDGED})

# Judges clips with limits per kind or source, in seconds.
Judge = Callable[[Mapping[str, float], Collection[str]], Mapping[str, Judged]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """Requirements on a filter."""

    max_false_reject: float  # largest fraction of good clips that may be rejected
    min_found: float  # smallest fraction of errors of `size_s` that must be found
    size_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """Evidence for one rate on recordings that the limits were not chosen on."""

    rate: Rate  # clips that satisfy it, counted by recordings
    wanted: float
    n_promises: int = 1  # number of promises; all of them hold together with 95 % (Bonferroni)

    @property
    def level(self) -> float:
        """Level of the two-sided interval whose lower end is the bound."""
        return 1.0 - 2.0 * (1.0 - LEVEL) / self.n_promises

    @property
    def low(self) -> float:
        """Lower bound of the rate."""
        return self.rate.interval(self.level)[0]

    @property
    def is_kept(self) -> bool:
        """Whether the rate is proven to be as high as required."""
        return self.low >= self.wanted

    @property
    def is_out_of_reach(self) -> bool:
        """Whether the rate is proven to be lower than required."""
        return self.rate.interval(self.level)[1] < self.wanted

    @property
    def more_needed(self) -> int:
        """Number of further recordings, without a miss, that would prove it."""
        return self.rate.clips_to_promise(self.wanted, self.level)


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitTuning:
    """The limit of one kind of source, or of one source."""

    limit_s: float  # chosen on all recordings
    # Errors of the required size that were found, by limits chosen without their recording.
    found: Promise
    # Those of these errors that got into the passed clips; the rest was held back.
    let_through: Rate
    # Results of every limit tried, on the recordings it is chosen on: for display only.
    tried: Mapping[float, Tried]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """Effect of a limit on errors of the required size, and on good sources."""

    found: Rate  # errors; the rest is held back, or another source is blamed
    let_through: Rate
    passed: Rate  # good sources; the rest is unverified
    rejected: Rate


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """Limits, and the evidence for them."""

    limits: Mapping[str, LimitTuning]  # by kind of source, or by source
    kept: Promise  # good clips that were not rejected
    passed: Rate  # good clips that passed; the rest was held back
    n_recordings: int

    @property
    def is_kept(self) -> bool:
        """Whether every promise is proven."""
        return self.kept.is_kept and all(one.found.is_kept for one in self.limits.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Trial:
    """Variants of one size, and controls, by recording."""

    controls: Mapping[str, Injected]
    variants: Sequence[Injected]
    recordings: Mapping[str, str]
    is_by_source: bool

    def group(self, row: Injected) -> str:
        """Return the key of a variant's limit."""
        return str(row.source if self.is_by_source else row.kind)

    def clips_of(self, recordings: Collection[str]) -> set[str]:
        """Return the variants and controls of some recordings."""
        rows = (*self.controls.values(), *self.variants)
        return {row.clip_id for row in rows if self.recordings[row.original] in recordings}


def tune(
    truth: Sequence[Injected],
    recordings: Mapping[str, str],
    judge: Judge,
    goal: Goal,
    *,
    is_by_source: bool = False,
    seed: int = 0,
) -> Tuning:
    """Return the limit for each kind, or source, that meets a goal, with the evidence for it.

    A limit finds enough errors if that is proven, or if it finds as many as the best limit to
    within its standard error (L. Breiman et al., "Classification and Regression Trees", 1984). Of
    those that also reject few enough good sources, the one that passes the most good sources is
    chosen; of equal ones the largest. If none finds enough, it is the one that finds the most and
    lets the fewest through.

    `truth` holds variants in which one source was moved, and controls of the same clips;
    `recordings` the recording of each original clip. `seed` determines which recordings are held
    out together. UsageError if there are no errors of this size, no controls, or fewer than two
    recordings.
    """
    trial = _trial(truth, recordings, goal.size_s, is_by_source=is_by_source)
    groups = sorted({trial.group(row) for row in trial.variants})
    names = sorted({trial.recordings[original] for original in trial.controls})
    if len(names) < 2:
        raise UsageError(
            f"the trial holds {len(names)} recording, so limits chosen on it cannot be checked "
            "on others",
            hint="Inject errors into clips of several recordings.",
        )
    by_limit = {
        limit: judge(dict.fromkeys(groups, limit), trial.clips_of(names))
        for limit in (goal.size_s * share for share in _SHARES)
    }

    def tried(group: str, recordings: Collection[str]) -> dict[float, Tried]:
        return {limit: _tried(trial, group, by_limit[limit], recordings) for limit in by_limit}

    held_out: dict[str, Judged] = {}
    order = np.random.default_rng(seed).permutation(len(names))
    for fold in range(min(_FOLDS, len(names))):
        out = {names[k] for k in order[fold::_FOLDS]}
        rest = [name for name in names if name not in out]
        of_rest = {group: _best(tried(group, rest), goal) for group in groups}
        held_out.update(judge(of_rest, trial.clips_of(out)))
    verdicts = [
        held_out[row.clip_id].verdict for row in trial.controls.values() if row.clip_id in held_out
    ]

    def promise(rate: Rate, wanted: float) -> Promise:
        return Promise(rate=rate, wanted=wanted, n_promises=len(groups) + 1)

    limits = {}
    for group in groups:
        of_all = tried(group, names)
        limits[group] = LimitTuning(
            limit_s=_best(of_all, goal),
            found=promise(_outcomes(trial, group, held_out, names, _FOUND), goal.min_found),
            let_through=_outcomes(trial, group, held_out, names, _THROUGH),
            tried=of_all,
        )
    return Tuning(
        limits=limits,
        kept=promise(
            _rate([v is not Verdict.REJECT for v in verdicts], len(names)),
            1.0 - goal.max_false_reject,
        ),
        passed=_rate([v is Verdict.PASS for v in verdicts], len(names)),
        n_recordings=len(names),
    )


def _trial(
    truth: Sequence[Injected], recordings: Mapping[str, str], size_s: float, *, is_by_source: bool
) -> _Trial:
    controls = {row.original: row for row in truth if row.is_control}
    moved = [row for row in truth if row.change.offset_s and row.original in controls]
    sizes = sorted({row.change.size for row in moved if row.change.size >= size_s - 1e-9})
    if not controls or not sizes:
        lacks = "no errors of this size or more" if controls else "no controls"
        raise UsageError(
            f"the trial holds {lacks} ({1e3 * size_s:g} ms)",
            hint=f"Make one with 'syncaudit inject --offsets {1e3 * size_s:g}'.",
        )
    return _Trial(
        controls=controls,
        variants=[row for row in moved if row.change.size == sizes[0]],
        recordings={original: recordings.get(original, original) for original in controls},
        is_by_source=is_by_source,
    )


def _best(tried: Mapping[float, Tried], goal: Goal) -> float:
    most = max((one.found for one in tried.values()), key=lambda rate: rate.share or 0.0)
    # Estimated with one more hit and one more miss, so that it is not zero without misses.
    n = min(most.n, most.n_clips)
    share = ((most.share or 0.0) * n + 1.0) / (n + 2.0)
    near = (most.share or 0.0) - math.sqrt(share * (1.0 - share) / (n + 2.0))

    def rank(limit: float) -> tuple[object, ...]:
        one = tried[limit]
        found, passed = one.found.share or 0.0, one.passed.share or 0.0
        is_shown = one.found.interval()[0] >= goal.min_found
        is_enough = is_shown or found >= max(near, goal.min_found)
        is_kind = (one.rejected.share or 0.0) <= goal.max_false_reject
        wanted = (1.0, 0.0) if is_enough else (found, -(one.let_through.share or 0.0))
        return is_enough, is_kind, *wanted, passed, limit

    return max(tried, key=rank)


def _tried(
    trial: _Trial, group: str, judged: Mapping[str, Judged], recordings: Collection[str]
) -> Tried:
    """Return the effect of a limit on the errors and good sources of some recordings."""
    names = {str(row.source) for row in trial.variants if trial.group(row) == group}
    verdicts = [
        judged[row.clip_id].sources[name].verdict
        for original, row in trial.controls.items()
        if trial.recordings[original] in recordings and row.clip_id in judged
        for name in names & judged[row.clip_id].sources.keys()
    ]
    return Tried(
        found=_outcomes(trial, group, judged, recordings, _FOUND),
        let_through=_outcomes(trial, group, judged, recordings, _THROUGH),
        passed=_rate([v is Verdict.PASS for v in verdicts], len(recordings)),
        rejected=_rate([v is Verdict.REJECT for v in verdicts], len(recordings)),
    )


def _outcomes(
    trial: _Trial,
    group: str,
    judged: Mapping[str, Judged],
    recordings: Collection[str],
    wanted: Collection[Outcome],
) -> Rate:
    """Return the rate of some outcomes among the errors of a group in some recordings."""
    hits: dict[str, list[bool]] = defaultdict(list)
    for row in trial.variants:
        recording = trial.recordings[row.original]
        if trial.group(row) != group or recording not in recordings or row.clip_id not in judged:
            continue
        control = judged.get(trial.controls[row.original].clip_id)
        outcome = outcome_of(row, judged[row.clip_id], control)
        if outcome is not None:
            hits[recording].append(outcome in wanted)
    return _rate([hit for one in hits.values() for hit in one], len(hits))


def _rate(hits: Sequence[bool], n_recordings: int) -> Rate:
    return Rate(n_hits=sum(hits), n=len(hits), n_clips=n_recordings)
