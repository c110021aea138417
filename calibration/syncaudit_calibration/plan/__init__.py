"""Plan a flash calibration: the pulse train, its visibility to cameras, the expected accuracy."""

from syncaudit_calibration.plan.accuracy import Accuracy, expected_accuracy
from syncaudit_calibration.plan.cameras import PlannedCamera, planned_cameras
from syncaudit_calibration.plan.lights import LightKind
from syncaudit_calibration.plan.outline import Plan, advice, plan_of, safety_note
from syncaudit_calibration.plan.pulse_train import PulseTrain
from syncaudit_calibration.plan.train import choose_train
from syncaudit_calibration.plan.visibility import visibility

__all__ = [
    "Accuracy",
    "LightKind",
    "Plan",
    "PlannedCamera",
    "PulseTrain",
    "advice",
    "choose_train",
    "expected_accuracy",
    "plan_of",
    "planned_cameras",
    "safety_note",
    "visibility",
]
