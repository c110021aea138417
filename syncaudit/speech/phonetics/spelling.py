"""Find the classes of a word's sounds: in a dictionary, or guessed from its letters."""

from __future__ import annotations

import importlib.util
import string
import unicodedata
from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType

from syncaudit.speech.phonetics.symbols import PhoneClass, classes_of_arpabet

_V, _N, _A = PhoneClass.VOWEL, PhoneClass.NASAL, PhoneClass.APPROXIMANT
_S, _F = PhoneClass.SIBILANT, PhoneClass.FRICATIVE
_P = (PhoneClass.CLOSURE, PhoneClass.PLOSIVE)
_C = (PhoneClass.CLOSURE, PhoneClass.SIBILANT)

# Groups first. Letters that languages read differently (``ch``, ``j``, ``c``) get the most common
# reading; a wrong guess costs a little contrast but causes no bias.
_GROUPS: Mapping[str, tuple[PhoneClass, ...]] = MappingProxyType(
    {
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
)
_LETTERS: Mapping[str, tuple[PhoneClass, ...]] = MappingProxyType(
    {
        **dict.fromkeys("aeiouyæœøıə", (_V,)),
        **dict.fromkeys("mnŋ", (_N,)),
        **dict.fromkeys("lrwł", (_A,)),
        **dict.fromkeys("szß", (_S,)),
        **dict.fromkeys("fvhþð", (_F,)),
        **dict.fromkeys("bcdgkpqtđħ", _P),
        "j": (_A,),
    }
)
# Precomposed letters that sound different from their base letter.
_COMPOSED: Mapping[str, str] = MappingProxyType(
    {"ç": "s", "š": "s", "ś": "s", "ş": "s", "č": "ch", "ć": "ch", "ž": "z", "ż": "z", "ź": "z"}
)
_MARKS = string.punctuation.replace("'", "") + "“”‘’„«»…–—¿¡"


class Script(StrEnum):
    """Script in which a text is written."""

    LATIN = "Latin"
    OTHER = "other"


def script_of(words: Iterable[str]) -> Script:
    """Return whether most letters of the words are Latin."""
    n_latin = n_letters = 0
    for character in "".join(words):
        if character.isalpha():
            n_letters += 1
            n_latin += unicodedata.name(character, "").startswith("LATIN")
    return Script.LATIN if n_letters and 2 * n_latin > n_letters else Script.OTHER


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
        if len(group) == length and group in _GROUPS:
            return length, _GROUPS[group]
    return 1, _LETTERS.get(letters[k], (PhoneClass.SPEECH,))


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
                known = [classes_of_arpabet(phone) or () for phone in phones.split()]
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
