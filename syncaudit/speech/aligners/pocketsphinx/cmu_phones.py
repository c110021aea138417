"""Map phones of any language to the nearest ones of the CMU dictionary."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from syncaudit.speech.phonetics import Alphabet, alphabet_of, bare_arpabet

_VOWELS = "AA AE AH AO AW AY EH ER EY IH IY OW OY UH UW"
_CONSONANTS = "B CH D DH F G HH JH K L M N NG P R S SH T TH V W Y Z ZH"
CMU_PHONES = frozenset(f"{_VOWELS} {_CONSONANTS}".split())


def _by_symbol(symbols_of: Mapping[str, str]) -> Mapping[str, str]:
    return MappingProxyType(
        {symbol: phones for phones, symbols in symbols_of.items() for symbol in symbols.split()}
    )


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

# Letters of the chart of the International Phonetic Association (2020): the CMU phone that is
# closest in place and manner.
_LETTERS: Mapping[str, str] = MappingProxyType(
    {
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
    }
    | {"ɲ": "N Y"}
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
# Diacritics that change the sound too little to change the phone.
_MARKS = frozenset("ːˑˈˌ'ʰʱʲʷˠˤⁿˡ˞˭ʼ̩̯.‿-~ ")


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
