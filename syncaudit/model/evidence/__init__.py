"""What happened and when: dense activity, increments from frame to frame and event trains."""

from syncaudit.model.evidence.activity import Activity, EventTrain, Quantity
from syncaudit.model.evidence.flashes import FlashEdges, FlashIntervals
from syncaudit.model.evidence.increments import PictureMotion, RotationIncrements

__all__ = [
    "Activity",
    "EventTrain",
    "Evidence",
    "FlashEdges",
    "FlashIntervals",
    "PictureMotion",
    "Quantity",
    "RotationIncrements",
]

Evidence = Activity | RotationIncrements | PictureMotion | EventTrain | FlashEdges | FlashIntervals
