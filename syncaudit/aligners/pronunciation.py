"""Find how an English word is spoken: dictionary, numbers, compounds, then a guess by letters."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

from syncaudit.aligners.letter_rules import phones_of_letters, phones_of_spelling
from syncaudit.aligners.number_words import words_of_number

__all__ = ["Pronunciation", "pronounce"]

# Shorter pieces of a compound are more often chance than words.
_MIN_PIECE = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Pronunciation:
    """How a word is spoken.

    Parameters
    ----------
    variants : tuple of str
        CMU phones with blanks between them, the likeliest first; empty: the word holds nothing
        that can be spoken in English.
    is_guessed : bool
        Whether letters were all there was to go by.
    """

    variants: tuple[str, ...]
    is_guessed: bool = False


def pronounce(word: str, look_up: Callable[[str], tuple[str, ...]]) -> Pronunciation:
    """Return how a word is spoken.

    Parameters
    ----------
    word : str
        As written.
    look_up : callable
        Variants of a lower-case word in a dictionary, empty where it has none.
    """
    plain = word.lower()
    variants = look_up(plain)
    if variants:
        return Pronunciation(variants=variants)
    spoken = words_of_number(plain)
    if spoken:
        said = [look_up(part) for part in spoken]
        return Pronunciation(variants=(" ".join(part[0] for part in said if part),))
    letters = _latin(plain)
    if not letters:
        return Pronunciation(variants=())
    if (word.isupper() and len(letters) <= 5 and not look_up(letters)) or not any(
        letter in "aeiouy" for letter in letters
    ):
        return Pronunciation(variants=(phones_of_spelling(letters),), is_guessed=True)
    for cut in range(_MIN_PIECE, len(letters) - _MIN_PIECE + 1):
        first, rest = look_up(letters[:cut]), look_up(letters[cut:])
        if first and rest:
            return Pronunciation(variants=(f"{first[0]} {rest[0]}",), is_guessed=True)
    return Pronunciation(variants=(phones_of_letters(letters),), is_guessed=True)


def _latin(word: str) -> str:
    """Return the letters a to z of a word, accents taken off."""
    parts = unicodedata.normalize("NFD", word.replace("ß", "ss").replace("æ", "ae"))
    return "".join(part for part in parts if "a" <= part <= "z")
