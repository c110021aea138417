"""Which pairs of sources share events, and which clock stepped where pairs say that one did."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from syncaudit.estimators.events import EventMatch, Instants, match_events

__all__ = ["Links", "groups_of", "match_all", "steps_of"]


@dataclass(slots=True, kw_only=True, eq=False)
class Links:
    """Accepted matches between sources."""

    matches: dict[tuple[str, str], EventMatch] = field(default_factory=dict)
    reasons: dict[tuple[str, str], str] = field(default_factory=dict)


def match_all(events: Mapping[str, Instants], max_offset_s: float) -> Links:
    """Match every pair of sources.

    Parameters
    ----------
    events : mapping of str to Instants
        Of each source, not periodic.
    max_offset_s : float
        Search bound.
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
    return links


def groups_of(names: Sequence[str], links: Links) -> list[list[str]]:
    """Return the sources that are connected with each other, group by group."""
    group = {name: {name} for name in names}
    for one, other in links.matches:
        if group[one] is not group[other]:
            group[one] |= group[other]
            for name in group[other]:
                group[name] = group[one]
    unique = {id(members): sorted(members) for members in group.values()}
    return sorted(unique.values())


def steps_of(links: Links, root: str) -> dict[str, tuple[float, float]]:
    """Return who stepped: size of the change of its correction and its own time of it.

    A source that stepped shows it in all of its pairs; the one with most such pairs is blamed
    first, between two the one that is not the reference.
    """
    left = {
        pair: match
        for pair, match in links.matches.items()
        if match.fit is not None and math.isfinite(match.fit.step_at_s)
    }
    found: dict[str, tuple[float, float]] = {}
    while left:
        names = sorted({name for pair in left for name in pair})
        owner = max(
            names, key=lambda name: (sum(name in pair for pair in left), name != root, name)
        )
        own = {pair: match for pair, match in left.items() if owner in pair}
        pair, match = max(own.items(), key=lambda item: item[1].n)
        fit = match.fit
        if fit is not None:
            if owner == pair[0]:
                found[owner] = (fit.step_s, fit.step_at_s)
            else:
                at_s = fit.offset_s + fit.step_at_s + fit.drift * (fit.step_at_s - fit.anchor_s)
                found[owner] = (-fit.step_s, at_s)
        left = {pair: match for pair, match in left.items() if owner not in pair}
    return found
