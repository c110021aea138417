"""Find and drop stated line delays and exposures that the flashes contradict."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from syncaudit.estimators.events import EventEvidence
from syncaudit.estimators.events.flash_bands import (
    EDGE_SHIFT_PX,
    MAX_SHIFTS,
    MAX_STATED_Z,
    STATED_TOLERANCE,
)
from syncaudit.formatting import word_duration, word_measure
from syncaudit.model import FlashEdges
from syncaudit_calibration.box_reference import adjust_with_any_reference
from syncaudit_calibration.observations import Observations, free_stated

# A stated line delay or exposure can be contradicted if the flashes determine it this well.
KNOWN_SHARE = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Contradicted:
    """A stated value that the flashes contradict."""

    source: str  # camera
    kind: str  # ``line_delay`` or ``exposure``
    words: str  # message with the stated and the estimated value


def find_contradicted(observations: Observations) -> list[Contradicted]:
    """Return the stated line delays and exposures that the flashes contradict."""
    stated = [
        (k, unknown)
        for k, unknown in enumerate(observations.unknowns)
        if unknown.is_stated and unknown.kind in ("line_delay", "exposure")
    ]
    if not stated:
        return []
    freed = adjust_with_any_reference(free_stated(observations))
    contradicted = []
    for k, unknown in stated:
        found, std = freed.value_of(k)
        off = abs(found - unknown.assumed)
        limit = max(MAX_STATED_Z * std, STATED_TOLERANCE * unknown.assumed)
        if std >= KNOWN_SHARE * unknown.assumed or off <= limit:
            continue
        column = observations.column("line_delay", unknown.source)
        if column is not None:
            line_delay_s, line_delay_std_s = freed.value_of(column)
            # If the line delay is compatible with zero, all edges of a frame coincide in time, and
            # any value fits.
            if line_delay_s <= MAX_STATED_Z * line_delay_std_s:
                continue
            if unknown.kind == "exposure":  # encoders move the edges of bands apart
                shift_s = EDGE_SHIFT_PX * line_delay_s
                if off <= MAX_SHIFTS * shift_s:
                    continue
                std = math.hypot(std, shift_s)
        noun = unknown.kind.replace("_", " ")
        contradicted.append(
            Contradicted(
                source=unknown.source,
                kind=unknown.kind,
                words=f"the stated {noun} of {unknown.source} is "
                f"{word_duration(unknown.assumed)}, but the flashes show "
                f"{word_measure(found, std)}",
            )
        )
    return contradicted


def without_statement(item: EventEvidence, wrong: Sequence[Contradicted]) -> EventEvidence:
    """Return the evidence of a camera without its wrong statements."""
    kinds = {each.kind for each in wrong if each.source == item.source}
    if not kinds or not isinstance(item, FlashEdges):
        return item
    return replace(
        item,
        line_delay_s=None if "line_delay" in kinds else item.line_delay_s,
        exposure_s=None if "exposure" in kinds else item.exposure_s,
    )
