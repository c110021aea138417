"""Test whether pairs of sources agree with the path through other sources."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from syncaudit.estimators.events import Instants
from syncaudit_calibration.association import Map
from syncaudit_calibration.links import Links

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
