"""What happened and when: dense activity, increments from frame to frame and event trains."""

from syncaudit.model.evidence.activity import (
    Activity,
    EventTrain,
    ImageMotion,
    Quantity,
    RotationIncrements,
)
from syncaudit.model.evidence.flashes import UNSEEN_RISE_PART, FlashEdges, FlashIntervals

__all__ = [
    "UNSEEN_RISE_PART",
    "Activity",
    "EventTrain",
    "Evidence",
    "FlashEdges",
    "FlashIntervals",
    "ImageMotion",
    "Quantity",
    "RotationIncrements",
]

Evidence = Activity | RotationIncrements | ImageMotion | EventTrain | FlashEdges | FlashIntervals
