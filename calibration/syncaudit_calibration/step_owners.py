"""Determine whose clock stepped, given the steps found in pairs of sources."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from syncaudit.estimators.events import EventMatch, OffsetStep, PairFit
from syncaudit_calibration.closures import Links

# A step of one clock has the same size in all of its pairs, to this fraction of it plus this time.
SIZE_SHARE = 0.01
SIZE_FLOOR_S = 5e-4
# Minimum number of flashes before and after a step for a pair to contradict it.
MIN_AGAINST = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class _Claim:
    """A pair's step attributed to one source: in its own time, as a change of its correction."""

    source: str
    pair: tuple[str, str]
    nth: int
    after_s: float
    before_s: float
    size_s: float

    def is_same_as(self, other: _Claim) -> bool:
        """Return whether both may be the same step of the same clock."""
        apart_s = abs(self.size_s - other.size_s)
        return (
            self.source == other.source
            and self.after_s <= other.before_s
            and other.after_s <= self.before_s
            and apart_s <= SIZE_FLOOR_S + SIZE_SHARE * abs(self.size_s)
        )

    def is_where(self, other: _Claim) -> bool:
        """Return whether the two may be at the same time, with no event between them."""
        return self.after_s < other.before_s and other.after_s < self.before_s


def steps_of(links: Links, root: str) -> dict[str, tuple[tuple[float, float], ...]]:
    """Return the steps of each source: own times, in order, and changes of its correction.

    A step of a source appears in all of its pairs that saw flashes before and after. The step that
    most pairs agree on, minus those that contradict it, is assigned first; between two sources, it
    is assigned to the one that is not the reference. If a source is already known to have stepped
    at a place, a pair with another size there does not indicate a second step: two steps at one
    place are indistinguishable.
    """
    claims = [
        claim
        for (one, other), match in links.matches.items()
        if match.fit is not None
        for nth, step in enumerate(match.fit.steps)
        for claim in _claims(one, other, nth, step, match.fit)
    ]
    found: dict[str, list[_Claim]] = {}
    while claims:
        same = {claim: [other for other in claims if claim.is_same_as(other)] for claim in claims}
        owner = max(
            claims,
            key=lambda claim: (
                len(same[claim]) - _n_against(claim, same[claim], links),
                claim.source != root,
                claim.source,
            ),
        )
        group = same[owner]
        step = replace(
            owner,
            after_s=max(c.after_s for c in group),
            before_s=min(c.before_s for c in group),
            size_s=float(np.median([c.size_s for c in group])),
        )
        known = found.setdefault(owner.source, [])
        if not any(step.is_where(other) for other in known):
            known.append(step)
        done = {(c.pair, c.nth) for c in group}
        claims = [claim for claim in claims if (claim.pair, claim.nth) not in done]
    return {
        name: tuple(sorted((0.5 * (s.after_s + s.before_s), s.size_s) for s in steps))
        for name, steps in found.items()
    }


def unseen_s(match: EventMatch, steps: Sequence[tuple[float, float]], *, is_source: bool) -> float:
    """Return the sum of the unnoticed steps that came before most events of a pair.

    Such a pair shows the clock as it was after these steps.

    `steps` are the own times and sizes of those of one of its sources; `is_source`: whether that is
    the source of the match.
    """
    if match.fit is None:
        return 0.0
    names = (match.source.source, match.target.source)
    own_s = match.source.times_s[match.i] if is_source else match.target.times_s[match.j]
    noticed = [
        _claims(*names, nth, step, match.fit)[0 if is_source else 1]
        for nth, step in enumerate(match.fit.steps)
    ]
    return sum(
        size_s
        for at_s, size_s in steps
        if float(np.median(own_s)) >= at_s
        and not any(claim.after_s <= at_s <= claim.before_s for claim in noticed)
    )


def _n_against(claim: _Claim, same: list[_Claim], links: Links) -> int:
    """Return the number of pairs of the source that contradict its step."""
    agreeing = {other.pair for other in same}
    n = 0
    for (one, other), match in links.matches.items():
        if claim.source not in (one, other) or (one, other) in agreeing:
            continue
        own_s = (
            match.source.times_s[match.i] if claim.source == one else match.target.times_s[match.j]
        )
        n_before = int(np.count_nonzero(own_s <= claim.after_s))
        n_after = int(np.count_nonzero(own_s >= claim.before_s))
        n += min(n_before, n_after) >= MIN_AGAINST
    return n


def _claims(
    one: str, other: str, nth: int, step: OffsetStep, fit: PairFit
) -> tuple[_Claim, _Claim]:
    """Attribute a pair's step to the source, and to the target."""
    after_s, before_s = fit.predict(np.array([step.after_s, step.before_s])).tolist()
    if before_s < after_s:  # set back by more than the time between the two events
        after_s, before_s = before_s, after_s
    own = _Claim(
        source=one,
        pair=(one, other),
        nth=nth,
        after_s=step.after_s,
        before_s=step.before_s,
        size_s=step.size_s,
    )
    theirs = replace(own, source=other, after_s=after_s, before_s=before_s, size_s=-step.size_s)
    return own, theirs
