"""Find the pairs of sources that share events."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from syncaudit.estimators.events import EventMatch, Instants, match_events

__all__ = ["Links", "groups_of", "match_all"]


@dataclass(slots=True, kw_only=True, eq=False)
class Links:
    """Accepted matches, reasons for rejecting others, and sources with a contradicted match."""

    matches: dict[tuple[str, str], EventMatch] = field(default_factory=dict)
    reasons: dict[tuple[str, str], str] = field(default_factory=dict)
    contradicted: set[str] = field(default_factory=set)


def match_all(events: Mapping[str, Instants], max_offset_s: float) -> Links:
    """Match every pair of sources.

    Parameters
    ----------
    events : mapping of str to Instants
        Non-periodic events of each source.
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
    """Return the groups of sources that are connected with each other."""
    group = {name: {name} for name in names}
    for one, other in links.matches:
        if group[one] is not group[other]:
            group[one] |= group[other]
            for name in group[other]:
                group[name] = group[one]
    unique = {id(members): sorted(members) for members in group.values()}
    return sorted(unique.values())
