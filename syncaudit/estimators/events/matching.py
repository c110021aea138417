"""Match the events of two sources whose clocks are unknown, or give the reason of the refusal."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from syncaudit.dsp.robust import mad_std
from syncaudit.estimators.events.chance import chance_of_intervals, chance_of_match
from syncaudit.estimators.events.clock_steps import join_steps
from syncaudit.estimators.events.hypotheses import (
    MIN_MATCHED,
    Hypothesis,
    fit_candidates,
    matched_by,
    n_conflicts_of,
    widen,
)
from syncaudit.estimators.events.instants import Instants, opposite_polarity_mask, sensed_beside
from syncaudit.estimators.events.missed import may_be_off_by_pulse
from syncaudit.estimators.events.pair_fit import (
    GATE_SIGMAS,
    EventMatch,
    fit_pair,
    gates_s,
    residuals_s,
)
from syncaudit.estimators.events.voting import find_period, find_repeat, vote
from syncaudit.formatting import word_duration

# A runner-up casts doubt if it explains more than this share of the same events, or fewer than
# `MIN_LEAD` less than the best. Where a train repeats itself, the lead must be this many sigmas.
MAX_SHARED = 0.6
MIN_REPEAT_Z = 4.0
MIN_LEAD = 3
# Events that scatter by more than twice their errors agree no better than neighbouring pulses of an
# almost even train may.
MAX_CHI2 = 4.0

MAX_DRIFT_PPM = 1000.0
# Streams of one recording rarely differ by more: drivers buffer some frames, and oscillators are
# specified to within 50 or 100 ppm.
USUAL_OFFSET_S = 1.0
USUAL_DRIFT_PPM = 100.0
# At most one in 1,000 pairs of unrelated trains may be matched; the limit is a third of that, to
# allow for properties of real trains that no model of chance covers.
MAX_CHANCE = 3e-4
# Above this, the message calls the match chance and gives no probability.
USUAL_CHANCE = 0.5
# At least this part of the shorter train's events must match (where each side sees a quarter, and
# there are false events, a fifth remains): less is luck among very many events.
MIN_MATCHED_SHARE = 0.1
N_CANDIDATES = 6
MIN_WINDOW_S = 1e-3
MAX_WINDOW_S = 0.03
# This share of a periodic light's gaps are equal where at most a tenth of its switches is missing
# (`MIN_ALTERNATING`): each missing one joins two gaps.
MIN_EQUAL_GAPS = 0.8
# Two recordings that share no epoch must overlap by at least this part of the shorter one.
MIN_COMMON = 0.5


def period_of(events: Instants, *, max_offset_s: float) -> float | None:
    """Return the period of a source's own events where it is shorter than the search, or None.

    The tolerance does not include the uncertainty of an unstated line delay: a camera sees only
    what falls into its readouts, and these are periodic. Periods hidden by that uncertainty are
    left to the runner-up test.

    A source that shows nearly every switch of a light is periodic only if most of its gaps are
    equal. Others of whole periods are a pattern (a program plays bits of equal length), which tells
    one offset from another. Elsewhere pulses may be missing because the source did not watch.
    """
    if not events.n:
        return None
    # The middles of a camera's intervals lie on the grid of its frames.
    half_s, std_s = float(np.median(events.half_s)), float(np.median(events.std_s))
    tolerance_s = half_s + min(max(3e-4, 2.0 * std_s), 0.02)
    period_s = find_period(
        events.main_sense_s, tolerance_s=tolerance_s, max_period_s=2.0 * max_offset_s
    )
    if period_s is not None and events.shows_every_switch:
        gaps = np.rint(np.diff(events.everything.main_sense_s) / period_s)
        if np.unique(gaps, return_counts=True)[1].max() < MIN_EQUAL_GAPS * gaps.size:
            return None
    return period_s


def match_events(
    source: Instants, target: Instants, *, max_offset_s: float = 30.0, check_periods: bool = True
) -> EventMatch:
    """Match events by voting, a significance test and a runner-up test.

    1. If a source's own events are periodic, the pair is refused: any multiple of the period would
       fit.
    2. All pairs vote on the offset, for every drift of a grid (`vote`); no event is taken to be
       the same as another because of its position in the list.
    3. The fullest ballots are fitted (`fit_pair`) with gates that close down to a few sigmas; where
       line delays or exposures are not stated, also from the pairs that agree most closely.
    4. The best must not be chance (`chance_of_match`): its probability must be below 3e-4 over all
       distinct windows of the search, and it must match a tenth of the shorter train. Half of the
       probability is spent on the whole search and half on the maps that the clocks of one
       recording usually have, where fewer events are enough
       (Genovese, Roeder & Wasserman, "False discovery control with p-value weighting", Biometrika
       93, 2006, doi:10.1093/biomet/93.3.509).
    5. No other offset may explain nearly as many of the *same* events. This refuses nearly periodic
       trains, whatever the reason. Offsets that explain *other* events, before or after, are steps
       of one of the clocks (`join_steps`).

    Events known only to lie between two frames agree on any offset by the hundreds: where both
    trains have sharp events, these alone propose the offset, and the intervals confirm it
    (`_by_sharp_events`).

    Parameters
    ----------
    source, target : Instants
        Events of the two sources, n and m.
    max_offset_s : float
        Largest offset of the timestamps, either sign. Timestamps without a common epoch are
        searched over every offset at which half of the shorter train overlaps.
    check_periods : bool
        False where the caller has already done step 1.

    Returns
    -------
    EventMatch
        With pairs and fit, or with the reason of the refusal.
    """
    source, target = sensed_beside(source, target), sensed_beside(target, source)
    by_sharp = _by_sharp_events(
        source, target, max_offset_s=max_offset_s, check_periods=check_periods
    )
    if by_sharp is not None:
        return by_sharp
    for events in (source, target):
        if events.n < MIN_MATCHED:
            return _refused(
                source,
                target,
                f"{events.source} has {events.n} events; at least {MIN_MATCHED} are needed",
            )
    whole, usual = _searches(source, target, max_offset_s)
    if check_periods:
        for events in (source, target):
            period_s = period_of(events, max_offset_s=0.5 * whole.range_s)
            if period_s is not None:
                return _modulo(source, target, events.source, period_s)
    found, alternatives = _match_within(source, target, whole, [], whole.range_s)
    if usual is None or (found.fit is not None and found.chance <= MAX_CHANCE):
        return found
    nearer, _ = _match_within(source, target, usual, alternatives, whole.range_s)
    return nearer if nearer.why is None else found


@dataclass(frozen=True, slots=True, kw_only=True)
class _Search:
    """Clock maps that are searched, and the share of `MAX_CHANCE` that is spent on them."""

    lowest_s: float
    highest_s: float
    max_drift_ppm: float
    share: float

    @property
    def range_s(self) -> float:
        return self.highest_s - self.lowest_s


def _match_within(
    source: Instants,
    target: Instants,
    search: _Search,
    alternatives: list[Hypothesis],
    repeat_range_s: float,
) -> tuple[EventMatch, list[Hypothesis]]:
    """Match by one search, and return its hypotheses; `alternatives` are those of another search.

    Where a train repeats itself within `repeat_range_s`, the best must lead by more.
    """
    window_s = float(np.clip(source.tolerance_s + target.tolerance_s, MIN_WINDOW_S, MAX_WINDOW_S))
    anchor_s = 0.5 * float(source.times_s[0] + source.times_s[-1])
    candidates = vote(
        source.times_s,
        target.times_s,
        window_s=window_s,
        lowest_s=search.lowest_s - window_s,
        highest_s=search.highest_s + window_s,
        max_drift=1e-6 * search.max_drift_ppm,
        anchor_s=anchor_s,
        n_best=N_CANDIDATES,
        excluded=opposite_polarity_mask(source, target),
    )
    hypotheses = fit_candidates(
        source,
        target,
        candidates,
        anchor_s=anchor_s,
        window_s=window_s,
        max_drift=1e-6 * search.max_drift_ppm,
    )
    if not hypotheses or hypotheses[0].i.size < MIN_MATCHED:
        why = (
            f"no offset within the search (± {0.5 * search.range_s:.2g} s) explains {MIN_MATCHED} "
            "common events"
        )
        return _refused(source, target, why), hypotheses
    best = hypotheses[0]
    chance = chance_of_match(source, target, best, search.range_s, search.max_drift_ppm)
    probability = min(1.0, chance.probability / search.share)
    figures = EventMatch(
        source=source, target=target, i=best.i, j=best.j, fit=best.fit, chance=probability
    )
    others = [*hypotheses[1:], *alternatives]
    if best.i.size < MIN_MATCHED_SHARE * min(source.n, target.n):
        why = f"only {best.i.size} of {min(source.n, target.n)} events agree on an offset"
        return _refused(source, target, why, figures), hypotheses
    if probability > MAX_CHANCE and _repeat_of(source, target, repeat_range_s) is not None:
        judged = _without_runner_up(figures, best, others, repeat_range_s, window_s)
        if judged.why is not None:  # not chance, but a pattern that is played repeatedly
            return judged, hypotheses
    if probability > MAX_CHANCE:
        by_chance = (
            "no more than expected by chance"
            if probability > USUAL_CHANCE
            else f"which happens by chance with probability {probability:.2g}"
        )
        n_needed = max(chance.needed(MAX_CHANCE * search.share), best.i.size + 1)
        why = (
            f"{best.i.size} events agree on an offset, {by_chance}: too few events in common "
            f"(needed about {n_needed}, irregularly spaced)"
        )
        return _refused(source, target, why, figures), hypotheses
    if not search.lowest_s <= best.fit.offset_s <= search.highest_s:
        why = (
            f"the best offset is at the edge of the search ({search.lowest_s:+.3g} to "
            f"{search.highest_s:+.3g} s)"
        )
        return _refused(source, target, why, figures), hypotheses
    return _without_runner_up(figures, best, others, repeat_range_s, window_s), hypotheses


def _by_sharp_events(
    source: Instants, target: Instants, *, max_offset_s: float, check_periods: bool
) -> EventMatch | None:
    """Return the match that sharp events give and intervals confirm, or None.

    The two kinds are independent evidence for one offset, and their chance probabilities are
    combined (Fisher, "Statistical methods for research workers", 1932, section 21.1).
    """
    if not (source.half_s.any() or target.half_s.any()):
        return None
    found = match_events(
        source.take(source.sharp),
        target.take(target.sharp),
        max_offset_s=max_offset_s,
        check_periods=check_periods,
    )
    if found.fit is None or (found.why is not None and found.chance <= MAX_CHANCE):
        return None
    both = max(found.chance * chance_of_intervals(source, target, found.fit), 1e-300)
    chance = min(found.chance, both * (1.0 - math.log(both)))
    if chance > MAX_CHANCE:
        return None
    i, j = matched_by(found.fit, source, target)
    fit = found.fit if found.fit.steps else fit_pair(source, target, i, j)
    return replace(found, source=source, target=target, i=i, j=j, fit=fit, why=None, chance=chance)


def _refused(
    source: Instants,
    target: Instants,
    why: str,
    figures: EventMatch | None = None,
    *,
    period_s: float | None = None,
    n_runner_up: int = 0,
) -> EventMatch:
    none = np.empty(0, dtype=np.int64)
    return EventMatch(
        source=source,
        target=target,
        i=none,
        j=none,
        fit=None if figures is None else figures.fit,
        why=why,
        chance=1.0 if figures is None else figures.chance,
        period_s=period_s,
        n_runner_up=n_runner_up,
    )


def _modulo(source: Instants, target: Instants, name: str, period_s: float) -> EventMatch:
    why = (
        f"offset known only modulo {word_duration(period_s)}: the events of {name} are periodic; "
        "use an irregular train"
    )
    return _refused(source, target, why, period_s=period_s)


def _searches(
    source: Instants, target: Instants, max_offset_s: float
) -> tuple[_Search, _Search | None]:
    """Return the whole search and that of usual clocks, None if the whole is hardly larger.

    Offsets are target minus source in the times of the two evidences.
    """
    epochs_s = (target.epoch_ns - source.epoch_ns) * 1e-9
    first, last = float(source.times_s[0]), float(source.times_s[-1])
    start, stop = float(target.times_s[0]), float(target.times_s[-1])
    apart_s = max(start + epochs_s - last, first - stop - epochs_s, 0.0)
    usual = None
    if apart_s <= max_offset_s:
        lowest_s, highest_s = -epochs_s - max_offset_s, -epochs_s + max_offset_s
        if max_offset_s > 2.0 * USUAL_OFFSET_S:
            usual = _Search(
                lowest_s=-epochs_s - USUAL_OFFSET_S,
                highest_s=-epochs_s + USUAL_OFFSET_S,
                max_drift_ppm=USUAL_DRIFT_PPM,
                share=0.5,
            )
    else:
        common_s = MIN_COMMON * min(last - first, stop - start)
        lowest_s, highest_s = start - last + common_s, stop - first - common_s
    whole = _Search(
        lowest_s=lowest_s,
        highest_s=highest_s,
        max_drift_ppm=MAX_DRIFT_PPM,
        share=1.0 if usual is None else 0.5,
    )
    return whole, usual


def _without_runner_up(
    figures: EventMatch,
    best: Hypothesis,
    others: list[Hypothesis],
    range_s: float,
    window_s: float,
) -> EventMatch:
    source, target = figures.source, figures.target
    n_runner_up, runner_up = 0, None
    for other in others:
        n_conflicts = n_conflicts_of(best, other)
        if n_conflicts > n_runner_up:
            n_runner_up, runner_up = n_conflicts, other
    found = join_steps(source, target, best, window_s=window_s, max_chance=MAX_CHANCE)
    found = widen(source, target, found, MIN_WINDOW_S)
    # A train repeats itself where its distances differ by no more than the matched events scatter.
    off_s = residuals_s(found.fit, source, target, found.i, found.j)
    scatter_s = GATE_SIGMAS * mad_std(off_s)
    repeat_s = _repeat_of(source, target, range_s, scatter_s)
    if _is_doubtful(best, runner_up, n_runner_up, repeats=repeat_s is not None):
        period_s = repeat_s or 0.0
        if runner_up is not None:
            period_s = abs(runner_up.fit.offset_s - best.fit.offset_s)
        apart = word_duration(period_s)
        why = (
            f"offset known only modulo {apart}: {best.i.size} events agree on one offset and "
            f"{n_runner_up} of them on another {apart} away; use an irregular train, or record "
            "longer"
        )
        if not n_runner_up:
            why = (
                f"only {best.i.size} events agree on an offset, too few where events repeat "
                f"themselves {apart} later; use an irregular train, or record longer"
            )
        return _refused(source, target, why, figures, period_s=period_s, n_runner_up=n_runner_up)
    is_scattered = found.fit.chi2_reduced > MAX_CHI2
    if repeat_s is not None and may_be_off_by_pulse(
        source, target, found.fit, repeat_s, is_scattered=is_scattered
    ):
        why = (
            f"flashes come nearly evenly or in bursts ({word_duration(repeat_s)} apart), of which "
            "each source may show other flashes: the match may be off by one flash; record "
            "longer, or use an irregular train"
        )
        return _refused(source, target, why, figures, period_s=repeat_s, n_runner_up=n_runner_up)
    return replace(figures, i=found.i, j=found.j, fit=found.fit, n_runner_up=n_runner_up)


def _is_doubtful(
    best: Hypothesis, runner_up: Hypothesis | None, n_shared: int, *, repeats: bool
) -> bool:
    """Return whether the runner-up is too close.

    Chance gives a runner-up only a few events. A train that repeats itself gives wrong runners-up
    that are as good but for luck (which pulses each source happened to see). There, the lead must
    exceed four sigmas of the number of events, of either train, that only one of the two explains
    (McNemar, "Note on the sampling error of the difference between correlated proportions or
    percentages", Psychometrika 12, 1947, doi:10.1007/BF02295996).
    """
    n_best, n_runner_up = best.i.size, 0 if runner_up is None else runner_up.i.size
    if repeats:
        n_by_one = 2 * max(n_best + n_runner_up - 2 * n_shared, 1)
        return bool(2 * (n_best - n_runner_up) < MIN_REPEAT_Z * math.sqrt(n_by_one))
    return bool(n_shared > MAX_SHARED * n_best or n_best - n_shared < MIN_LEAD)


def _repeat_of(
    source: Instants, target: Instants, range_s: float, scatter_s: float = 0.0
) -> float | None:
    """Return after how long one of the trains repeats itself, within a scatter, or None."""
    for events in (source, target):
        everything = np.arange(events.n)
        gate_s = float(np.median(gates_s(events, events, everything, everything)))
        tolerance_s = max(gate_s, scatter_s)
        found = find_repeat(events.main_sense_s, tolerance_s=tolerance_s, max_lag_s=range_s)
        if found is not None:
            return found
    return None
