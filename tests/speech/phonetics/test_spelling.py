from __future__ import annotations

import importlib.util

import pytest

from syncaudit.speech.phonetics import (
    TYPICAL_DURATION_S,
    PhoneClass,
    classes_of_spelling,
    is_latin,
    look_up,
)

V, N, A = PhoneClass.VOWEL, PhoneClass.NASAL, PhoneClass.APPROXIMANT
S, F = PhoneClass.SIBILANT, PhoneClass.FRICATIVE
P = (PhoneClass.CLOSURE, PhoneClass.PLOSIVE)


@pytest.mark.parametrize(
    ("word", "classes"),
    [
        ("me", (N, V)),
        ("miss", (N, V, S)),
        ("schön", (S, V, N)),
        ("ship", (S, V, *P)),
        ("here", (F, V, A)),
        ("you", (A, V)),
        ("face", (F, V, S)),
        ("L'eau", (A, V)),
        ("mañana", (N, V, N, V, N, V)),
        ("quick", (*P, A, V, *P)),
        ("42", (PhoneClass.SPEECH, PhoneClass.SPEECH)),
        ("...", ()),
        ("", ()),
    ],
)
def test_spelling_gives_rough_classes(word: str, classes: tuple[PhoneClass, ...]) -> None:
    assert classes_of_spelling(word) == classes


def test_letters_of_other_scripts_are_speech_of_which_nothing_is_known() -> None:
    assert set(classes_of_spelling("привет")) == {PhoneClass.SPEECH}
    assert not is_latin(["привет", "мир"])
    assert is_latin(["salut", "мир"])
    assert not is_latin([])


def test_dictionary_knows_english_words_with_marks_around_them() -> None:
    if importlib.util.find_spec("pocketsphinx") is None:
        pytest.skip("pocketsphinx is not installed")
    found = look_up(["Though,", "I’m", "zzzxq"])
    assert found == {"Though,": (F, V), "I’m": (V, N)}


def test_without_pocketsphinx_no_word_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    assert look_up(["this"]) == {}


def test_every_class_has_a_duration() -> None:
    assert set(TYPICAL_DURATION_S) == set(PhoneClass)
