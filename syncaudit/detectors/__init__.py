"""What happened and when: stamps, rotation of pictures, flashes, motion, sound."""

from syncaudit.detectors.flash import FlashDetector
from syncaudit.detectors.frames.audit import PictureAuditor
from syncaudit.detectors.frames.motion import PictureMotionDetector
from syncaudit.detectors.motion import detect_motion
from syncaudit.detectors.rotation.detector import RotationDetector
from syncaudit.detectors.rotation.increment_choice import choose_increments
from syncaudit.detectors.sound import find_clicks, find_loudness
from syncaudit.detectors.speech.band_energy import find_band_energies
from syncaudit.detectors.speech.tier import find_spoken_tier, spoken_tier
from syncaudit.detectors.speech.tier_audit import audit_tier
from syncaudit.detectors.stamps.streams import audit_stamps, audit_stream, audit_streams
from syncaudit.detectors.state import find_state, why_no_state
from syncaudit.detectors.strobe import find_strobe, find_triggers
from syncaudit.detectors.taps import find_taps

__all__ = [
    "FlashDetector",
    "PictureAuditor",
    "PictureMotionDetector",
    "RotationDetector",
    "audit_stamps",
    "audit_stream",
    "audit_streams",
    "audit_tier",
    "choose_increments",
    "detect_motion",
    "find_band_energies",
    "find_clicks",
    "find_loudness",
    "find_spoken_tier",
    "find_state",
    "find_strobe",
    "find_taps",
    "find_triggers",
    "spoken_tier",
    "why_no_state",
]
