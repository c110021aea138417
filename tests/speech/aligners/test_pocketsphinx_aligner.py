from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from syncaudit.errors import AlignmentError
from syncaudit.model import Interval
from syncaudit.simulate.speech import Voice, speak
from syncaudit.speech.aligners.alignment import Alignment, Utterance, words_of_text
from syncaudit.speech.aligners.pocketsphinx import PocketsphinxAligner

Real = Callable[..., Utterance]

# Human hand labels differ by about as much (design, section 7).
MEAN_ERROR_S = 0.025


@pytest.fixture(scope="module")
def aligner() -> PocketsphinxAligner:
    return PocketsphinxAligner()


def aligned(aligner: PocketsphinxAligner, utterance: Utterance) -> Alignment:
    (found,) = aligner.align([utterance])
    assert isinstance(found, Alignment), str(found)
    return found


def refused(aligner: PocketsphinxAligner, utterance: Utterance) -> str:
    (found,) = aligner.align([utterance])
    assert isinstance(found, AlignmentError)
    return str(found)


def starts(intervals: Sequence[Interval]) -> np.ndarray[Any, Any]:
    return np.array([one.start_s for one in intervals])


def sound(samples: Any, **keys: Any) -> Utterance:
    return Utterance(name="talk", samples=np.asarray(samples, np.float32), rate_hz=16_000.0, **keys)


@pytest.mark.realdata
def test_words_lie_where_people_put_them(aligner: PocketsphinxAligner, real: Real) -> None:
    """Hand labels of `mary` (praatIO): five word boundaries."""
    found = aligned(aligner, real("mary"))
    assert [one.label for one in found.words.intervals] == ["mary", "rolled", "the", "barrel"]
    truth = np.array([0.3154, 0.6755, 0.9839, 1.0637, 1.5183])
    edges = [*starts(found.words.intervals), found.words.intervals[-1].stop_s]
    assert np.mean(np.abs(edges - truth)) < MEAN_ERROR_S
    assert found.has_own_score


@pytest.mark.realdata
def test_phones_given_keep_their_symbols(aligner: PocketsphinxAligner, real: Real) -> None:
    phones = (("m", "ə", "r", "i"), ("r", "o", "l", "d"), ("θ", "ə"), ("b", "œ", "r", "l"))
    found = aligned(aligner, real("mary", phones=phones))
    assert [one.label for one in found.phones.intervals] == [p for word in phones for p in word]
    truth = "0.3154 0.3853 0.4907 0.5687 0.6755 0.8143 0.8542 0.9240 0.9839 1.0165 1.0637 1.1153"
    labelled = np.array([*truth.split(), "1.2326", "1.3346"], dtype=float)
    assert np.mean(np.abs(starts(found.phones.intervals) - labelled)) < MEAN_ERROR_S


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("five people went home", "its sounds do not fit"),
        ("mary rolled", "of the audio is unexplained"),
        ("", "holds no spoken words"),
        ("привет", "'привет' cannot be read as English"),
        ("many words " * 20, "cannot be aligned to the audio at all"),
    ],
)
def test_text_that_is_not_said_is_refused(
    aligner: PocketsphinxAligner, real: Real, text: str, why: str
) -> None:
    assert why in refused(aligner, real("mary", text))


@pytest.mark.realdata
def test_unknown_words_are_guessed_and_told(aligner: PocketsphinxAligner, real: Real) -> None:
    found = aligned(aligner, real("mary", "Mary rolled thuh berrel"))
    assert found.guessed == ("thuh", "berrel")
    labels = [one.label for one in found.words.intervals]
    assert labels == ["Mary", "rolled", "thuh", "berrel"]


@pytest.mark.realdata
def test_what_came_before_changes_nothing(aligner: PocketsphinxAligner, real: Real) -> None:
    first = aligned(PocketsphinxAligner(), real("mary"))
    aligner.align([real("mary", "rolled zzyzx"), sound(np.ones(9000), words=("hello",))])
    assert aligned(aligner, real("mary")) == first


@pytest.mark.realdata
def test_long_audio_in_pieces_equals_the_whole(real: Real, monkeypatch: pytest.MonkeyPatch) -> None:
    utterance = real("acoustic_corpus")
    whole = aligned(PocketsphinxAligner(), utterance)
    monkeypatch.setattr("syncaudit.speech.aligners.pocketsphinx._LONG_S", 12.0)
    pieces = aligned(PocketsphinxAligner(), utterance)
    assert [w.label for w in pieces.words.intervals] == [w.label for w in whole.words.intervals]
    apart_s = np.abs(starts(pieces.words.intervals) - starts(whole.words.intervals))
    assert np.median(apart_s) <= 0.010  # a frame: levels are normalised piece by piece


@pytest.mark.parametrize(
    ("samples", "why"),
    [
        (np.zeros(32_000), "the audio is silent"),
        (np.zeros(0), "shorter than 0.2 s"),
        (np.full(32_000, np.nan), "NaN or infinite"),
        (np.random.default_rng(3).standard_normal(32_000), "do not fit"),
        (np.sin(np.arange(32_000) / 5.0), "do not fit"),
    ],
)
def test_sound_without_speech_is_refused(
    aligner: PocketsphinxAligner, samples: Any, why: str
) -> None:
    assert why in refused(aligner, sound(samples, words=("hello", "world")))


def spoken_phones(text: str, language: str) -> tuple[Any, tuple[Interval, ...]]:
    spoken = speak(text, Voice(language=language))
    named = (one for one in spoken.phones.intervals if one.label.strip("_ :"))
    return spoken, tuple(named)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("der schnelle braune fuchs springt über den faulen hund", "de"),
        ("mañana vamos a comer con nuestros amigos", "es"),
    ],
)
def test_other_languages_go_by_their_phones(
    aligner: PocketsphinxAligner, text: str, language: str
) -> None:
    """Truth: espeak-ng, which states the sample of every phone."""
    spoken, truth = spoken_phones(text, language)
    phones = tuple((one.label,) for one in truth)
    keys = {"samples": spoken.samples, "rate_hz": spoken.rate_hz, "language": language}
    found = aligned(aligner, Utterance(name="talk", phones=phones, **keys))
    assert found.words.intervals == ()
    assert "in another order they fit far worse" in found.remarks[0]
    error_s = starts(found.phones.intervals) - starts(truth)
    assert np.mean(np.abs(error_s)) < MEAN_ERROR_S
    backwards = Utterance(name="talk", phones=phones[::-1], **keys)
    assert refused(aligner, backwards)


def test_words_of_other_languages_are_left_to_others(aligner: PocketsphinxAligner) -> None:
    assert aligner.unavailable_reason("en-GB", is_phones=False) is None
    assert aligner.unavailable_reason("de", is_phones=True) is None
    assert "has English words only" in str(aligner.unavailable_reason("de", is_phones=False))


def test_unknown_phones_are_named(aligner: PocketsphinxAligner) -> None:
    noise = np.random.default_rng(3).standard_normal(32_000)
    assert "unknown phones: 7, q!" in refused(
        aligner, sound(noise, phones=(("ə",), ("q!",), ("7",)))
    )


def test_missing_package_gives_the_pip_line(
    aligner: PocketsphinxAligner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert "pip install 'syncaudit[speech]'" in str(
        aligner.unavailable_reason("en", is_phones=False)
    )


def test_one_bad_utterance_spoils_no_other(aligner: PocketsphinxAligner) -> None:
    text = "she sells sea shells by the sea shore"
    spoken = speak(text, Voice(language="en-us"))
    good = Utterance(
        name="good", samples=spoken.samples, rate_hz=spoken.rate_hz, words=words_of_text(text)
    )
    found = aligner.align([sound(np.zeros(100), words=("hello",)), good])
    assert [type(one) for one in found] == [AlignmentError, Alignment]


@pytest.mark.realdata
def test_borders_are_neither_early_nor_late(aligner: PocketsphinxAligner, real: Real) -> None:
    """Hand labels of `mary` (praatIO); the model alone is 9 ms early, reversed 18 ms."""
    found = aligned(aligner, real("mary"))
    truth = np.array([0.3154, 0.6755, 0.9839, 1.0637, 1.5183])
    edges = np.array([*starts(found.words.intervals), found.words.intervals[-1].stop_s])
    assert abs(np.median(edges - truth)) < 0.008
