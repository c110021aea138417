"""Sounds that determine no offset, or several, are rejected; lost sound is a step."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.signal import fftconvolve

from syncaudit.estimators.sound import measure as sound_measure
from syncaudit.estimators.sound.measure import estimate_microphones, fit_blocks
from syncaudit.estimators.sound.spectra import Refusal
from testkit.heard_twice import EPOCH, TOLERANCE_S, error_of, pair_of, sound


def refused(source, target, **options):
    measured = estimate_microphones(source, target, **options)
    assert not measured.accepted
    return measured.why


@pytest.mark.parametrize("talks", [False, True])
def test_unrelated_sounds_are_refused(talks):
    for seed in range(6):
        source = pair_of(seed, offset_s=0.0, seconds=8.0, talks=talks)[0]
        target = pair_of(seed + 50, offset_s=0.0, seconds=8.0, talks=talks)[1]
        assert "no common sound" in refused(source, target)


@pytest.mark.parametrize("offset_s", [1.9995, 2.5, -12.24])
def test_recordings_that_start_at_other_times_are_found(offset_s):
    source, target, truth = pair_of(12, offset_s=0.0, seconds=40.0)
    # The same sound, with timestamps that are off by more than the search range.
    late = sound(target.samples, 8_000, "b", start_ns=EPOCH + round(offset_s * 1e9))
    measured = estimate_microphones(source, late, max_offset_s=2.0)
    assert abs(error_of(measured, truth) - offset_s) < TOLERANCE_S


def test_recordings_that_share_their_middle_are_found():
    source, target, _ = pair_of(12, offset_s=0.0, seconds=60.0, talks=True)
    cut = sound(target.samples[40 * 8_000 :], 8_000, "b")
    measured = estimate_microphones(source, cut, max_offset_s=2.0)
    assert measured.accepted, measured.why
    assert measured.offset_s == pytest.approx(-40.0, abs=TOLERANCE_S)


def test_refusal_tells_the_range():
    source = pair_of(1, offset_s=0.0, seconds=8.0)[0]
    target = pair_of(51, offset_s=0.0, seconds=8.0)[1]
    assert "no common sound within ± 2 s" in refused(source, target, max_offset_s=2.0)


def with_images(x, rng, phase):
    """Return 48 kHz sound as a cheap converter from 32 kHz leaves it: mirrored at -90 dB."""
    t = np.arange(x.size) / 48_000
    y = x + 10 ** (-85 / 20) * x * np.cos(2 * np.pi * 32_000 * t + phase)
    return y + 10 ** (-119 / 20) * x.std() * rng.standard_normal(x.size)


@pytest.mark.parametrize("seed", range(4))
def test_images_of_a_converter_do_not_count(seed):
    rng = np.random.default_rng([seed, 17])
    rate, n = 48_000, 12 * 48_000
    freq = np.fft.rfftfreq(n, 1 / rate)
    # Like speech: falling by 12 dB per octave from 1 kHz, nothing above a codec's 15.5 kHz.
    shape = (freq > 100) * (freq < 15_500) / (1.0 + (freq / 1000.0) ** 2)
    x = np.fft.irfft(np.fft.rfft(rng.standard_normal(n)) * shape, n)
    x *= np.exp(np.interp(np.arange(n), np.arange(0, n + rate, 4_000), rng.normal(0, 1, 156)))
    heard = []
    for phase in (0.0, np.pi):  # the converters are not synchronised
        tail = rng.standard_normal(rate // 2) * np.exp(-6.9 * np.arange(rate // 2) / (rate // 2))
        tail[:96] = 0.0
        tail /= np.sqrt(np.sum(tail**2))
        tail[0] = 1.0
        y = fftconvolve(x, tail)[:n]
        # Only the images are shared, where the codec's own noise is as loud as the sound.
        hiss = np.fft.irfft(np.fft.rfft(rng.standard_normal(n)) * (freq < 15_500), n)
        heard.append(with_images(y / y.std() + 0.03 * hiss, rng, phase))
    a, b = (sound(y, rate, name) for y, name in zip(heard, "ab", strict=True))
    measured = estimate_microphones(a, b)
    assert measured.accepted, measured.why
    assert measured.offset_s == pytest.approx(0.0, abs=3e-5)


def test_repeating_sound_is_refused_as_ambiguous():
    rng = np.random.default_rng(13)
    loop = np.tile(rng.standard_normal(16_000), 6)
    a, b = (loop + 0.1 * rng.standard_normal(loop.size) for _ in range(2))
    assert "ambiguous" in refused(sound(a, 8_000, "a"), sound(np.roll(b, 800), 8_000, "b"))


def test_tone_is_refused():
    t = np.arange(80_000) / 8_000
    rng = np.random.default_rng(14)
    a, b = (
        np.sin(2 * np.pi * 1000 * (t - d)) + 0.01 * rng.standard_normal(t.size) for d in (0.0, 0.1)
    )
    assert refused(sound(a, 8_000, "a"), sound(b, 8_000, "b"))


# 0.1 s of sound is lost; its length is found to a sample, its position to half a second.
@pytest.mark.parametrize(
    ("seconds", "at_s"), [(30.0, 15.0), (16.0, 8.0), (30.0, 5.0), (30.0, 25.0)]
)
def test_lost_buffer_is_a_step_and_never_a_mean(seconds, at_s):
    source, target, _ = pair_of(15, offset_s=0.1, seconds=seconds)
    lost = np.delete(target.samples, round(at_s * 8_000) + np.arange(800))
    measured = estimate_microphones(source, sound(lost, 8_000, "b"))
    assert measured.accepted, measured.why
    assert measured.step_s == pytest.approx(-0.1, abs=TOLERANCE_S)
    assert (measured.step_at_ns - EPOCH) * 1e-9 == pytest.approx(at_s - 0.1, abs=0.6)
    level = 0.1 if measured.at_ns < measured.step_at_ns else 0.0
    assert measured.offset_s == pytest.approx(level, abs=TOLERANCE_S)


def test_small_jump_widens_the_error_and_is_no_step():
    source, target, _ = pair_of(15, offset_s=0.1, seconds=30.0)
    lost = np.delete(target.samples, 120_000 + np.arange(8))
    measured = estimate_microphones(source, sound(lost, 8_000, "b"))
    assert measured.step_s is None
    assert measured.offset_std_s > 4e-4
    assert abs(measured.drift_ppm) < 1.96 * measured.drift_std_ppm


# Shorter than the coarse search resolves; two seconds of sound are left on the short side.
@pytest.mark.parametrize(("seconds", "at_s"), [(20.0, 10.0), (20.0, 17.8), (20.0, 2.2)])
def test_lost_buffer_of_seven_milliseconds_is_a_step(seconds, at_s):
    source, target, _ = pair_of(15, offset_s=0.0, seconds=seconds, talks=True)
    lost = np.delete(target.samples, round(at_s * 8_000) + np.arange(56))
    measured = estimate_microphones(source, sound(lost, 8_000, "b"))
    assert measured.accepted, measured.why
    assert measured.step_s == pytest.approx(-0.007, abs=TOLERANCE_S)


def test_step_that_leaves_too_little_sound_to_measure_is_refused():
    source, target, _ = pair_of(15, offset_s=0.0, seconds=20.0)
    lost = np.delete(target.samples, 142_000 + np.arange(800))
    n = lost.size
    lost[n - 13_000 : n - 9_000] = lost[n - 7_000 : n - 1_000] = 0.0
    why = refused(source, sound(lost, 8_000, "b"))
    assert "at an offset of their own" in why


def test_source_that_passes_by_is_no_step():
    x = np.arange(20.0) - 9.5
    passing = 0.008 * np.tanh(x / 1.5)
    scatter = 1e-5 * np.random.default_rng(1).standard_normal(x.size)
    moved = fit_blocks(x, passing + scatter, bound_s=1e-6, with_drift=False)
    assert moved.step_s is None
    assert moved.unsteady_s > 2e-3
    walking = 0.0008 * np.tanh(x / 4.0)
    jumped = fit_blocks(x, walking + scatter + 0.03 * (x > 2), bound_s=1e-6, with_drift=False)
    assert jumped.step_s == pytest.approx(0.03, abs=3.0 * jumped.step_std_s)


def test_talkers_who_take_turns_are_no_step():
    x = np.arange(20.0) - 9.5
    turns = 0.003 * (np.arange(20) % 5 > 1) - 0.008 * (x > 0.0)
    assert fit_blocks(x, turns, bound_s=1e-6, with_drift=False).step_s is None
    steady = 0.0003 * (np.arange(20) % 5 > 1) - 0.008 * (x > 0.0)
    assert fit_blocks(x, steady, bound_s=1e-6, with_drift=False).step_s is not None


def test_sound_lost_twice_is_refused():
    source, target, _ = pair_of(15, offset_s=0.1, seconds=30.0)
    gone = np.concatenate([80_000 + np.arange(800), 160_000 + np.arange(800)])
    assert "scatter" in refused(source, sound(np.delete(target.samples, gone), 8_000, "b"))


def test_sound_lost_again_and_again_is_refused():
    source, target, _ = pair_of(15, offset_s=0.1, seconds=40.0)
    gone = np.concatenate([k + np.arange(80) for k in range(32_000, 300_000, 32_000)])
    refused(source, sound(np.delete(target.samples, gone), 8_000, "b"))


def test_long_recording_with_much_drift_is_followed():
    source, target, truth = pair_of(
        21, offset_s=0.3, seconds=400.0, rate=8_000, drift_ppm=120.0, talks=True
    )
    measured = estimate_microphones(source, target)
    assert abs(error_of(measured, truth)) < TOLERANCE_S
    assert measured.drift_ppm == pytest.approx(120.0, abs=0.1)


def test_sound_is_found_where_one_microphone_is_silent_for_long():
    source, target, _ = pair_of(22, offset_s=0.1, seconds=60.0, talks=True)
    for quiet in (slice(0, 400_000), slice(80_000, None)):
        x = target.samples.copy()
        x[quiet] = 0.0
        measured = estimate_microphones(source, sound(x, 8_000, "b"))
        assert measured.offset_s == pytest.approx(0.1, abs=TOLERANCE_S)


def test_silence_is_refused():
    source, target, _ = pair_of(16, offset_s=0.0, seconds=4.0)
    assert "b is silent" in refused(source, sound(np.zeros(32_000), 8_000, "b"))
    assert "a is silent" in refused(sound(np.full(32_000, 0.5), 8_000, "a"), target)
    assert "b holds no audio" in refused(source, sound(np.zeros(0), 8_000, "b"))
    assert refused(source, sound(np.full(32_000, np.nan), 8_000, "b"))


def test_scraps_are_refused():
    source, target, _ = pair_of(16, offset_s=0.0, seconds=4.0)
    assert refused(source, sound(target.samples[:4_000], 8_000, "b"))


def test_recordings_of_different_days_are_refused():
    source, target, _ = pair_of(17, offset_s=0.0, seconds=4.0)
    later = sound(target.samples, 8_000, "b", start_ns=EPOCH + 86_400 * 10**9)
    assert "do not overlap" in refused(source, later)


def test_bad_samples_do_not_spoil_the_rest():
    source, target, truth = pair_of(18, offset_s=0.2)
    x = target.samples.copy()
    x[::1000] = np.nan
    x[40_000:40_100] = np.inf
    assert abs(error_of(estimate_microphones(source, sound(x, 8_000, "b")), truth)) < TOLERANCE_S


@pytest.mark.parametrize(("is_ambiguous", "unclear_s"), [(True, 2.5), (False, 0.0)])
def test_a_stretch_that_fits_several_offsets_counts_as_unclear(
    monkeypatch, is_ambiguous, unclear_s
):
    """A stretch that fits nowhere is silence; one that fits twice may be a lost buffer."""
    figures = {"coarse_offset_s": 0.5, "is_ambiguous": float(is_ambiguous)}
    steps = sound_measure
    monkeypatch.setattr(steps, "_stretches", lambda _blocks: [(1.0, 3.5)])
    monkeypatch.setattr(steps, "_from_track_s", lambda *_all: 0.01)
    monkeypatch.setattr(steps, "search_coarsely", lambda _part: Refusal(why="x", figures=figures))
    pair = SimpleNamespace(part=lambda *_stretch: None)
    assert steps._with_outliers(pair, None) == (None, unclear_s, 0.0)
