"""Guess the CMU phones of an English word from its letters."""

from __future__ import annotations

import re
from collections.abc import Mapping
from string import ascii_lowercase
from types import MappingProxyType

__all__ = ["phones_of_letters", "phones_of_spelling"]

_CALLED = (
    "EY|B IY|S IY|D IY|IY|EH F|JH IY|EY CH|AY|JH EY|K EY|EH L|EH M|EH N|OW|P IY|K Y UW|AA R|EH S|"
    "T IY|Y UW|V IY|D AH B AH L Y UW|EH K S|W AY|Z IY"
)
_NAMES: Mapping[str, str] = MappingProxyType(
    dict(zip(ascii_lowercase, _CALLED.split("|"), strict=True))
)

# (letters, phones): letters are a pattern that is tried at each place, the first that fits wins.
# ``^`` and ``$`` are the ends of the word; what is looked ahead at is not consumed.
_RULES = tuple(
    (re.compile(pattern), phones)
    for pattern, phones in (
        # Ends of words.
        ("tion(?=s?$)", "SH AH N"),
        ("sion(?=s?$)", "ZH AH N"),
        ("cian(?=s?$)", "SH AH N"),
        ("(?:ci|ti)ous$", "SH AH S"),
        ("(?:ci|ti)al(?=s?$)", "SH AH L"),
        ("ture(?=s?$)", "CH ER"),
        ("sure(?=s?$)", "ZH ER"),
        ("ous$", "AH S"),
        ("ing(?=s?$)", "IH NG"),
        ("er(?=s?$)", "ER"),
        ("(?<=[a-z]{2})or(?=s?$)", "ER"),
        ("le(?=s?$)(?<=[bcdfgkpt]le)", "AH L"),
        ("(?<=[td])ed$", "AH D"),
        ("(?<=[pkfcsxh])ed$", "T"),
        ("(?<=[a-z]{2})ed$", "D"),
        ("(?<=[sxzh])es$", "AH Z"),
        ("(?<=[aeiou][a-z])es$", "Z"),
        ("(?<=[a-z]{2})e$", ""),
        ("(?<=[ptkf])s$", "S"),
        ("(?<=[bdgvmnlrwaeiouy])s$", "Z"),
        ("(?<=[a-z]{2})y$", "IY"),
        ("^y$", "Y"),
        ("mb$", "M"),
        # Beginnings.
        ("^kn", "N"),
        ("^gn", "N"),
        ("^wr", "R"),
        ("^ps", "S"),
        ("^x", "Z"),
        ("^rh", "R"),
        # Groups of consonants.
        ("tch", "CH"),
        ("sch", "SH"),
        ("dg(?=[eiy])", "JH"),
        ("chr", "K R"),
        ("ch", "CH"),
        ("sh", "SH"),
        ("ph", "F"),
        ("(?<=[aeiou])gh(?=t)", ""),
        ("(?<=[ou])gh", ""),
        ("gh", "G"),
        ("ck", "K"),
        ("qu", "K W"),
        ("sc(?=[eiy])", "S"),
        ("wh", "W"),
        ("ng(?=[aeiouhlr])", "NG G"),
        ("ng", "NG"),
        ("n(?=[kx])", "NG"),
        ("th", "TH"),
        # Doubled consonants are spoken once.
        ("cc(?=[eiy])", "K S"),
        *((2 * letter, letter.upper()) for letter in "bdfglmnprstz"),
        ("cc", "K"),
        # Groups of vowels.
        ("igh", "AY"),
        ("eigh", "EY"),
        ("augh|ough", "AO"),
        ("eau", "OW"),
        ("eer|ear|ier", "IH R"),
        ("air|are$", "EH R"),
        ("oor|our|oar", "AO R"),
        ("ai|ay|ei|ey(?!$)", "EY"),
        ("ey$", "IY"),
        ("au|aw", "AO"),
        ("ee|ea|ie(?!$)", "IY"),
        ("ie$", "IY"),
        ("eu|ew", "UW"),
        ("oo", "UW"),
        ("oa", "OW"),
        ("oe$", "OW"),
        ("oi|oy", "OY"),
        ("ou", "AW"),
        ("ow$", "OW"),
        ("ow", "AW"),
        ("ui|ue", "UW"),
        # A vowel, one consonant and a silent e.
        ("a(?=[bcdfgjklmnpstvz]es?$)", "EY"),
        ("e(?=[bcdfgjklmnpstvz]es?$)", "IY"),
        ("i(?=[bcdfgjklmnprstvz]es?$)", "AY"),
        ("o(?=[bcdfgjklmnprstvz]es?$)", "OW"),
        ("u(?=[bcdfgjklmnprstvz]es?$)", "UW"),
        ("a(?=tions?$)", "EY"),
        ("ar", "AA R"),
        ("er|ir|ur", "ER"),
        ("or", "AO R"),
        # Single letters.
        ("a$", "AH"),
        ("a", "AE"),
        ("c(?=[eiy])", "S"),
        ("c", "K"),
        ("e", "EH"),
        ("g(?=[eiy])", "JH"),
        ("g", "G"),
        ("h(?=[aeiouy])", "HH"),
        ("h", ""),
        ("i$", "IY"),
        ("i", "IH"),
        ("o$", "OW"),
        ("o", "AA"),
        ("(?<=[aeiou])s(?=[aeiou])", "Z"),
        ("s", "S"),
        ("u$", "UW"),
        ("u", "AH"),
        ("w(?=[aeiouy])", "W"),
        ("w", ""),
        ("x", "K S"),
        ("y(?=[aeiou])", "Y"),
        ("y", "IH"),
        ("j", "JH"),
        ("q", "K"),
        *((letter, letter.upper()) for letter in "bdfklmnprtvz"),
    )
)


def phones_of_spelling(letters: str) -> str:
    """Return the phones of a word that is read letter by letter (``gps``)."""
    return " ".join(_NAMES[letter] for letter in letters)


def phones_of_letters(letters: str) -> str:
    """Return the likeliest phones of a word of the letters a to z that no dictionary has.

    Rough on purpose: an aligner needs the right number and kinds of sounds, not their finesse.
    """
    phones: list[str] = []
    place = 0
    while place < len(letters):
        for pattern, said in _RULES:
            match = pattern.match(letters, place)
            if match is not None and match.end() > place:
                phones += said.split()
                place = match.end()
                break
        else:
            place += 1
    return " ".join(phones) or phones_of_spelling(letters)
