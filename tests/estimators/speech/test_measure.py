"""Tiers against sound: truth is espeak-ng's, with voices unknown to the templates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy.signal import fftconvolve

from syncaudit.detectors import find_band_energies, spoken_tier
from syncaudit.estimators import measure_speech
from syncaudit.model import Interval, PairMeasurement, Tier
from syncaudit.simulate.speech import Utterance, Voice
from syncaudit.simulate.speech_texts import speak_at_length
from testkit.streams import sound_stream

pytest.importorskip("espeakng_loader")

EPOCH = 1_767_225_600_000_000_000
# Boundaries of synthetic phones are found with 1 ms rmse at 12 s; 3 ms is required.
PHONES_S = 0.003
WORDS_S = 0.008


@pytest.fixture(scope="module")
def english() -> Utterance:
    return speak_at_length(
        Voice(language="en+f5", pitch=60), duration_s=64.0, rng=np.random.default_rng(11)
    )


@pytest.fixture(scope="module")
def german() -> Utterance:
    return speak_at_length(
        Voice(language="de+m6", pitch=35), duration_s=26.0, rng=np.random.default_rng(12)
    )


def changed(tier: Tier, to: Callable[[float], float]) -> Tier:
    return Tier(
        name=tier.name,
        intervals=tuple(
            Interval(start_s=to(i.start_s), stop_s=to(i.stop_s), label=i.label)
            for i in tier.intervals
        ),
    )


def measured(
    tier: Tier, said: Utterance, stop_s: float, *, noise_std: float = 1e-4, start_s: float = 0.0
) -> PairMeasurement:
    """Measure a tier against a part of the sound."""
    first, stop = round(start_s * said.rate_hz), round(stop_s * said.rate_hz)
    rng = np.random.default_rng(13)
    samples = said.samples[first:stop] + rng.normal(0.0, noise_std, stop - first)
    stream = sound_stream(samples, said.rate_hz)
    inside = [i for i in tier.intervals if i.start_s < stop_s + 2.0 and i.stop_s > start_s - 2.0]
    kept = changed(Tier(name=tier.name, intervals=tuple(inside)), lambda t: t - start_s)
    spoken = spoken_tier(kept, source="text", audio="mic")
    sound = find_band_energies(stream)
    assert spoken is not None
    assert sound is not None
    return measure_speech(spoken, sound)


def check(pair: PairMeasurement, offset_s: float, tolerance_s: float) -> None:
    assert pair.accepted, pair.why
    assert pair.offset_s == pytest.approx(offset_s, abs=tolerance_s)
    assert pair.offset_std_s is not None
    assert abs(pair.offset_s - offset_s) < 3.0 * pair.offset_std_s


@pytest.mark.parametrize("offset_s", [-0.8, -0.0137, 0.8])
def test_offset_is_what_is_added_to_the_tier(english: Utterance, offset_s: float) -> None:
    pair = measured(changed(english.phones, lambda t: t - offset_s), english, 12.0)
    check(pair, offset_s, PHONES_S)
    assert (pair.source, pair.target, pair.method) == ("text", "mic", "speech")
    # What the clip cannot exclude is reported: some hundred ppm over 12 s.
    assert pair.drift_ppm is not None
    assert pair.drift_std_ppm is not None
    assert abs(pair.drift_ppm) < 2.6 * pair.drift_std_ppm
    assert 100.0 < pair.drift_std_ppm < 1000.0


@pytest.mark.parametrize(
    ("name", "stop_s", "ppm"),
    [
        ("phones", 12.0, 6000.0),
        ("phones", 25.7, 3000.0),
        ("phones", 60.0, -2000.0),
        # Windows of the search smear these.
        ("phones", 23.0, 20000.0),
        ("phones", 23.0, -15000.0),
        ("words", 25.7, 10000.0),
        ("words", 25.7, -10000.0),
    ],
)
def test_stretched_tier_shows_its_drift(
    english: Utterance, name: str, stop_s: float, ppm: float
) -> None:
    # A drift counts per second of the tier's own time.
    ratio = 1e-6 * ppm / (1.0 + 1e-6 * ppm)
    stretched = changed(getattr(english, name), lambda t: t - ratio * (t - 0.5 * stop_s))
    pair = measured(stretched, english, stop_s)
    assert pair.accepted, pair.why
    assert pair.step_s is None
    assert pair.drift_ppm is not None
    assert pair.drift_std_ppm is not None
    assert abs(pair.drift_ppm - ppm) < 2.6 * pair.drift_std_ppm
    assert abs(pair.drift_ppm) > 4.0 * pair.drift_std_ppm


def in_room(said: Utterance, reverberation_s: float) -> Utterance:
    """Return an utterance whose direct sound and exponential reverberation are equally loud."""
    n = round(reverberation_s * said.rate_hz)
    time_s = np.arange(n) / said.rate_hz
    response = np.random.default_rng(15).normal(size=n) * np.exp(-6.9 * time_s / reverberation_s)
    response[: round(0.003 * said.rate_hz)] = 0.0
    response /= np.sqrt(np.sum(response**2))
    response[0] = 1.0
    heard = fftconvolve(said.samples, response)[: said.samples.size]
    return replace(said, samples=heard.astype(np.float32))


@pytest.mark.parametrize("reverberation_s", [0.2, 0.5, 1.4])
def test_rooms_do_not_make_a_tier_early(
    english: Utterance, german: Utterance, reverberation_s: float
) -> None:
    # Reverberation shifts the boundaries of this speech by 7 to 10 ms.
    for said in (english, german):
        check(measured(said.phones, in_room(said, reverberation_s), 16.0), 0.0, 0.006)


def loose(tier: Tier, rng: np.random.Generator) -> Tier:
    """Return words as timed by recognisers: 50 ms off, in steps of 20, pauses added to words."""
    words = [i for i in tier.intervals if i.label]
    starts = np.array([i.start_s for i in words])
    phrase = np.repeat(rng.normal(0.0, 0.03, starts.size // 8 + 1), 8)[: starts.size]
    starts = np.maximum.accumulate(
        np.round((starts + phrase + rng.normal(0.0, 0.04, starts.size)) / 0.02) * 0.02
    )
    stops = [*starts[1:], float(words[-1].stop_s)]
    return Tier(
        name=tier.name,
        intervals=tuple(
            Interval(start_s=float(start), stop_s=float(stop), label=word.label)
            for start, stop, word in zip(starts, stops, words, strict=True)
            if stop > start
        ),
    )


def test_words_of_a_recogniser_are_never_called_others(
    english: Utterance, german: Utterance
) -> None:
    for k, said in enumerate((english, german) * 3):
        by_s = 0.1 * k
        pair = measured(
            changed(loose(said.words, np.random.default_rng(k)), lambda t, by=by_s: t - by),  # type: ignore[misc]
            said,
            25.0,
        )
        assert pair.diagnostics.get("is_foreign", 0.0) == 0.0
        if pair.accepted:
            assert abs((pair.offset_s or 0.0) - by_s) < 2.6 * (pair.offset_std_s or 0.0)


def test_five_seconds_of_phones_suffice(german: Utterance) -> None:
    check(measured(changed(german.phones, lambda t: t + 0.4), german, 5.0), -0.4, 0.006)


def test_words_without_a_dictionary_are_measured_by_their_spelling(german: Utterance) -> None:
    check(measured(changed(german.words, lambda t: t - 0.3), german, 20.0), 0.3, WORDS_S)


def test_noise_costs_little(english: Utterance) -> None:
    loud = float(np.sqrt(np.mean(english.samples**2)))
    pair = measured(
        changed(english.phones, lambda t: t - 0.3), english, 12.0, noise_std=loud * 10**-0.5
    )
    check(pair, 0.3, 0.02)


def test_moving_the_tier_moves_the_answer(english: Utterance) -> None:
    there, here = (
        measured(changed(english.phones, lambda t, by=by: t - by), english, 10.0)  # type: ignore[misc]
        for by in (0.1037, 0.1)
    )
    assert there.offset_s is not None
    assert here.offset_s is not None
    # Frames are 5 ms apart: the result must not depend on their phase.
    assert there.offset_s - here.offset_s == pytest.approx(0.0037, abs=0.001)


def test_drift_is_measured_over_a_minute(english: Utterance) -> None:
    pair = measured(changed(english.phones, lambda t: t - 0.2 - 3e-4 * t), english, 60.0)
    assert pair.drift_ppm == pytest.approx(300.0, abs=60.0)
    assert pair.offset_s is not None
    at_s = (pair.at_ns - EPOCH) * 1e-9
    assert pair.offset_s == pytest.approx(0.2 + 3e-4 * at_s, abs=PHONES_S)


def test_step_is_found_placed_and_sized(english: Utterance) -> None:
    stepped = changed(english.phones, lambda t: t - (0.15 if t >= 17.3 else 0.0))
    pair = measured(stepped, english, 40.0)
    assert pair.accepted, pair.why
    assert pair.step_s == pytest.approx(0.15, abs=0.01)
    assert pair.step_at_ns is not None
    assert (pair.step_at_ns - EPOCH) * 1e-9 == pytest.approx(17.3, abs=1.0)


@pytest.mark.parametrize("size_s", [-0.06, 0.05, 0.12])
@pytest.mark.parametrize("at_s", [5.6, 13.4])
@pytest.mark.parametrize("name", ["phones", "words"])
def test_step_within_twenty_seconds_is_no_drift(
    english: Utterance, name: str, at_s: float, size_s: float
) -> None:
    stepped = changed(getattr(english, name), lambda t: t - (size_s if t >= at_s else 0.0))
    pair = measured(stepped, english, 20.0)
    assert pair.accepted, pair.why
    assert pair.step_s is not None, f"told as {pair.offset_s} s and {pair.drift_ppm} ppm"
    # Word boundaries are accurate only to 10 ms.
    assert pair.step_s == pytest.approx(size_s, abs=0.010 if name == "phones" else 0.020)
    assert pair.step_at_ns is not None
    assert (pair.step_at_ns - EPOCH) * 1e-9 == pytest.approx(at_s, abs=1.0)


@pytest.mark.parametrize("size_s", [-0.4, 0.15])
@pytest.mark.parametrize(("name", "at_s"), [("phones", 2.4), ("phones", 23.6), ("words", 20.5)])
def test_step_near_an_end_is_found(
    english: Utterance, name: str, at_s: float, size_s: float
) -> None:
    stepped = changed(getattr(english, name), lambda t: t - (size_s if t >= at_s else 0.0))
    pair = measured(stepped, english, 26.0)
    assert pair.accepted, pair.why
    assert pair.step_s is not None, f"told as {pair.offset_s} s and {pair.drift_ppm} ppm"
    assert pair.step_std_s is not None
    assert abs(pair.step_s - size_s) < 2.6 * pair.step_std_s
    # Between the two sides lies a label that was stretched or cut, and there may be a pause.
    assert pair.step_at_ns is not None
    assert (pair.step_at_ns - EPOCH) * 1e-9 == pytest.approx(at_s, abs=1.2)


def test_last_words_that_are_off_are_no_line(english: Utterance) -> None:
    stepped = changed(english.words, lambda t: t + 0.3 * (t >= 14.2))
    pair = measured(stepped, english, 15.0)
    assert not pair.accepted
    assert "too near an end" in (pair.why or "")


def test_two_steps_are_refused(english: Utterance) -> None:
    stepped = changed(english.phones, lambda t: t - 0.2 * (t >= 18.0) - 0.2 * (t >= 22.0))
    pair = measured(stepped, english, 26.0)
    assert not pair.accepted
    assert "not the only jump" in (pair.why or "")
    assert pair.diagnostics["steps"] == 2.0


@pytest.mark.parametrize("drift", [-3e-3, 1e-3, 3e-3])
def test_drift_is_no_step(english: Utterance, drift: float) -> None:
    pair = measured(changed(english.phones, lambda t: t - drift * (t - 15.0)), english, 30.0)
    assert pair.step_s is None
    assert pair.drift_ppm == pytest.approx(1e6 * drift, abs=300.0)


def test_other_words_are_told_from_what_is_spoken(english: Utterance, german: Utterance) -> None:
    for tier, is_foreign in ((german.phones, 1.0), (german.words, 0.0)):
        pair = measured(tier, english, 20.0)
        assert not pair.accepted
        assert "no offset within ± 2 s stands out" in (pair.why or "")
        assert pair.diagnostics["is_foreign"] == is_foreign


def test_other_words_over_noise_are_left_open(english: Utterance, german: Utterance) -> None:
    pair = measured(german.phones, english, 20.0, noise_std=0.3)
    assert not pair.accepted
    assert pair.diagnostics["is_foreign"] == 0.0


def test_too_little_is_refused(english: Utterance) -> None:
    phones = Tier(name="phones", intervals=english.phones.intervals[:6])
    assert "too few: at least 8" in (measured(phones, english, 5.0).why or "")
    words = Tier(name="words", intervals=english.words.intervals[:14])
    assert "over 10 s are needed" in (measured(words, english, 8.0).why or "")


def test_tier_that_lies_beyond_the_sound_is_refused(english: Utterance) -> None:
    spoken = spoken_tier(changed(english.phones, lambda t: t + 500.0), source="text", audio="mic")
    stream = sound_stream(english.samples, english.rate_hz, start_ns=0)
    sound = find_band_energies(stream)
    assert spoken is not None
    assert sound is not None
    assert "more than 2 s beyond" in (measure_speech(spoken, sound).why or "")


def test_absurdly_long_labels_cost_nothing(english: Utterance) -> None:
    last = Interval(start_s=12.0, stop_s=1e12, label="a")
    tier = Tier(
        name="phones",
        intervals=(*(i for i in english.phones.intervals if i.stop_s < 12.0), last),
    )
    check(measured(tier, english, 12.0), 0.0, PHONES_S)


def test_part_of_a_long_tier_suffices(english: Utterance) -> None:
    pair = measured(english.phones, english, 33.0, start_s=21.0)
    check(pair, 0.0, PHONES_S)


def test_labels_that_scatter_widen_the_error(english: Utterance) -> None:
    rng = np.random.default_rng(14)
    edges = sorted({t for i in english.phones.intervals for t in (i.start_s, i.stop_s)})
    off = dict(zip(edges, edges + rng.normal(0.0, 0.015, len(edges)), strict=True))
    rough = Tier(
        name="phones",
        intervals=tuple(
            Interval(
                start_s=off[i.start_s], stop_s=max(off[i.stop_s], off[i.start_s]), label=i.label
            )
            for i in english.phones.intervals
        ),
    )
    exact, wide = measured(english.phones, english, 12.0), measured(rough, english, 12.0)
    check(wide, 0.0, 0.008)
    assert (wide.offset_std_s or 0.0) > 1.3 * (exact.offset_std_s or 0.0)
    assert wide.diagnostics["scatter_s"] >= 0.01


# The effect of energy windows on boundaries is subtracted: its mean over voices is below these.
MEAN_PHONES_S = 7e-4
MEAN_WORDS_S = 2e-3


def test_borders_of_many_voices_are_right_on_average() -> None:
    """Each voice errs by up to 1 ms (phones); the wrong sign of the correction would leave 2 ms."""
    phones, words = [], []
    voices = ("en+f5", "de+m6", "fr+f2", "es+m3", "en-us+m1", "de+f3")
    for k, language in enumerate(voices):
        said = speak_at_length(
            Voice(language=language, pitch=35 + 8 * k),
            duration_s=40.0,
            rng=np.random.default_rng(20 + k),
        )
        for tier, found in ((said.phones, phones), (said.words, words)):
            pair = measured(tier, said, 40.0)
            assert pair.accepted, pair.why
            found.append(pair.offset_s)
    assert abs(np.mean(phones)) < MEAN_PHONES_S
    assert abs(np.mean(words)) < MEAN_WORDS_S
