"""Broad classes of speech sounds, coarse enough to be the same in every language."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

__all__ = ["TYPICAL_DURATION_S", "PhoneClass"]


class PhoneClass(StrEnum):
    """Manner of a sound, as far as band energies distinguish it."""

    VOWEL = "vowel"
    NASAL = "nasal"
    APPROXIMANT = "approximant"  # glides, laterals, taps, trills
    SIBILANT = "sibilant"
    FRICATIVE = "fricative"  # all weak fricatives, and h
    PLOSIVE = "plosive"  # the burst alone
    CLOSURE = "closure"  # the silence before a burst
    SILENCE = "silence"
    SPEECH = "speech"  # speech, otherwise unspecified


# Typical durations in read speech, rounded: only their ratios matter, they are scaled to the word.
TYPICAL_DURATION_S: Mapping[PhoneClass, float] = MappingProxyType(
    {
        PhoneClass.VOWEL: 0.090,
        PhoneClass.NASAL: 0.060,
        PhoneClass.APPROXIMANT: 0.055,
        PhoneClass.SIBILANT: 0.095,
        PhoneClass.FRICATIVE: 0.065,
        PhoneClass.PLOSIVE: 0.030,
        PhoneClass.CLOSURE: 0.050,
        PhoneClass.SILENCE: 0.100,
        PhoneClass.SPEECH: 0.070,
    }
)
