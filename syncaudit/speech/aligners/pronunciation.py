"""Find how an English word is spoken: dictionary, numbers, compounds, then a guess by letters."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

from syncaudit.speech.aligners.letter_rules import phones_of_letters, phones_of_spelling

__all__ = ["Pronunciation", "pronounce", "words_of_number"]

_ONES = "zero one two three four five six seven eight nine"
_TEENS = "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
_SMALL = f"{_ONES} {_TEENS}".split()
_DECADES = "twenty thirty forty fifty sixty seventy eighty ninety"
_TENS = dict(enumerate(_DECADES.split(), start=2))
_SCALES = ((10**9, "billion"), (10**6, "million"), (1000, "thousand"))
_LARGEST = 10**12

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


def words_of_number(token: str) -> list[str]:
    """Return the words of a number, nothing if the token is none.

    Whole numbers below 10^12 with or without commas (``1,250``) are read out, digits after a
    point one by one; longer ones, and those that begin with 0, digit by digit.
    """
    if not re.fullmatch(r"\d+(,\d{3})*(\.\d+)?", token) or not token.isascii():
        return []
    whole, _, decimals = token.replace(",", "").partition(".")
    is_code = int(whole) >= _LARGEST or (len(whole) > 1 and whole.startswith("0"))
    words = [_SMALL[int(digit)] for digit in whole] if is_code else _read_out(int(whole))
    return words + (["point", *(_SMALL[int(digit)] for digit in decimals)] if decimals else [])


def _read_out(number: int) -> list[str]:
    for scale, name in _SCALES:
        if number >= scale:
            rest = number % scale
            return [*_read_out(number // scale), name, *(_read_out(rest) if rest else [])]
    if number >= 100:
        rest = number % 100
        return [_SMALL[number // 100], "hundred", *(_read_out(rest) if rest else [])]
    if number < 20:
        return [_SMALL[number]]
    return [_TENS[number // 10], *([_SMALL[number % 10]] if number % 10 else [])]
