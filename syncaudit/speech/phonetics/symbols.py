"""Recognise the alphabet of phone labels (IPA, ARPAbet) and classify each label."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType


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


_BY_CLASS: Mapping[tuple[PhoneClass, ...], str] = MappingProxyType(
    {
        (PhoneClass.VOWEL,): (
            "aa ae ah ao aw ax axh axr ay eh er ey ih ix iy ow oy uh uw ux oh ia ea ua"
        ),
        (PhoneClass.NASAL,): "m n ng em en eng nx",
        (PhoneClass.APPROXIMANT,): "l r w y el wh dx",
        (PhoneClass.SIBILANT,): "s z sh zh",
        (PhoneClass.FRICATIVE,): "f v th dh hh hv h",
        (PhoneClass.CLOSURE, PhoneClass.PLOSIVE): "p t k b d g",
        (PhoneClass.CLOSURE, PhoneClass.SIBILANT): "ch jh",
        (PhoneClass.CLOSURE,): "q bcl dcl gcl pcl tcl kcl",
    }
)
ARPABET: Mapping[str, tuple[PhoneClass, ...]] = MappingProxyType(
    {symbol: classes for classes, symbols in _BY_CLASS.items() for symbol in symbols.split()}
)
# Letters of the chart of the International Phonetic Association (2020), by manner; obsolete and
# ASCII spellings of the same letters are listed with them. A glottal stop has no burst.
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
# Precomposed letters that must not be decomposed into letter and diacritic.
_WHOLE = ("ç", "š", "ž", "č", "ǰ")
_SPLIT_PLOSIVE = (PhoneClass.CLOSURE, PhoneClass.PLOSIVE)
_SILENCE = frozenset(
    {"", "sil", "sp", "pau", "pause", "epi", "h#", "#", "##", "_", "-", "<eps>", "<sil>", "<p:>"}
    | {"<p>", "<s>", "</s>", "...", "…", "{sl}", "[sil]", "(.)", "silence", "[silence]", "ssil"}
)
# Somebody spoke, but the words are not transcribed.
_SPOKEN = frozenset({"spn", "<unk>", "<oov>", "unk", "[unk]", "xxx", "yyy", "[oov]", "<spoken>"})


def classes_of_arpabet(symbol: str) -> tuple[PhoneClass, ...] | None:
    """Return the classes of a phone in order, None if ARPAbet has no such symbol.

    Case, stress, and the position suffix of some recognisers are ignored.
    """
    return ARPABET.get(bare_arpabet(symbol))


def bare_arpabet(symbol: str) -> str:
    """Return a symbol in lower case without stress (``AH0``) and position (``AA_B``)."""
    bare = symbol.strip().lower()
    if bare[-2:] in ("_b", "_e", "_i", "_s"):
        bare = bare[:-2]
    return bare.rstrip("012")


class Alphabet(StrEnum):
    """How phones are written."""

    IPA = "IPA"
    ARPABET = "ARPAbet"


def is_silence(label: str) -> bool:
    """Return whether a label marks silence."""
    return label.strip().lower() in _SILENCE


def alphabet_of(labels: Iterable[str]) -> tuple[Alphabet, float]:
    """Return the alphabet that contains most of the labels, and their share.

    Silences do not count. If no label counts, the share is 0.

    `labels`: labels of a tier, including repetitions.
    """
    spoken = [label for label in labels if not is_silence(label) and not _is_spoken(label)]
    if not spoken:
        return Alphabet.IPA, 0.0
    known = {alphabet: [_classes(label, alphabet) for label in spoken] for alphabet in Alphabet}
    count = {
        alphabet: sum(classes is not None for classes in found) for alphabet, found in known.items()
    }
    is_upper = any(label != label.lower() for label in spoken)
    best = Alphabet.IPA
    if count[Alphabet.ARPABET] > count[best] or (
        count[Alphabet.ARPABET] == count[best] and is_upper
    ):
        best = Alphabet.ARPABET
    return best, count[best] / len(spoken)


def classes_of_phone(label: str, alphabet: Alphabet) -> tuple[PhoneClass, ...] | None:
    """Return the classes of a phone label in order; None if the alphabet has no such phone.

    `label`: as in a tier; silences and "spoken noise" are known in every alphabet.
    `alphabet`: from `alphabet_of`.
    """
    if is_silence(label):
        return (PhoneClass.SILENCE,)
    return (PhoneClass.SPEECH,) if _is_spoken(label) else _classes(label, alphabet)


def _is_spoken(label: str) -> bool:
    return label.strip().lower() in _SPOKEN


def _classes(label: str, alphabet: Alphabet) -> tuple[PhoneClass, ...] | None:
    of = classes_of_arpabet if alphabet is Alphabet.ARPABET else _classes_of_ipa
    return of(label)


def _classes_of_ipa(symbol: str) -> tuple[PhoneClass, ...] | None:
    """Return the classes of one phone in order, None if it is not a known phone.

    Stress, length, tone, tie bars, superscripts and diacritics are removed. A plosive is a
    closure and a burst, an affricate (``tʃ``, ``t͡ʃ``, ``ʧ``) a closure and its hiss, a diphthong
    (``aɪ``, ``aj``) a vowel, a geminate (``tt``) the phone that it doubles.

    `symbol`: one phone, not a transcribed word.
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
