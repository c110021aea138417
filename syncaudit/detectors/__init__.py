"""What happened and when: stamps by themselves, rotation of pictures, motion, sound."""

from syncaudit.detectors.motion import detect_motion
from syncaudit.detectors.rotation import RotationDetector
from syncaudit.detectors.sound import find_clicks, find_loudness
from syncaudit.detectors.stamps import audit_stamps, audit_stream

__all__ = [
    "RotationDetector",
    "audit_stamps",
    "audit_stream",
    "detect_motion",
    "find_clicks",
    "find_loudness",
]
