from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from syncaudit.detectors.speech import find_spoken_tier, spoken_tier
from testkit.streams import tier_of, transcript_stream

PHONES = tier_of((0.0, 0.1, "sil"), (0.1, 0.2, "k"), (0.2, 0.3, "ae"), (0.3, 0.4, "t"))
WORDS = tier_of((0.1, 0.4, "cat"), (0.9, 1.2, "sat"), name="words")


def test_stops_become_closure_and_burst() -> None:
    spoken = spoken_tier(PHONES, source="text", audio="mic")
    assert spoken is not None
    assert spoken.classes == ("silence", "closure", "plosive", "vowel", "closure", "plosive")
    np.testing.assert_allclose(spoken.start_s, [0.0, 0.1, 0.165, 0.2, 0.3, 0.365])
    assert spoken.is_stated.tolist() == [True, True, False, True, True, False]
    assert not spoken.is_words
    assert spoken.n_labels == 3


def test_words_become_sounds_and_gaps_silence() -> None:
    spoken = spoken_tier(WORDS, source="text", audio="mic")
    assert spoken is not None
    assert spoken.is_words
    first = ["plosive", "vowel", "closure", "plosive", "silence"]
    assert spoken.classes == ("closure", *first, "sibilant", *first[1:-1])
    assert spoken.start_s[spoken.classes.index("silence")] == 0.4
    assert np.count_nonzero(spoken.is_stated) == 3
    assert spoken.stop_s[-1] == pytest.approx(1.2)


def test_phones_are_judged_before_words_unless_words_are_picked() -> None:
    found = find_spoken_tier(transcript_stream(WORDS, PHONES))
    assert found is not None
    assert found.tier == "phones"
    picked = find_spoken_tier(transcript_stream(WORDS, PHONES, tier="words"))
    assert picked is not None
    assert picked.tier == "words"


def test_unknown_phones_stand_for_any_speech() -> None:
    rows = [(0.1 * k, 0.1 * (k + 1), label) for k, label in enumerate("amas☃n")]
    spoken = spoken_tier(tier_of(*rows), source="text", audio="mic")
    assert spoken is not None
    assert spoken.classes[4] == "speech"


def test_words_of_other_scripts_are_speech() -> None:
    spoken = spoken_tier(
        tier_of((0.0, 0.3, "привет"), (0.5, 0.9, "мир")), source="text", audio="mic"
    )
    assert spoken is not None
    assert spoken.classes == ("speech", "silence", "speech")


def test_sentences_are_speech_without_a_guess_at_their_words() -> None:
    spoken = spoken_tier(
        tier_of((0.0, 2.3, "how do you do"), (2.5, 5.9, "very well")), source="t", audio="mic"
    )
    assert spoken is not None
    assert spoken.classes == ("speech", "silence", "speech")


def test_disorder_and_overlap_are_cut_for_the_comparison() -> None:
    spoken = spoken_tier(
        tier_of((0.5, 0.9, "two"), (0.0, 0.6, "one"), (0.9, 0.9, "none")), source="t", audio="mic"
    )
    assert spoken is not None
    assert np.all(spoken.start_s[1:] >= spoken.stop_s[:-1] - 1e-9)
    assert spoken.n_labels == 2


def test_silent_and_missing_tiers_say_nothing() -> None:
    assert find_spoken_tier(transcript_stream()) is None
    assert find_spoken_tier(transcript_stream(tier_of((0.0, 1.0, "sil")))) is None


def test_spelling_serves_where_the_dictionary_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    spoken = spoken_tier(tier_of((0.0, 0.3, "mama")), source="t", audio="mic")
    assert spoken is not None
    assert spoken.classes == ("nasal", "vowel", "nasal", "vowel")
