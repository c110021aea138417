"""espeak-ng as truth: its events must match its sound."""

from __future__ import annotations

import numpy as np
import pytest

from syncaudit.simulate.speech import Utterance, Voice, speak
from syncaudit.simulate.speech_texts import SENTENCES, speak_at_length
from syncaudit.speech.phonetics import (
    Alphabet,
    PhoneClass,
    alphabet_of,
    classes_of_phone,
    is_silence,
)

pytest.importorskip("espeakng_loader")


def loudness(said: Utterance, start_s: float, stop_s: float) -> float:
    piece = said.samples[round(start_s * said.rate_hz) : round(stop_s * said.rate_hz)]
    return float(np.sqrt(np.mean(piece**2)))


@pytest.mark.parametrize("language", sorted(SENTENCES))
def test_every_phone_has_a_class_in_every_language(language: str) -> None:
    said = speak_at_length(Voice(language=language), duration_s=8.0, rng=np.random.default_rng(1))
    labels = [i.label for i in said.phones.intervals]
    assert alphabet_of(labels) == (Alphabet.IPA, 1.0)
    assert said.samples.size / said.rate_hz >= 8.0


def test_phones_are_in_order_and_lie_in_the_sound() -> None:
    said = speak("Stop at the edge, then jump back.")
    edges = np.array([(i.start_s, i.stop_s) for i in said.phones.intervals])
    assert np.all(edges[:, 1] > edges[:, 0])
    assert np.all(edges[1:, 0] >= edges[:-1, 1] - 1e-9)
    assert edges[-1, 1] <= said.samples.size / said.rate_hz + 1e-9
    assert " ".join(i.label for i in said.words.intervals) == "Stop at the edge then jump back"


def test_stops_own_the_hush_before_their_burst() -> None:
    said = speak("A cat, a cup, a kettle.")
    stops = [
        i
        for i in said.phones.intervals
        if classes_of_phone(i.label, Alphabet.IPA) == (PhoneClass.CLOSURE, PhoneClass.PLOSIVE)
    ]
    assert len(stops) >= 5
    hushed = [
        loudness(said, i.start_s, i.start_s + 0.02)
        < 0.3 * loudness(said, i.stop_s - 0.03, i.stop_s)
        for i in stops
    ]
    assert sum(hushed) >= len(stops) - 1


def test_silent_intervals_are_silent() -> None:
    said = speak("Wait. And now go on.")
    pauses = [
        i for i in said.phones.intervals if is_silence(i.label) and i.stop_s - i.start_s > 0.1
    ]
    assert pauses
    assert all(loudness(said, i.start_s, i.stop_s) < 0.01 for i in pauses)


def test_faster_voices_take_less_time() -> None:
    slow = speak("One two three.", Voice(words_per_minute=120))
    fast = speak("One two three.", Voice(words_per_minute=240))
    assert fast.samples.size < 0.75 * slow.samples.size


def test_unknown_voice_is_named() -> None:
    with pytest.raises(ValueError, match="no voice 'klingonese'"):
        speak("nuqneH", Voice(language="klingonese"))


def test_empty_text_is_refused() -> None:
    with pytest.raises(ValueError, match="says nothing"):
        speak("")
