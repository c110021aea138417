"""Find how an English word is pronounced: dictionary, numbers, compounds, else letter rules.

Phones of other languages are mapped to the nearest ones of the CMU dictionary.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from string import ascii_lowercase

from syncaudit.speech.phonetics import Alphabet, alphabet_of, bare_arpabet

# Name of each letter, from a to z.
_CALLED = (
    "EY|B IY|S IY|D IY|IY|EH F|JH IY|EY CH|AY|JH EY|K EY|EH L|EH M|EH N|OW|P IY|K Y UW|AA R|EH S|"
    "T IY|Y UW|V IY|D AH B AH L Y UW|EH K S|W AY|Z IY"
)
_NAMES: Mapping[str, str] = dict(zip(ascii_lowercase, _CALLED.split("|"), strict=True))
# (letters, phones): letters are a pattern tried at each position; the first match wins.
# ``^`` and ``$`` are the ends of the word; lookahead is not consumed.
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
        # Doubled consonants are pronounced once.
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
_ONES = "zero one two three four five six seven eight nine"
_TEENS = "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
_SMALL = f"{_ONES} {_TEENS}".split()
_DECADES = "twenty thirty forty fifty sixty seventy eighty ninety"
_TENS = dict(enumerate(_DECADES.split(), start=2))
_SCALES = ((10**9, "billion"), (10**6, "million"), (1000, "thousand"))
_LARGEST = 10**12
# Shorter parts of a compound are more often chance than words.
_MIN_PIECE = 3

_VOWELS = "AA AE AH AO AW AY EH ER EY IH IY OW OY UH UW"
_CONSONANTS = "B CH D DH F G HH JH K L M N NG P R S SH T TH V W Y Z ZH"
CMU_PHONES = frozenset(f"{_VOWELS} {_CONSONANTS}".split())

# Letters of the chart of the International Phonetic Association (2020): the CMU phone that is
# closest in place and manner.
_LETTERS: Mapping[str, str] = {
    letter: phone
    for phone, letters in {
        "IY": "iyɨʉ",
        "IH": "ɪʏᵻ",
        "UW": "uɯ",
        "UH": "ʊᵿ",
        "EY": "eø",
        "EH": "ɛœɶ",
        "AE": "æ",
        "AH": "əʌɐɘɤɞ",
        "ER": "ɜɝɚɵ",
        "AA": "aɑɒ",
        "AO": "ɔ",
        "OW": "o",
        "P": "p",
        "B": "bɓ",
        "T": "tʈʔ",
        "D": "dɖɗɾ",
        "K": "kqcʡ",
        "G": "gɡɟɢɠʄʛ",
        "M": "mɱ",
        "N": "nɳ",
        "NG": "ŋɴ",
        "F": "fɸ",
        "V": "vβʋⱱ",
        "TH": "θ",
        "DH": "ð",
        "S": "s",
        "Z": "z",
        "SH": "ʃʂɕçɧ",
        "ZH": "ʒʐʑʝ",
        "HH": "hɦxχħʜ",
        "R": "rɹɻʀʁɽɺʙɣʕʢ",
        "L": "lɫɭʎʟɬɮ",
        "W": "wʍɥ",
        "Y": "jɰ",
    }.items()
    for letter in letters
} | {"ɲ": "N Y"}
# Diacritics that change the sound too little to change the phone.
_MARKS = frozenset("ːˑˈˌ'ʰʱʲʷˠˤⁿˡ˞˭ʼ̩̯.‿-~ ")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pronunciation:
    """How a word is pronounced."""

    # CMU phones separated by blanks, most likely first; empty if the word contains nothing that can
    # be pronounced in English
    variants: tuple[str, ...]
    is_guessed: bool = False  # whether it was derived from the letters alone


def pronounce(word: str, look_up: Callable[[str], tuple[str, ...]]) -> _Pronunciation:
    """Return how a word is pronounced.

    `word`: as written. `look_up`: variants of a lower-case word in a dictionary, empty if it has
    none.
    """
    plain = word.lower()
    variants = look_up(plain)
    if variants:
        return _Pronunciation(variants=variants)
    spoken = words_of_number(plain)
    if spoken:
        said = [look_up(part) for part in spoken]
        return _Pronunciation(variants=(" ".join(part[0] for part in said if part),))
    letters = _latin(plain)
    if not letters:
        return _Pronunciation(variants=())
    if (word.isupper() and len(letters) <= 5 and not look_up(letters)) or not any(
        letter in "aeiouy" for letter in letters
    ):
        return _Pronunciation(variants=(phones_of_spelling(letters),), is_guessed=True)
    for cut in range(_MIN_PIECE, len(letters) - _MIN_PIECE + 1):
        first, rest = look_up(letters[:cut]), look_up(letters[cut:])
        if first and rest:
            return _Pronunciation(variants=(f"{first[0]} {rest[0]}",), is_guessed=True)
    return _Pronunciation(variants=(phones_of_letters(letters),), is_guessed=True)


def _latin(word: str) -> str:
    """Return the letters a to z of a word, with accents removed."""
    parts = unicodedata.normalize("NFD", word.replace("ß", "ss").replace("æ", "ae"))
    return "".join(part for part in parts if "a" <= part <= "z")


def words_of_number(token: str) -> list[str]:
    """Return the words of a number, or nothing if the token is not a number.

    Whole numbers below 10^12 with or without commas (``1,250``) are read out, digits after a
    decimal point one by one; longer ones, and those that begin with 0, digit by digit.
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


def phones_of_letters(letters: str) -> str:
    """Return the most likely phones of a word in letters a to z that no dictionary has.

    Deliberately rough: an aligner needs the right number and kinds of sounds, not their nuances.
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


def phones_of_spelling(letters: str) -> str:
    """Return the phones of a word that is spelled letter by letter (``gps``)."""
    return " ".join(_NAMES[letter] for letter in letters)


def _by_symbol(symbols_of: Mapping[str, str]) -> Mapping[str, str]:
    return {symbol: phones for phones, symbols in symbols_of.items() for symbol in symbols.split()}


# TIMIT and related alphabets, beyond the CMU phones themselves.
_ARPABET = _by_symbol(
    {
        "AH": "AX AXH",
        "ER": "AXR",
        "IH": "IX IA",
        "EH": "EA",
        "UH": "UA",
        "UW": "UX",
        "AA": "OH",
        "AH L": "EL",
        "AH M": "EM",
        "AH N": "EN",
        "AH NG": "ENG",
        "N": "NX",
        "D": "DX DCL",
        "W": "WH",
        "HH": "HV H",
        "B": "BCL",
        "G": "GCL",
        "P": "PCL",
        "T": "TCL Q",
        "K": "KCL",
    }
)


_TOGETHER = _by_symbol(
    {
        "CH": "tʃ ʧ tɕ ʨ tʂ cç č",
        "JH": "dʒ ʤ dʑ ʥ dʐ ɟʝ",
        "AY": "aɪ ai aj ɑɪ",
        "AW": "aʊ au aw æʊ",
        "OY": "ɔɪ ɔj oɪ ɔʏ ɔø",
        "EY": "eɪ ej ei æɪ",
        "OW": "oʊ əʊ ow ou əw",
        "ER": "ɜr ɜɹ əɹ ər",
        "SH": "š ç",
        "ZH": "ž",
        "T S": "ʦ",
        "D Z": "ʣ",
    }
)


def cmu_of_phones(symbols: Iterable[str]) -> list[tuple[str, ...] | None]:
    """Return the CMU phones that represent each symbol, None if none is known.

    `symbols`: phones, all in the same alphabet: IPA, or ARPAbet with or without stress.
    """
    found = list(symbols)
    alphabet, _ = alphabet_of(found)
    if alphabet is Alphabet.ARPABET:
        return [_of_arpabet(symbol) for symbol in found]
    return [_of_ipa(symbol) for symbol in found]


def _of_arpabet(symbol: str) -> tuple[str, ...] | None:
    bare = bare_arpabet(symbol).upper()
    if bare in CMU_PHONES:
        return (bare,)
    return tuple(_ARPABET[bare].split()) if bare in _ARPABET else None


def _of_ipa(symbol: str) -> tuple[str, ...] | None:
    """Return the longest known parts of an IPA symbol, from left to right."""
    text = unicodedata.normalize("NFC", symbol.strip().lower())
    if text not in _TOGETHER:
        parts = unicodedata.normalize("NFD", text)
        bare = (part for part in parts if part not in _MARKS)
        text = "".join(part for part in bare if unicodedata.category(part) != "Mn")
    phones: list[str] = []
    place = 0
    while place < len(text):
        pair, letter = text[place : place + 2], text[place]
        if pair in _TOGETHER:
            phones += _TOGETHER[pair].split()
            place += 2
            continue
        said = _TOGETHER.get(letter) or _LETTERS.get(letter)
        if said is None:
            return None
        phones += said.split()
        place += 1
    merged = [phone for k, phone in enumerate(phones) if k == 0 or phone != phones[k - 1]]
    return tuple(merged) or None
