"""Loudness and clicks, with synthetic truth and fixed seeds."""

from fractions import Fraction

import numpy as np
import pytest

from syncaudit.detectors.sound import find_clicks, find_loudness
from syncaudit.dsp.sound import cut_piece, sample_clock
from syncaudit.model import Quantity
from testkit.streams import sound_stream

EPOCH = 1_767_225_600_000_000_000


def sound(samples, rate=48_000.0, stamps=None, anchors=None):
    return sound_stream(
        samples,
        rate,
        time_ns=np.array([EPOCH]) if stamps is None else stamps,
        anchor_samples=np.array([0]) if anchors is None else anchors,
    )


def clicking(rate, seed, seconds=8.0, noise=1e-3):
    rng = np.random.default_rng(seed)
    x = noise * rng.standard_normal(int(seconds * rate))
    truth = 0.5 + 0.42 * np.arange(16) + rng.uniform(0, 0.1, 16)
    age = np.arange(int(0.05 * rate)) / rate
    for t in truth:
        first = int(np.ceil(t * rate))
        x[first : first + age.size] += 0.3 * rng.standard_normal(age.size) * np.exp(-age / 0.01)
    return sound(x, rate), truth


@pytest.mark.parametrize("rate", [8_000, 16_000, 44_100, 48_000])
def test_click_peaks_where_it_is(rate):
    for s in (rate // 2, rate // 2 + 13, rate // 2 + 31):
        x = np.zeros(rate)
        x[s] = 1.0
        loudness = find_loudness(sound(x, rate))
        peak = loudness.times_s[np.argmax(loudness.values[:, 0])]
        assert peak == pytest.approx(s / rate, abs=0.6e-3)  # half a hop and the differentiation


def test_loudness_says_what_it_is():
    loudness = find_loudness(sound(np.random.default_rng(0).standard_normal(48_000)))
    assert loudness.quantity is Quantity.LOUDNESS
    assert loudness.epoch_ns == EPOCH
    assert loudness.values.shape == (1000, 1)


@pytest.mark.parametrize("rate", [8_000, 44_100, 48_000])
def test_clicks_are_found_to_a_fraction_of_a_millisecond_with_honest_errors(rate):
    z = []
    for seed in range(6):
        stream, truth = clicking(rate, seed)
        train = find_clicks(stream)
        assert train.quantity is Quantity.CLICK
        assert train.times_s.size == truth.size
        error = train.times_s - truth
        assert np.max(np.abs(error)) < 3e-4
        assert abs(np.mean(error)) < 1.96 * train.systematic_std_s < 3.0 / rate
        z.extend((error - np.mean(error)) / train.std_s)
    assert 0.85 <= np.mean(np.abs(z) < 1.96) <= 1.0


def _tone(age_s, rng):
    attack_s = rng.uniform(0.001, 0.005)
    swell = 0.5 - 0.5 * np.cos(np.pi * np.clip(age_s / attack_s, 0.0, 1.0))
    return swell * np.sin(2.0 * np.pi * rng.uniform(900.0, 3000.0) * age_s)


def _armature(age_s, rng):
    """Return a thud, and the strike up to three milliseconds later."""
    strike_s = age_s - rng.uniform(0.001, 0.003)
    strike = np.exp(-np.maximum(strike_s, 0.0) / 0.003) * rng.standard_normal(age_s.size)
    thud = 0.6 * np.sin(2.0 * np.pi * 220.0 * age_s) * np.exp(-age_s / 0.02)
    return thud + strike * (strike_s >= 0.0)


@pytest.mark.parametrize("noise", [0.003, 0.03])
@pytest.mark.parametrize("kind", [_tone, _armature])
def test_sounds_that_start_softly_are_dated_where_they_start(kind, noise):
    rate, z = 48_000, []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        x = noise * rng.standard_normal(8 * rate)
        truth = 0.5 + 0.42 * np.arange(16) + rng.uniform(0, 0.1, 16)
        shape = kind(np.arange(int(0.06 * rate)) / rate, rng)
        for t in truth:
            first = int(np.ceil(t * rate))
            x[first : first + shape.size] += rng.uniform(0.6, 1.4) * shape
        train = find_clicks(sound(x, rate))
        near = np.abs(train.times_s[:, None] - truth).argmin(axis=1)
        error = np.median(train.times_s - truth[near])
        assert train.systematic_std_s < 2.5e-3
        z.append(error / train.systematic_std_s)
    assert np.mean(np.abs(z) < 1.96) >= 7 / 8
    assert np.max(np.abs(z)) < 3.0


def test_noise_does_not_click():
    rng = np.random.default_rng(1)
    assert find_clicks(sound(0.01 * rng.standard_normal(160_000), 16_000)).times_s.size == 0


@pytest.mark.parametrize("samples", [np.zeros(48_000), np.zeros(0), np.ones(100)])
def test_silence_and_scraps_have_no_loudness(samples):
    assert find_loudness(sound(samples)) is None
    assert find_clicks(sound(samples)) is None


def test_non_finite_samples_are_taken_as_silence():
    rng = np.random.default_rng(2)
    x = rng.standard_normal(48_000)
    x[100:200] = np.nan
    assert np.all(np.isfinite(find_loudness(sound(x)).values))


def test_clock_follows_anchors_and_not_the_header():
    rng = np.random.default_rng(3)
    anchors = np.arange(0, 480_000, 960)
    times = 0.25 + anchors / 48_000 * (1 + 80e-6) + rng.normal(0, 2e-4, anchors.size)
    stamps = EPOCH + np.rint(times * 1e9).astype(np.int64)
    clock = sample_clock(sound(np.zeros(480_000), stamps=stamps, anchors=anchors))
    assert clock.period_s == pytest.approx((1 + 80e-6) / 48_000, abs=2e-10)
    true_mid = 0.25 + 5.0 * (1 + 80e-6) + (EPOCH - clock.epoch_ns) * 1e-9
    assert clock.at(240_000) == pytest.approx(true_mid, abs=5e-5)
    assert clock.sample(clock.at(123_456.7)) == pytest.approx(123_456.7, abs=1e-3)


def test_clock_follows_a_step_of_its_anchors():
    anchors = np.arange(0, 480_000, 960)
    times = anchors / 48_000 + np.where(anchors > 240_000, 0.03, 0.0)
    stamps = EPOCH + np.rint(times * 1e9).astype(np.int64)
    clock = sample_clock(sound(np.zeros(480_000), stamps=stamps, anchors=anchors))
    assert clock.at(100_000) == pytest.approx(100_000 / 48_000, abs=1e-6)
    assert clock.at(400_000) == pytest.approx(400_000 / 48_000 + 0.03, abs=1e-6)


@pytest.mark.parametrize(
    "times",
    [np.arange(3) * 2.0, np.array([0, 1, 10**8])],
    ids=["another rate", "another unit"],
)
def test_clock_ignores_a_table_that_contradicts_the_header(times):
    stamps = EPOCH + np.rint(times * 1e9).astype(np.int64)
    clock = sample_clock(sound(np.zeros(48), stamps=stamps, anchors=np.array([0, 48_000, 96_000])))
    assert clock.at(48_000) == pytest.approx(1.0, abs=1e-9)


def test_clock_without_stamps_starts_at_zero():
    none = np.zeros(0, dtype=np.int64)
    clock = sample_clock(sound(np.zeros(10), stamps=none, anchors=none))
    assert (clock.epoch_ns, clock.at(48_000)) == (0, pytest.approx(1.0, abs=1e-9))


@pytest.mark.parametrize("ratio", [Fraction(1), Fraction(147, 160), Fraction(1, 6), Fraction(3)])
def test_piece_of_a_tone_keeps_its_phase(ratio):
    rate = 48_000
    t = np.arange(rate) / rate
    stream = sound(np.sin(2 * np.pi * 440 * t), rate)
    piece = cut_piece(stream, 10_007, 500, ratio)
    at = (10_007 + np.arange(500) / float(ratio)) / rate
    assert np.max(np.abs(piece - np.sin(2 * np.pi * 440 * at))) < 5e-3


def test_piece_beyond_the_ends_is_zero():
    stream = sound(np.ones(100))
    assert np.count_nonzero(cut_piece(stream, -50, 100, Fraction(1))) == 50
    assert np.count_nonzero(cut_piece(stream, 500, 10, Fraction(1))) == 0
