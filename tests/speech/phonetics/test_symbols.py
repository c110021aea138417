from __future__ import annotations

import pytest

from syncaudit.speech.phonetics import (
    Alphabet,
    PhoneClass,
    alphabet_of,
    classes_of_phone,
    is_silence,
)

V, N, A = PhoneClass.VOWEL, PhoneClass.NASAL, PhoneClass.APPROXIMANT
S, F = PhoneClass.SIBILANT, PhoneClass.FRICATIVE
PLOSIVE = (PhoneClass.CLOSURE, PhoneClass.PLOSIVE)
AFFRICATE = (PhoneClass.CLOSURE, S)


@pytest.mark.parametrize(
    ("symbol", "classes"),
    [
        ("a", (V,)),
        ("ˈaː", (V,)),
        ("aj", (V,)),
        ("aɪ̯", (V,)),
        ("ɐ̃", (V,)),
        ("ɚ", (V,)),
        ("n̩", (N,)),
        ("ɲ", (N,)),
        ("mʲ", (N,)),
        ("ʎ", (A,)),
        ("ɹ", (A,)),
        ("ɾ", (A,)),
        ("ʃ", (S,)),
        ("sː", (S,)),
        ("ç", (F,)),
        ("θ", (F,)),
        ("pʰ", PLOSIVE),
        ("t̪", PLOSIVE),
        ("tː", PLOSIVE),
        ("tt", PLOSIVE),
        ("ɟ", PLOSIVE),
        ("cʷ", PLOSIVE),
        ("ʔ", (PhoneClass.CLOSURE,)),
        ("tʃ", AFFRICATE),
        ("t͡ʃ", AFFRICATE),
        ("dʒ", AFFRICATE),
        ("ʧ", AFFRICATE),
        ("tsʰ", AFFRICATE),
        ("pf", (PhoneClass.CLOSURE, F)),
        ("", (PhoneClass.SILENCE,)),
        ("sp", (PhoneClass.SILENCE,)),
        ("spn", (PhoneClass.SPEECH,)),
    ],
)
def test_ipa_symbols_have_their_classes(symbol: str, classes: tuple[PhoneClass, ...]) -> None:
    assert classes_of_phone(symbol, Alphabet.IPA) == classes


@pytest.mark.parametrize(
    ("symbol", "classes"),
    [
        ("AA1", (V,)),
        ("er0", (V,)),
        ("NG", (N,)),
        ("HH", (F,)),
        ("y", (A,)),
        ("AXR", (V,)),
        ("tcl", (PhoneClass.CLOSURE,)),
        ("ZH_I", (S,)),
        ("K", PLOSIVE),
        ("jh", AFFRICATE),
        ("sil", (PhoneClass.SILENCE,)),
    ],
)
def test_arpabet_symbols_have_their_classes(symbol: str, classes: tuple[PhoneClass, ...]) -> None:
    assert classes_of_phone(symbol, Alphabet.ARPABET) == classes


@pytest.mark.parametrize("symbol", ["qz!", "hello", "☃", "9"])
def test_unknown_symbols_are_said_to_be_unknown(symbol: str) -> None:
    assert classes_of_phone(symbol, Alphabet.IPA) is None
    assert classes_of_phone(symbol, Alphabet.ARPABET) is None


def test_alphabet_is_told_by_what_it_knows() -> None:
    assert alphabet_of(["dh", "ih", "s", "ih", "z"]) == (Alphabet.ARPABET, 1.0)
    assert alphabet_of(["DH", "IH1", "S", ""]) == (Alphabet.ARPABET, 1.0)
    assert alphabet_of(["ð", "ɪ", "s", "sil"]) == (Alphabet.IPA, 1.0)
    assert alphabet_of(["", "sil"])[1] == 0.0
    alphabet, share = alphabet_of(["ð", "ɪ", "s", "word"])
    assert (alphabet, share) == (Alphabet.IPA, 0.75)


def test_silences_of_many_tools_are_known() -> None:
    assert all(map(is_silence, ["", " ", "sil", "SP", "<eps>", "#", "pau"]))
    assert not any(map(is_silence, ["a", "spn", "s"]))
