"""Classify phones and words into broad kinds of sound, from IPA, ARPAbet or spelling.

The alphabet of phone labels is recognised from the labels; the sounds of a word are looked up in a
dictionary, or guessed from its letters.
"""

from __future__ import annotations

import importlib.util
import string
import unicodedata
from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum
from pathlib import Path

_AFFRICATES = "ʦʣʧʤʨʥčǰ"
# Precomposed letters that must not be decomposed into letter and diacritic.
_WHOLE = ("ç", "š", "ž", "č", "ǰ")
_SILENCE = frozenset(
    {"", "sil", "sp", "pau", "pause", "epi", "h#", "#", "##", "_", "-", "<eps>", "<sil>", "<p:>"}
    | {"<p>", "<s>", "</s>", "...", "…", "{sl}", "[sil]", "(.)", "silence", "[silence]", "ssil"}
)
# Somebody spoke, but the words are not transcribed.
_SPOKEN = frozenset({"spn", "<unk>", "<oov>", "unk", "[unk]", "xxx", "yyy", "[oov]", "<spoken>"})

# Precomposed letters that sound different from their base letter.
_COMPOSED: Mapping[str, str] = {
    "ç": "s",
    "š": "s",
    "ś": "s",
    "ş": "s",
    "č": "ch",
    "ć": "ch",
    "ž": "z",
    "ż": "z",
    "ź": "z",
}
_MARKS = string.punctuation.replace("'", "") + "“”‘’„«»…–—¿¡"


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
TYPICAL_DURATION_S: Mapping[PhoneClass, float] = {
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
_BY_CLASS: Mapping[tuple[PhoneClass, ...], str] = {
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
_ARPABET: Mapping[str, tuple[PhoneClass, ...]] = {
    symbol: classes for classes, symbols in _BY_CLASS.items() for symbol in symbols.split()
}
# Letters of the chart of the International Phonetic Association (2020), by manner; obsolete and
# ASCII spellings of the same letters are listed with them. A glottal stop has no burst.
_CLASS_OF_IPA: Mapping[PhoneClass, str] = {
    PhoneClass.VOWEL: "iyɨʉɯuɪʏʊeøɘɵɤoəɛœɜɞʌɔæɐaɶɑɒɚɝᵻᵿ",
    PhoneClass.NASAL: "mɱnɳɲŋɴȵ",
    PhoneClass.APPROXIMANT: "ʋɹɻjɰwʍɥlɭʎʟɫrʀʙɾɽⱱɺȴ",
    PhoneClass.SIBILANT: "szʃʒʂʐɕʑɧšžſ",
    PhoneClass.FRICATIVE: "ɸβfvθðçʝxɣχʁħʕhɦʜʢɬɮ",
    PhoneClass.PLOSIVE: "pbtdʈɖcɟkgɡqɢʡȶȡɓɗʄɠʛʘǀǃǂǁ",
    PhoneClass.CLOSURE: "ʔ",
}
_CLASS: Mapping[str, PhoneClass] = {
    letter: manner for manner, letters in _CLASS_OF_IPA.items() for letter in letters
}
_SPLIT_PLOSIVE = (PhoneClass.CLOSURE, PhoneClass.PLOSIVE)


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
    if alphabet is Alphabet.ARPABET:
        return _ARPABET.get(bare_arpabet(label))
    return _classes_of_ipa(label)


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


_V, _N, _A = PhoneClass.VOWEL, PhoneClass.NASAL, PhoneClass.APPROXIMANT


_S, _F = PhoneClass.SIBILANT, PhoneClass.FRICATIVE


_P = (PhoneClass.CLOSURE, PhoneClass.PLOSIVE)
_C = (PhoneClass.CLOSURE, PhoneClass.SIBILANT)


# Groups first. Letters that languages read differently (``ch``, ``j``, ``c``) get the most common
# reading; a wrong guess costs a little contrast but causes no bias.
_CLASSES_OF_GROUP: Mapping[str, tuple[PhoneClass, ...]] = {
    **dict.fromkeys(("tsch", "tch", "ch", "cz", "dz", "dg"), _C),
    **dict.fromkeys(("sch", "sh", "sz"), (_S,)),
    **dict.fromkeys(("th", "ph"), (_F,)),
    **dict.fromkeys(("ng", "gn"), (_N,)),
    **dict.fromkeys(("ce", "ci", "cy"), (_S, _V)),
    "gh": (),
    "ck": _P,
    "qu": (*_P, _A),
    "x": (*_P, _S),
}
_CLASSES_OF_LETTER: Mapping[str, tuple[PhoneClass, ...]] = {
    **dict.fromkeys("aeiouyæœøıə", (_V,)),
    **dict.fromkeys("mnŋ", (_N,)),
    **dict.fromkeys("lrwł", (_A,)),
    **dict.fromkeys("szß", (_S,)),
    **dict.fromkeys("fvhþð", (_F,)),
    **dict.fromkeys("bcdgkpqtđħ", _P),
    "j": (_A,),
}


def is_latin(words: Iterable[str]) -> bool:
    """Return whether most letters of the words are Latin."""
    n_latin = n_letters = 0
    for character in "".join(words):
        if character.isalpha():
            n_letters += 1
            n_latin += unicodedata.name(character, "").startswith("LATIN")
    return 2 * n_latin > n_letters


def classes_of_spelling(word: str) -> tuple[PhoneClass, ...]:
    """Return rough classes of the sounds of a word in Latin script, in order.

    Letter rules that hold about equally well in the languages of Europe; they need neither a
    dictionary nor the language. Doubled letters are one sound, consecutive vowels one vowel, a
    final ``e`` after vowel and consonant is silent. Characters of other scripts and digits are
    `PhoneClass.SPEECH`.

    Punctuation and apostrophes are ignored.
    """
    letters = _plain(word)
    classes: list[PhoneClass] = []
    k = 0
    while k < len(letters):
        if k and letters[k] == letters[k - 1]:
            k += 1
            continue
        length, found = _sound(letters, k)
        if not (found and classes and found[0] is classes[-1] is _V):
            classes += found
        elif len(found) > 1:
            classes += found[1:]
        k += length
    is_mute = letters.endswith("e") and classes[-1:] == [_V] and classes.count(_V) > 1
    return tuple(classes[:-1] if is_mute else classes)


def _sound(letters: str, k: int) -> tuple[int, tuple[PhoneClass, ...]]:
    """Return how many letters from `k` on form one sound, and its classes."""
    if letters[k] == "y" and letters[k + 1 : k + 2] in tuple("aeiou"):
        return 1, (_A,)
    for length in (4, 3, 2, 1):
        group = letters[k : k + length]
        if len(group) == length and group in _CLASSES_OF_GROUP:
            return length, _CLASSES_OF_GROUP[group]
    return 1, _CLASSES_OF_LETTER.get(letters[k], (PhoneClass.SPEECH,))


def _plain(word: str) -> str:
    """Return letters and digits in lower case without accents."""
    kept: list[str] = []
    for character in unicodedata.normalize("NFC", word.lower()):
        whole = _COMPOSED.get(character)
        if whole is not None:
            kept.append(whole)
            continue
        kept += [c for c in unicodedata.normalize("NFD", character) if c.isalnum()]
    return "".join(kept)


def look_up(words: Collection[str]) -> dict[str, tuple[PhoneClass, ...]]:
    """Return the classes of the words that the dictionary contains, by word as given.

    Empty without pocketsphinx, whose wheel includes the CMU dictionary.

    `words`: in any case, with or without punctuation around them.
    """
    path = _dictionary_path()
    if path is None:
        return {}
    wanted: dict[str, list[str]] = {}
    for word in set(words):
        plain = word.strip().lower().replace("’", "'").strip(_MARKS)
        wanted.setdefault(plain, []).append(word)
    found: dict[str, tuple[PhoneClass, ...]] = {}
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            entry, _, phones = line.partition(" ")
            if entry in wanted:
                known = [_classes(phone, Alphabet.ARPABET) or () for phone in phones.split()]
                classes = tuple(manner for each in known for manner in each)
                found.update(dict.fromkeys(wanted[entry], classes))
    return found


def _dictionary_path() -> Path | None:
    spec = importlib.util.find_spec("pocketsphinx")
    for folder in () if spec is None else spec.submodule_search_locations or ():
        path = Path(folder) / "model" / "en-us" / "cmudict-en-us.dict"
        if path.is_file():
            return path
    return None
