"""Test whether the pairs of sources that share events agree with the path through others."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from syncaudit.estimators.events import EventMatch, Instants, match_events
from syncaudit.estimators.events.missed import count_missed, why_contradicted
from syncaudit.model.arrays import Bools
from syncaudit_calibration.association import Map

# A loop is contradicted if its closure exceeds both this many sigmas and this time.
MAX_CLOSURE_Z = 6.0
CLOSURE_FLOOR_S = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class Closure:
    """How well a pair agrees with the path through other sources."""

    source: str
    target: str
    closure_s: float
    closure_std_s: float

    @property
    def is_contradicted(self) -> bool:
        """Return whether the loop does not close."""
        limit_s = max(MAX_CLOSURE_Z * self.closure_std_s, CLOSURE_FLOOR_S)
        return abs(self.closure_s) > limit_s


def closures_of(
    maps: Mapping[str, Map], events: Mapping[str, Instants], links: Links
) -> tuple[Closure, ...]:
    """Compare every matched pair with the maps; pairs in the tree close by construction."""
    closures = []
    for (one, other), match in sorted(links.matches.items()):
        if one not in maps or other not in maps or match.fit is None:
            continue
        a, b = events[one], events[other]
        off = maps[one].of(a)[match.i] - maps[other].of(b)[match.j]
        # Line delays and exposures that the pair cannot determine widen the closure error; the
        # bundle will estimate them.
        spread = 0.0 if a.knows_timing and b.knows_timing else float(np.ptp(off))
        middle = 0.5 * (float(np.max(a.half_s)) + float(np.max(b.half_s))) / math.sqrt(match.n)
        closures.append(
            Closure(
                source=one,
                target=other,
                closure_s=float(np.median(off)),
                closure_std_s=match.fit.offset_std_s + spread + middle,
            )
        )
    return tuple(closures)


@dataclass(slots=True, kw_only=True, eq=False)
class Links:
    """Accepted matches, reasons for rejecting others, and sources with a contradicted match."""

    matches: dict[tuple[str, str], EventMatch] = field(default_factory=dict)
    reasons: dict[tuple[str, str], str] = field(default_factory=dict)
    contradicted: set[str] = field(default_factory=set)


def match_all(events: Mapping[str, Instants], max_offset_s: float) -> Links:
    """Match every pair of sources, and reject matches under which a camera misses flashes.

    `events` are the non-periodic ones of each source.
    """
    links = Links()
    for one, other in itertools.combinations(sorted(events), 2):
        match = match_events(
            events[one], events[other], max_offset_s=max_offset_s, check_periods=False
        )
        if match.why is None:
            links.matches[one, other] = match
        else:
            links.reasons[one, other] = match.why
    _drop_contradicted(events, links)
    return links


def groups_of(names: Sequence[str], links: Links) -> list[list[str]]:
    """Return the groups of sources that are connected with each other."""
    group = {name: {name} for name in names}
    for one, other in links.matches:
        if group[one] is not group[other]:
            group[one] |= group[other]
            for name in group[other]:
                group[name] = group[one]
    unique = {id(members): sorted(members) for members in group.values()}
    return sorted(unique.values())


def _drop_contradicted(events: Mapping[str, Instants], links: Links) -> None:
    """Remove matches under which a camera would miss too many flashes.

    A match that is off by one pulse of a burst, because two cameras never see the same pulse, pairs
    most of their events and passes every significance test. But it puts flashes into the full view
    of a camera that shows none there, scattered over the recording. A flash is certain where a
    third source shows it as well; others count if both sources of a match miss some of them.
    """
    confirmed: dict[str, dict[str, Bools]] = {name: {} for name in events}
    for (one, other), match in links.matches.items():
        for name, peer, index in ((one, other, match.i), (other, one, match.j)):
            mask = np.zeros(events[name].n, dtype=np.bool_)
            mask[index] = True
            confirmed[name][peer] = mask
    for pair, match in list(links.matches.items()):
        if match.fit is None:
            continue
        source, target = (events[name] for name in pair)
        of_source, of_target = (
            np.any([np.zeros(events[name].n, np.bool_), *_by_third(confirmed[name], pair)], axis=0)
            for name in pair
        )
        certain = count_missed(source, target, match.fit, of_source=of_source, of_target=of_target)
        why = next(
            (own.words(name) for name, own in zip(pair, certain, strict=True) if own.exceeds()),
            why_contradicted(source, target, match.fit),
        )
        if why is not None:
            links.matches.pop(pair)
            links.reasons[pair] = why
            links.contradicted |= set(pair)


def _by_third(masks: Mapping[str, Bools], pair: tuple[str, str]) -> list[Bools]:
    """Return which events sources other than the pair confirm."""
    return [mask for third, mask in masks.items() if third not in pair]
