"""Report flashes that are too bright for a camera."""

from __future__ import annotations

from syncaudit.estimators.events import EventEvidence
from syncaudit.model import EventTrain

# Fraction of the lit cells that may clip: with more, too few remain to fit edges.
MAX_CLIPPED_SHARE = 0.25


def word_clipping(item: EventEvidence) -> str | None:
    """Describe the problem and its cure, or return None if little of the flashes' light clips."""
    if isinstance(item, EventTrain) or item.clipped_share <= MAX_CLIPPED_SHARE:
        return None
    return (
        f"the flash clips {100 * item.clipped_share:.0f} % of what it lights in the image of "
        f"{item.source}: lower its exposure or gain, or dim the light"
    )
