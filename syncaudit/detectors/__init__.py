"""Detect what happened and when: timestamps, camera rotation, flashes, motion, sound.

Outside packages add a `Detector` through the entry-point group ``syncaudit.detectors``, in the
same way as estimators (`syncaudit.estimators`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from syncaudit.detectors.flash.detector import FlashDetector
from syncaudit.detectors.frames.audit import ImageAuditor
from syncaudit.detectors.frames.motion import ImageMotionDetector
from syncaudit.detectors.rotation.detector import RotationDetector, choose_increments
from syncaudit.detectors.signals import (
    detect_motion,
    find_state,
    find_strobe,
    find_triggers,
    why_no_state,
)
from syncaudit.detectors.sound import find_clicks, find_loudness
from syncaudit.detectors.speech import audit_tier, find_band_energies, find_spoken_tier, spoken_tier
from syncaudit.detectors.stamps.jumps import shows_jump
from syncaudit.detectors.stamps.streams import audit_streams
from syncaudit.detectors.taps import find_taps
from syncaudit.model import AudioStream, EventStream, SignalStream, Stream
from syncaudit.plugins import DETECTORS, with_added

__all__ = [
    "Detector",
    "FlashDetector",
    "ImageAuditor",
    "ImageMotionDetector",
    "RotationDetector",
    "all_detectors",
    "audit_streams",
    "audit_tier",
    "choose_increments",
    "detect_motion",
    "find_band_energies",
    "find_spoken_tier",
    "find_state",
    "shows_jump",
    "spoken_tier",
    "why_no_state",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Detector:
    """One way to find evidence in the samples of a stream (frames have their own pass).

    Parameters
    ----------
    name : str
        Unique among all detectors.
    takes : type
        Type of the streams it accepts.
    fills : str
        Field of `syncaudit.model.ClipEvidence` that holds its results, by source.
    find : callable
        Takes a stream and returns evidence, or None if there is none. It never raises because of
        a stream's content.
    """

    name: str
    takes: type[Stream]
    fills: str
    find: Callable[[Any], object | None]


_BUILT_IN = (
    Detector(name="strobe", takes=SignalStream, fills="flashes", find=find_strobe),
    Detector(name="taps", takes=SignalStream, fills="taps", find=find_taps),
    Detector(name="triggers", takes=EventStream, fills="triggers", find=find_triggers),
    Detector(name="loudness", takes=AudioStream, fills="loudness", find=find_loudness),
    Detector(name="clicks", takes=AudioStream, fills="clicks", find=find_clicks),
)


@cache
def all_detectors() -> tuple[Detector, ...]:
    """Return every detector that works on samples, built-in ones first.

    UsageError if a detector of another package cannot be imported, or is not a `Detector`.
    """
    return with_added(_BUILT_IN, DETECTORS)
