"""Say that flashes are too bright for a camera."""

from __future__ import annotations

from syncaudit.estimators.events import EventEvidence
from syncaudit.model import EventTrain

__all__ = ["word_clipping"]

# Share of the lit cells that may clip: more leaves too few for edges.
MAX_CLIPPED_SHARE = 0.25


def word_clipping(item: EventEvidence) -> str | None:
    """Return what is wrong and what to do, or None where little of the flashes' light clips."""
    if isinstance(item, EventTrain) or item.clipped_share <= MAX_CLIPPED_SHARE:
        return None
    return (
        f"the flash clips {100 * item.clipped_share:.0f} % of what it lights in the picture of "
        f"{item.source}: lower its exposure or gain, or dim the light"
    )
