"""Classify phones and words into broad kinds of sound, from IPA, ARPAbet or spelling."""

from syncaudit.speech.phonetics.classes import TYPICAL_DURATION_S, PhoneClass
from syncaudit.speech.phonetics.dictionary import look_up
from syncaudit.speech.phonetics.spelling import Script, classes_of_spelling, script_of
from syncaudit.speech.phonetics.symbols import (
    Alphabet,
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
