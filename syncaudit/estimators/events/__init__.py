"""Match flashes, strobes, triggers and clicks between sources, and compare their clocks."""

from syncaudit.estimators.events.exposures import (
    allow_for_rise,
    settle_exposures,
    states_nothing,
)
from syncaudit.estimators.events.flash_bands import (
    are_equally_high,
    band_height_px,
    why_bands_contradict,
)
from syncaudit.estimators.events.flashes import (
    MESSAGE_STD_S,
    measure_flashes,
    sent_at_flashes,
)
from syncaudit.estimators.events.instants import (
    Corrections,
    EventEvidence,
    Instants,
    instants_of,
    is_by_camera,
    sensed_beside,
)
from syncaudit.estimators.events.light_length import find_light_length, limit_light, shortened
from syncaudit.estimators.events.matching import match_events, period_of
from syncaudit.estimators.events.pair_fit import EventMatch, OffsetStep, PairFit
from syncaudit.estimators.events.scans import (
    Scans,
    find_scans,
    without_ends,
    word_scans,
    word_undecided_scan,
)

__all__ = [
    "MESSAGE_STD_S",
    "Corrections",
    "EventEvidence",
    "EventMatch",
    "Instants",
    "OffsetStep",
    "PairFit",
    "Scans",
    "allow_for_rise",
    "are_equally_high",
    "band_height_px",
    "find_light_length",
    "find_scans",
    "instants_of",
    "is_by_camera",
    "limit_light",
    "match_events",
    "measure_flashes",
    "period_of",
    "sensed_beside",
    "sent_at_flashes",
    "settle_exposures",
    "shortened",
    "states_nothing",
    "why_bands_contradict",
    "without_ends",
    "word_scans",
    "word_undecided_scan",
]
