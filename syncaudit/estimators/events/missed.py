"""Test a match of flashes by those that cameras would have missed; it may be off by a pulse.

If a camera did not see a flash, the flash fell between its exposures. Such intervals are as long as
the dead time of a frame, and band edges date flashes a thousand times better, so they add nothing
to the estimate of a clock. But under a clock map that is off by one pulse of a burst, cameras miss
flashes in their full view.

Two cameras whose exposures do not cover the whole time may each show other pulses of a burst. A
clock map that is off by a pulse then pairs most of their events, and the right one may pair none,
so that no count of matched events decides between them. The ends of the bursts do: under a map that
is off, the last pulse of a burst that one camera shows has no counterpart in the view of the other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import binom

from syncaudit.estimators.events.flash_bands import band_height_px
from syncaudit.estimators.events.instants import Corrections, EventEvidence, Instants
from syncaudit.estimators.events.pair_fit import PairFit
from syncaudit.model import EventTrain, FlashEdges, FlashIntervals, Quantity
from syncaudit.model.arrays import Bools, Floats

# Margin, as a fraction of an image's rows or of an exposure, in which edges need not be detected.
BORDER = 0.2
# Bands of pulses closer than this may overlap and need not be detected.
ALONE_S = 0.015
# An event this near is taken as the expected flash, whatever it was matched with.
NEAR_S = 3e-3
# Maximum error of the time of a flash, in standard errors.
MAX_SIGMAS = 3.0
# A detector misses up to a third of the flashes (short exposures, several pulses per frame). An
# occlusion or a clock step causes only few runs of missed flashes. A match that is off by a pulse
# misses more, throughout the recording; or fewer, but in both cameras.
MAX_UNSEEN = 0.35
MAX_RUNS = 0.25
MAX_OF_BOTH = 0.4
MIN_RUNS = 3
# Fully lit frames are hardly ever missed, but their intervals fit more flashes.
WHOLE_PART = 0.4

# A burst ends where the next event is further away than this many repetitions: one may be missed.
MAX_GAP = 2.5
# With fewer bursts, the train is a pattern that is played repeatedly.
MIN_BURSTS = 4
# Probability that a match which is off by a pulse shows as few events missing, and the share that
# detectors miss.
MAX_RISK = 1e-4
MAX_UNSEEN_OF_BURSTS = 0.15
# Share of the pulses that a source shows: at most, and where its view is not known.
MAX_SHOWN = 0.9
MIN_SHOWN = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Missed:
    """Counts of seen and missed flashes in a camera's full view.

    Parameters
    ----------
    n_seen, n_unseen : int
        Number of flashes that the camera shows, and that it does not.
    n_runs : int
        Number of runs of missed flashes, in time order.
    is_whole : bool
        Whether the light fills the frames that show it (global shutter).
    """

    n_seen: int
    n_unseen: int
    n_runs: int
    is_whole: bool = False

    def exceeds(self, part: float = 1.0, *, n_other_runs: int = 0) -> bool:
        """Return whether more are missed than this fraction of a correct match's maximum.

        Parameters
        ----------
        part : float
            The fraction.
        n_other_runs : int
            Number of runs that another source misses under the same match.
        """
        if self.is_whole:
            part = part * WHOLE_PART
        n_runs = self.n_runs + n_other_runs
        return (
            n_runs >= MIN_RUNS
            and self.n_unseen > part * MAX_UNSEEN * (self.n_seen + self.n_unseen)
            and n_runs > part * MAX_RUNS * (self.n_seen + n_runs)
        )

    def words(self, name: str) -> str:
        """Describe the contradiction."""
        return (
            f"of {self.n_seen + self.n_unseen} flashes in full view of {name} it shows "
            f"{self.n_seen}: the match may be off by one pulse, or they show different lights"
        )


def count_missed(
    source: Instants,
    target: Instants,
    fit: PairFit,
    *,
    of_source: Bools | None = None,
    of_target: Bools | None = None,
) -> tuple[Missed, Missed]:
    """Count the flashes that each of two sources misses under a match.

    Parameters
    ----------
    source, target : Instants
        Of the pair.
    fit : PairFit
        The match.
    of_source, of_target : ndarray of bool, shape (n,) or (m,), optional
        Events of each that the other is to show; default: all.

    Returns
    -------
    tuple of Missed
        Of the source, which should show flashes of the target, and of the target.
    """
    source_s, target_s = source.at(fit.source), target.at(fit.target)
    return (
        _missed(source, source_s, fit.source, target, fit.source_of(target_s), of_target),
        _missed(target, target_s, fit.target, source, fit.predict(source_s), of_source),
    )


def why_contradicted(source: Instants, target: Instants, fit: PairFit) -> str | None:
    """Return why a match is contradicted, if both sources miss flashes that the other shows.

    One that sees more than the other, or has false events, is no contradiction.
    """
    one, other = count_missed(source, target, fit)
    is_off = one.exceeds(MAX_OF_BOTH, n_other_runs=other.n_runs)
    if not (is_off and other.exceeds(MAX_OF_BOTH, n_other_runs=one.n_runs)):
        return None
    is_worse = one.n_unseen >= other.n_unseen
    return one.words(source.source) if is_worse else other.words(target.source)


def _missed(
    events: Instants,
    own_s: Floats,
    corrections: Corrections,
    other: Instants,
    flashes_s: Floats,
    which: Bools | None,
) -> Missed:
    item = events.evidence
    if item is None:
        return Missed(n_seen=0, n_unseen=0, n_runs=0)
    views_s = views_of(item, events.line_delay_s + corrections.line_delay_s)
    chosen = np.ones(other.n, dtype=np.bool_)
    if views_s.size:  # the ends of lights that stay on are not expected
        chosen = other.senses >= 0
    elif _dates_every_switch(events, other):
        events = events.everything
        own_s = events.at(corrections)
        views_s = np.array([[own_s.min(), own_s.max()]])
    if which is not None:
        chosen &= which
    return find_missed(
        views_s,
        (flashes_s[chosen], _reach_s(other)[chosen]),
        (own_s, _reach_s(events)),
        is_whole=isinstance(item, FlashIntervals),
    )


def _dates_every_switch(events: Instants, other: Instants) -> bool:
    """Return whether a source dates every switch of a light, by rows or between two frames."""
    if not events.is_lasting or events.shows_every_switch:
        return events.is_lasting
    return other.shows_every_switch and bool(np.any(events.everything.half_s > 0.0))


def find_missed(
    views_s: Floats,
    flashes: tuple[Floats, Floats],
    seen: tuple[Floats, Floats],
    *,
    is_whole: bool = False,
) -> Missed:
    """Count the seen and missed flashes in view, all in the camera's own time.

    Parameters
    ----------
    views_s : ndarray, shape (m, 2)
        From `views_of`.
    flashes : tuple of ndarray, shape (n,)
        Times of certain flashes, and their maximum errors.
    seen : tuple of ndarray, shape (k,)
        Times of the camera's events, and their maximum errors.
    is_whole : bool
        Whether the light fills the frames (global shutter).
    """
    if not views_s.size or not flashes[0].size:
        return Missed(n_seen=0, n_unseen=0, n_runs=0, is_whole=is_whole)
    order = np.argsort(flashes[0], kind="stable")
    gaps_s = np.concatenate([[np.inf], np.diff(flashes[0][order]), [np.inf]])
    order = order[np.minimum(gaps_s[:-1], gaps_s[1:]) > ALONE_S]
    flashes_s, half_s = flashes[0][order, None], flashes[1][order, None]
    in_view = np.any(
        (flashes_s - half_s > views_s[:, 0]) & (flashes_s + half_s < views_s[:, 1]), axis=1
    )
    near = np.abs(flashes_s - seen[0]) < NEAR_S + half_s + seen[1]
    unseen = ~np.any(near[in_view], axis=1)
    first = unseen & ~np.concatenate([[False], unseen[:-1]])[: unseen.size]
    return Missed(
        n_seen=int((~unseen).sum()),
        n_unseen=int(unseen.sum()),
        n_runs=int(first.sum()),
        is_whole=is_whole,
    )


def _reach_s(events: Instants) -> Floats:
    """Return the maximum errors of the times of events, including timestamp jitter."""
    return events.half_s + MAX_SIGMAS * events.std_s


def views_of(item: EventEvidence, line_delay_s: float, border: float = BORDER) -> Floats:
    """Return the intervals of own time in which a flash must be visible, shape (m, 2).

    Empty for sources other than cameras, if the exposure is neither stated nor visible, and for
    lights that stay on: they draw edges only in rows that are exposed while they switch.

    Parameters
    ----------
    item : FlashEdges, FlashIntervals or EventTrain
        Evidence.
    line_delay_s : float
        Current estimate.
    border : float
        Margin, as a fraction of an image's rows or of an exposure, that does not count.
    """
    nothing = np.empty((0, 2))
    if not isinstance(item, EventTrain) and item.is_lasting:
        return nothing
    if isinstance(item, FlashIntervals):
        between = np.stack([item.dead_s[:-1, 1], item.dead_s[1:, 0]], axis=1)
        length_s = np.diff(between, axis=1)[:, 0]
        # If frames are missing, more than one exposure lies between two dead times.
        views: Floats = between[length_s < 1.5 * np.median(length_s)] if length_s.size else nothing
        # Other sources date a flash only to a fraction of an exposure.
        inner: Floats = views + border * np.diff(views, axis=1) * np.array([1.0, -1.0])
        return inner
    height = band_height_px(item) if isinstance(item, FlashEdges) else None
    if not isinstance(item, FlashEdges) or (height is None and item.exposure_s is None):
        return nothing
    # Bands are as high as the longer of light and exposure is long.
    if height is not None:
        band_s = height[0] * line_delay_s
    else:
        band_s = max(item.exposure_s or 0.0, 2.0 * (item.half_light_s or 0.0))
    exposure_s = band_s if item.exposure_s is None else item.exposure_s
    readout_s = item.readout_px * line_delay_s
    middle_s = item.stamp_part * (exposure_s + readout_s) - item.from_stamp_s
    frame_s = np.unique(item.watched_s) + middle_s
    # One of the two edges lies in the image, far enough from its border.
    first_s, last_s = np.array(item.view_px) * line_delay_s
    border_s = border * (last_s - first_s)
    inner_s = np.array([first_s + border_s, last_s - border_s])
    edges_s = [frame_s + sign * 0.5 * band_s for sign in (1.0, -1.0)]
    return np.concatenate([edge[:, None] + inner_s for edge in edges_s])


def may_be_off_by_pulse(
    source: Instants, target: Instants, fit: PairFit, repeat_s: float, *, is_scattered: bool
) -> bool:
    """Return whether the events come in bursts, and their ends do not confirm the match.

    Under a map that is off by a pulse or more, the last pulse of a burst that a source shows is its
    last pulse at least as often as the source shows any pulse; then the other source, if it has a
    full view, shows nothing where the map predicts an event. The number of such contradictions is
    binomial. The ends of the bursts exclude a shift to one side, their beginnings to the other.
    Without bursts, matched events that scatter as widely as the train's own distances do may be any
    pulses of an almost even train.

    Parameters
    ----------
    source, target : Instants
        Of the pair.
    fit : PairFit
        The match.
    repeat_s : float
        After how long one of them repeats itself.
    is_scattered : bool
        Whether the matched events scatter by more than their errors allow.
    """
    sides = _Side.of(source, fit, repeat_s), _Side.of(target, fit, repeat_s, is_target=True)
    if min(side.n_bursts for side in sides) < MIN_BURSTS:
        return is_scattered
    for is_early in (False, True):
        n_unseen = n_in_view = 0
        expected = 0.0
        for own, other, is_first in (
            (sides[0], sides[1], is_early),
            (sides[1], sides[0], not is_early),
        ):
            missed = other.missed(own, is_first=is_first)
            n_unseen += missed[0]
            n_in_view += missed[1]
            expected += missed[1] * own.share
        risk = binom.cdf(n_unseen, n_in_view, expected / max(n_in_view, 1))
        if risk > MAX_RISK or n_unseen > MAX_UNSEEN_OF_BURSTS * n_in_view:
            return True
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Side:
    """Events of one source of a pair, and when it has a full view, in the time of the target.

    Parameters
    ----------
    times_s, half_s : ndarray, shape (n,)
        Events of one sense, and their maximum errors.
    is_first, is_last : ndarray of bool, shape (n,)
        Which begin and end a burst.
    seen : tuple of ndarray, shape (k,)
        Times of all events, also of those known as intervals only, and their maximum errors.
    views_s : ndarray, shape (m, 2)
        When it has a full view.
    share : float
        Share of the time in which it shows pulses.
    """

    times_s: Floats
    half_s: Floats
    is_first: Bools
    is_last: Bools
    seen: tuple[Floats, Floats]
    views_s: Floats
    share: float

    @classmethod
    def of(
        cls, events: Instants, fit: PairFit, repeat_s: float, *, is_target: bool = False
    ) -> _Side:
        corrections = fit.target if is_target else fit.source
        everything = events.everything
        main = events.take(events.main_sense)
        line_delay_s = everything.line_delay_s + corrections.line_delay_s
        own_s, views_s = main.at(corrections), _views_s(everything, line_delay_s)
        seen_s = everything.at(corrections)
        is_end = np.concatenate([[True], np.diff(own_s) > MAX_GAP * repeat_s, [True]])
        if not is_target:
            own_s, seen_s = fit.predict(own_s), fit.predict(seen_s)
            views_s = fit.predict(views_s.ravel()).reshape(-1, 2)
        return cls(
            times_s=own_s,
            half_s=_reach_s(main),
            is_first=is_end[:-1],
            is_last=is_end[1:],
            seen=(seen_s, _reach_s(everything)),
            views_s=views_s,
            share=_share(_views_s(everything, line_delay_s, border=0.0)),
        )

    @property
    def n_bursts(self) -> int:
        """Return the number of bursts."""
        return int(self.is_first.sum())

    def missed(self, other: _Side, *, is_first: bool) -> tuple[int, int]:
        """Return how many ends of the other's bursts are in view here and not seen, and in view."""
        chosen = other.is_first if is_first else other.is_last
        found = find_missed(self.views_s, (other.times_s[chosen], other.half_s[chosen]), self.seen)
        return found.n_unseen, found.n_unseen + found.n_seen


def _views_s(events: Instants, line_delay_s: float, border: float = BORDER) -> Floats:
    """Return when the source shows every pulse, or every switch of a light that stays on.

    Triggers, clicks and counters are taken to be complete.
    """
    evidence = events.evidence
    if evidence is None:
        return np.empty((0, 2))
    is_camera = isinstance(evidence, FlashEdges) or (
        isinstance(evidence, FlashIntervals) and evidence.quantity is Quantity.FLASH
    )
    if is_camera and not events.is_lasting:
        return views_of(evidence, line_delay_s, border)
    return np.array([[events.times_s[0], events.times_s[-1]]])


def _share(views_s: Floats) -> float:
    """Return the share of the time that views, shape (m, 2), cover."""
    if not views_s.size:
        return MIN_SHOWN
    begin_s, end_s = views_s[np.argsort(views_s[:, 0])].T
    new_s = np.maximum(begin_s, np.concatenate([[-np.inf], np.maximum.accumulate(end_s)[:-1]]))
    covered_s = np.maximum(end_s - new_s, 0.0).sum()
    return min(MAX_SHOWN, float(covered_s / (end_s.max() - begin_s.min())))
