"""Match sources against all others together if pairs left many of their events unexplained.

A pair shares only some flashes and, if a clock steps, maybe hardly any before or after the step.
All others together, mapped to reference time, saw nearly every flash.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from syncaudit.estimators.events import (
    EventMatch,
    Instants,
    match_events,
    sensed_beside,
)
from syncaudit.estimators.events.missed import count_missed
from syncaudit_calibration.association import ATTACH_S, ATTACH_SIGMAS, SPLIT_S, Map, associate
from syncaudit_calibration.closures import Closure, Links, closures_of

# A source with at least this many unexplained events is matched again, and the new match is kept
# if it explains at least this many more.
MIN_UNEXPLAINED = 5
# Maximum correction of a reference that stepped, before the step, where it must be zero.
MAX_REFERENCE_S = 1e-3
N_ROUNDS = 3


class Associated:
    """Association of events with flashes by the pairs that are consistent with given maps."""

    def __init__(
        self, maps: Mapping[str, Map], events: Mapping[str, Instants], links: Links
    ) -> None:
        self.closures: tuple[Closure, ...] = closures_of(maps, events, links)
        """Of all matched pairs."""
        bad = {(c.source, c.target) for c in self.closures if c.is_contradicted}
        # The number of the flash of every event (-1: none), and a rough time of every flash.
        self.flash_of, self.flash_s = associate(maps, events, links.matches, bad)

    def n_unexplained(self, name: str) -> int:
        """Return the number of events of a source that belong to no flash."""
        return int(np.count_nonzero(self.flash_of[name] < 0))


def rematch(
    maps: dict[str, Map],
    events: Mapping[str, Instants],
    links: Links,
    root: str,
    max_offset_s: float,
) -> tuple[dict[str, Map], Associated]:
    """Return improved maps, if there are any, and the resulting flashes.

    `maps` are rough ones along the pairs, relative to `root`.
    """
    found = Associated(maps, events, links)
    for _ in range(N_ROUNDS):
        before = maps
        for name in sorted(events, key=lambda name: (-found.n_unexplained(name), name)):
            if found.n_unexplained(name) < MIN_UNEXPLAINED:
                break
            match = match_with_all(name, root, maps, events, max_offset_s)
            if match is None or match.why is not None or match.fit is None:
                continue
            clock = composed(Map(), match, is_source=True)
            clock = replace(clock, steps=tuple((s.at_s, s.size_s) for s in match.fit.steps))
            if name == root:
                if abs(clock.start_s) > MAX_REFERENCE_S:
                    continue
                clock = Map(steps=clock.steps)
            tried = {**maps, name: clock}
            better = Associated(tried, events, links)
            n_more = sum(found.n_unexplained(n) - better.n_unexplained(n) for n in events)
            if n_more >= MIN_UNEXPLAINED:
                maps, found = tried, better
        if maps is before:
            break
    return maps, found


def match_with_all(
    name: str,
    root: str,
    maps: Mapping[str, Map],
    events: Mapping[str, Instants],
    max_offset_s: float,
) -> EventMatch | None:
    """Match a source against the events of all others together, in reference time.

    The map of the source itself is ignored. None if fewer than two others have sharp instants.
    """
    sharp = {o: own.take(own.sharp) for o, own in events.items()}
    others = [o for o in maps if o != name and sharp[o].n]
    if len(others) < 2:
        return None
    times = np.concatenate([maps[o].of(sharp[o]) for o in others])
    order = np.argsort(times, kind="stable")
    std = np.concatenate([sharp[o].std_s for o in others])[order]
    sense = np.concatenate([sensed_beside(sharp[o], events[name]).senses for o in others])[order]
    times = times[order]
    first = np.concatenate([[True], np.diff(times) > SPLIT_S])
    owner = np.concatenate([np.full(sharp[o].n, k) for k, o in enumerate(others)])[order]
    group = np.cumsum(first) - 1
    n = int(first.sum())
    merged = Instants(
        source=root,
        epoch_ns=events[root].epoch_ns,
        times_s=times[first],
        std_s=std[first] + ATTACH_S / ATTACH_SIGMAS,
        half_s=np.zeros(n),
        row_px=np.zeros(n),
        item=np.arange(n, dtype=np.int64),
        sense=sense[first],
    )
    match = match_events(events[name], merged, max_offset_s=max_offset_s, check_periods=False)
    if match.fit is None or match.why is not None:
        return match
    lowest, highest = np.full(n, len(others)), np.full(n, -1)
    np.minimum.at(lowest, group, owner)
    np.maximum.at(highest, group, owner)
    # Ends count as well, and only flashes that several saw.
    flashes = replace(merged, sense=None)
    missed, _ = count_missed(events[name], flashes, match.fit, of_target=lowest < highest)
    return replace(match, why=missed.words(name)) if missed.exceeds() else match


def composed(parent: Map, match: EventMatch, *, is_source: bool) -> Map:
    """Return the map of the other side of a match (before any step).

    `parent` is the map of the known side; `is_source`: whether the other side is the source of the
    match.
    """
    fit = match.fit
    if fit is None:
        return parent
    rate = 1.0 + fit.drift
    start = fit.offset_s - fit.drift * fit.anchor_s
    if not is_source:
        rate, start = 1.0 / rate, -start / rate
    return Map(
        start_s=parent.start_s + parent.rate * start,
        rate=parent.rate * rate,
        corrections=fit.source if is_source else fit.target,
    )
