"""Which sources are measured by the light pulses that they noticed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from syncaudit.estimators.events.flashes import METHOD, measure_flashes
from syncaudit.estimators.events.light_length import limit_light
from syncaudit.estimators.protocol import Estimator
from syncaudit.model import ClipEvidence, FlashEdges, FlashIntervals, PairMeasurement, Quantity

__all__ = ["LIGHT"]


def measure_light(
    evidence: ClipEvidence,
    known: Sequence[PairMeasurement],  # noqa: ARG001  # one signature
    max_offset_s: float,
) -> list[PairMeasurement]:
    """Measure the sources that noticed light pulses: the sharpest pairs that connect them.

    Which cameras see the same pulses is a matter of their phases, so all pairs are tried. More
    than a tree of them would count each camera's noise twice.
    """
    seen = limit_light([*evidence.triggers.values(), *evidence.flashes.values()])
    noticed = {item.source: item for item in seen}
    if not any(_is_by_camera(found) for found in evidence.flashes.values()):
        return []
    names = list(noticed)
    pairs = [
        measure_flashes(noticed[name], noticed[other], max_offset_s=max_offset_s)
        for k, name in enumerate(names)
        for other in names[:k]
    ]
    tree: list[PairMeasurement] = []
    group = {name: {name} for name in names}
    for pair in sorted(pairs, key=lambda pair: pair.offset_std_s or np.inf):
        if pair.accepted and group[pair.source] is not group[pair.target]:
            tree.append(pair)
            joined = group[pair.source] | group[pair.target]
            group.update(dict.fromkeys(joined, joined))
    # Of a source that stays alone, one refusal says why: of the pair that came nearest.
    for name in names:
        if len(group[name]) == 1 < len(names):
            own = [pair for pair in pairs if name in (pair.source, pair.target)]
            nearest = max(own, key=lambda pair: pair.nearness)
            tree += [] if nearest in tree else [nearest]
    return tree


LIGHT = Estimator(name="light", methods=(METHOD,), measure=measure_light)


def _is_by_camera(found: FlashEdges | FlashIntervals) -> bool:
    return isinstance(found, FlashEdges) or found.quantity is Quantity.FLASH
