"""Look up English words in the pronunciation dictionary of pocketsphinx, if installed."""

from __future__ import annotations

import importlib.util
import string
from collections.abc import Collection
from pathlib import Path

from syncaudit.speech.phonetics.classes import PhoneClass
from syncaudit.speech.phonetics.symbols import classes_of_arpabet

__all__ = ["look_up"]

_MARKS = string.punctuation.replace("'", "") + "“”‘’„«»…–—¿¡"


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
        wanted.setdefault(_plain(word), []).append(word)
    found: dict[str, tuple[PhoneClass, ...]] = {}
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            entry, _, phones = line.partition(" ")
            if entry in wanted:
                known = [classes_of_arpabet(phone) or () for phone in phones.split()]
                classes = tuple(manner for each in known for manner in each)
                found.update(dict.fromkeys(wanted[entry], classes))
    return found


def _plain(word: str) -> str:
    return word.strip().lower().replace("’", "'").strip(_MARKS)


def _dictionary_path() -> Path | None:
    spec = importlib.util.find_spec("pocketsphinx")
    for folder in () if spec is None else spec.submodule_search_locations or ():
        path = Path(folder) / "model" / "en-us" / "cmudict-en-us.dict"
        if path.is_file():
            return path
    return None
