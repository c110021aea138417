"""The International Phonetic Alphabet, with the extensions of the Montreal Forced Aligner."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from types import MappingProxyType

from syncaudit.phonetics.classes import PhoneClass

__all__ = ["classes_of_ipa"]

# Letters of the chart of the International Phonetic Association (2020), by manner; old and
# ASCII spellings of the same letters stand beside them. A glottal stop has no burst.
_LETTERS: Mapping[PhoneClass, str] = MappingProxyType(
    {
        PhoneClass.VOWEL: "iyɨʉɯuɪʏʊeøɘɵɤoəɛœɜɞʌɔæɐaɶɑɒɚɝᵻᵿ",
        PhoneClass.NASAL: "mɱnɳɲŋɴȵ",
        PhoneClass.APPROXIMANT: "ʋɹɻjɰwʍɥlɭʎʟɫrʀʙɾɽⱱɺȴ",
        PhoneClass.SIBILANT: "szʃʒʂʐɕʑɧšžſ",
        PhoneClass.FRICATIVE: "ɸβfvθðçʝxɣχʁħʕhɦʜʢɬɮ",
        PhoneClass.PLOSIVE: "pbtdʈɖcɟkgɡqɢʡȶȡɓɗʄɠʛʘǀǃǂǁ",
        PhoneClass.CLOSURE: "ʔ",
    }
)
_CLASS: Mapping[str, PhoneClass] = MappingProxyType(
    {letter: manner for manner, letters in _LETTERS.items() for letter in letters}
)
_AFFRICATES = "ʦʣʧʤʨʥčǰ"
# Composed letters that must not fall apart into letter and diacritic.
_WHOLE = ("ç", "š", "ž", "č", "ǰ")

_SPLIT_PLOSIVE = (PhoneClass.CLOSURE, PhoneClass.PLOSIVE)


def classes_of_ipa(symbol: str) -> tuple[PhoneClass, ...] | None:
    """Return the classes of one phone in order, None where it is no phone that is known.

    Stress, length, tone, tie bars, superscripts and diacritics are taken off. A plosive is a
    closure and a burst, an affricate (``tʃ``, ``t͡ʃ``, ``ʧ``) a closure and its hiss, a diphthong
    (``aɪ``, ``aj``) a vowel, a geminate (``tt``) what it doubles.

    Parameters
    ----------
    symbol : str
        One phone, not a transcribed word.
    """
    letters = _letters(symbol)
    if not letters:
        return None
    if len(letters) == 1 and letters in _AFFRICATES:
        return (PhoneClass.CLOSURE, PhoneClass.SIBILANT)
    manners = [_CLASS.get(letter) for letter in letters]
    if None in manners or len(letters) > 4:
        return None
    first, rest = manners[0], set(manners[1:])
    if not rest or rest == {first}:
        if first is PhoneClass.PLOSIVE:
            return _SPLIT_PLOSIVE
        return None if first is None else (first,)
    if first is PhoneClass.VOWEL and rest <= {PhoneClass.VOWEL, PhoneClass.APPROXIMANT}:
        return (PhoneClass.VOWEL,)
    if first is PhoneClass.PLOSIVE and manners[-1] is PhoneClass.SIBILANT:
        return (PhoneClass.CLOSURE, PhoneClass.SIBILANT)
    if first is PhoneClass.PLOSIVE and manners[-1] is PhoneClass.FRICATIVE:
        return (PhoneClass.CLOSURE, PhoneClass.FRICATIVE)
    if first is PhoneClass.NASAL and manners[-1] is PhoneClass.PLOSIVE:
        return (PhoneClass.NASAL, PhoneClass.PLOSIVE)
    if first is PhoneClass.APPROXIMANT and rest == {PhoneClass.VOWEL}:
        return (PhoneClass.APPROXIMANT, PhoneClass.VOWEL)
    return None


def _letters(symbol: str) -> str:
    """Return the base letters of a symbol."""
    composed = unicodedata.normalize("NFC", symbol.strip())
    kept: list[str] = []
    for character in composed:
        plain = character
        if character not in _WHOLE:
            plain = unicodedata.normalize("NFD", character)
        kept += [
            letter
            for letter in plain
            if letter in _CLASS
            or unicodedata.category(letter) not in ("Mn", "Lm", "Sk", "Nd", "No", "Pd")
        ]
    return "".join(kept).translate({ord(mark): None for mark in ":'\"`~^.|·"})
