"""Classify phones and words into broad kinds of sound, from IPA, ARPAbet or spelling."""

from syncaudit.speech.phonetics.spelling import Script, classes_of_spelling, look_up, script_of
from syncaudit.speech.phonetics.symbols import (
    TYPICAL_DURATION_S,
    Alphabet,
    PhoneClass,
    alphabet_of,
    bare_arpabet,
    classes_of_phone,
    is_silence,
)

__all__ = [
    "TYPICAL_DURATION_S",
    "Alphabet",
    "PhoneClass",
    "Script",
    "alphabet_of",
    "bare_arpabet",
    "classes_of_phone",
    "classes_of_spelling",
    "is_silence",
    "look_up",
    "script_of",
]
