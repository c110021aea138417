"""Two microphones: offset, drift and their errors."""

import io

import numpy as np
import pytest
import soundfile
from scipy.signal import butter, resample_poly, sosfilt

from syncaudit.estimators.sound.measure import estimate_microphones
from testkit.heard_twice import EPOCH, TOLERANCE_S, error_of, pair_of, sound


def test_late_target_gets_positive_offset():
    source, target, _ = pair_of(0, offset_s=0.25)
    assert estimate_microphones(source, target).offset_s == pytest.approx(0.25, abs=TOLERANCE_S)


def test_early_target_gets_negative_offset():
    source, target, _ = pair_of(0, offset_s=-0.25)
    assert estimate_microphones(source, target).offset_s == pytest.approx(-0.25, abs=TOLERANCE_S)


@pytest.mark.parametrize("offset_s", [-9.6543, -3.21, 0.0, 1e-5, 4.44447, 9.6543])
def test_offsets_up_to_ten_seconds_are_measured(offset_s):
    source, target, truth = pair_of(1, offset_s=offset_s, seconds=24.0)
    measured = estimate_microphones(source, target, max_offset_s=10.0)
    assert abs(error_of(measured, truth)) < TOLERANCE_S
    assert measured.method == "gcc_phat"
    assert (measured.source, measured.target) == ("a", "b")


@pytest.mark.parametrize("part", np.arange(8) / 8)
def test_answer_follows_every_part_of_a_sample(part):
    source, target, truth = pair_of(2, offset_s=0.1 + part / 48_000, seconds=4.0, rate=48_000)
    assert abs(error_of(estimate_microphones(source, target), truth)) < 1e-6


@pytest.mark.parametrize("talks", [False, True])
def test_drift_over_a_minute_is_found_to_two_ppm(talks):
    source, target, truth = pair_of(
        3, offset_s=0.3, seconds=60.0, drift_ppm=37.0, talks=talks, snr_db=5.0
    )
    measured = estimate_microphones(source, target)
    assert abs(error_of(measured, truth)) < TOLERANCE_S
    assert measured.drift_ppm == pytest.approx(37.0, abs=1.0)
    assert measured.drift_std_ppm < 1.0


def test_short_pair_has_no_drift():
    source, target, _ = pair_of(4, offset_s=0.3, seconds=12.0)
    assert estimate_microphones(source, target).drift_ppm is None


@pytest.mark.parametrize(
    ("up", "down", "rate"), [(2, 1, 16_000), (441, 80, 44_100), (6, 1, 48_000)]
)
def test_sampling_rates_may_differ(up, down, rate):
    source, target, truth = pair_of(5, offset_s=0.123)
    other = sound(resample_poly(target.samples.astype(float), up, down), rate, "b")
    assert abs(error_of(estimate_microphones(source, other), truth)) < TOLERANCE_S
    swapped = estimate_microphones(other, source)
    assert swapped.offset_s == pytest.approx(-0.123, abs=TOLERANCE_S)


def test_noise_as_loud_as_the_sound_is_survived():
    source, target, truth = pair_of(6, offset_s=-0.7, snr_db=0.0)
    assert abs(error_of(estimate_microphones(source, target), truth)) < TOLERANCE_S


@pytest.mark.parametrize(("kind", "subtype"), [("OGG", "VORBIS"), ("MP3", "MPEG_LAYER_III")])
def test_lossy_codec_moves_nothing(kind, subtype):
    source, target, truth = pair_of(7, offset_s=0.2, rate=16_000, talks=True)
    file = io.BytesIO()
    with soundfile.SoundFile(file, "w", 16_000, 1, format=kind, subtype=subtype) as writer:
        for first in range(0, target.samples.size, 16_000):
            writer.write(0.1 * target.samples[first : first + 16_000])
    file.seek(0)
    decoded, _ = soundfile.read(file)
    measured = estimate_microphones(source, sound(decoded, 16_000, "b"))
    assert abs(error_of(measured, truth)) < 1e-4


# Twelve echoes in either microphone, up to nine tenths as loud as the direct sound. Their parts in
# the correlation add up: measured block by block, seeds 1 and 6 err by milliseconds and 4 is lost.
@pytest.mark.parametrize("seed", [1, 4, 6])
def test_echo_is_not_taken_for_the_direct_sound(seed):
    rng = np.random.default_rng(seed)
    source, target, truth = pair_of(23, offset_s=0.1, rate=16_000, talks=True, seconds=12.0)
    heard = []
    for stream in (source, target):
        after_s = np.cumsum(rng.uniform(0.0006, 0.003, 12))
        gain = rng.uniform(0.6, 0.95, 12) * np.exp(-after_s / 0.02)
        heard.append(with_echoes(stream, zip(after_s, gain, strict=True)))
    assert abs(error_of(estimate_microphones(*heard), truth)) < TOLERANCE_S


def with_echoes(stream, echoes):
    out = stream.samples.copy()
    for after_s, gain in echoes:
        n = round(after_s * stream.rate_hz)
        out[n:] += gain * stream.samples[:-n]
    return sound(out, stream.rate_hz, stream.name)


@pytest.mark.parametrize("order", [2, 4, 6])
@pytest.mark.parametrize(("kind", "hz"), [("bandpass", (300.0, 3400.0)), ("lowpass", 7000.0)])
def test_error_covers_filters_that_noise_hides(kind, hz, order):
    source, target, truth = pair_of(4, offset_s=0.02, seconds=20.0, rate=48_000)
    band = butter(order, hz, kind, fs=48_000, output="sos")
    dull = butter(2, 1500.0, fs=48_000, output="sos")
    hiss = 0.02 * np.random.default_rng(1).standard_normal((2, target.samples.size))
    clear = sosfilt(dull, source.samples) + hiss[0]
    heard = sosfilt(band, sosfilt(dull, target.samples)) + hiss[1]
    measured = estimate_microphones(sound(clear, 48_000, "a"), sound(heard, 48_000, "b"))
    assert abs(error_of(measured, truth)) < 3.0 * measured.offset_std_s


@pytest.mark.parametrize("gain", [1.3, 1.5, 1.8])
def test_error_covers_an_echo_louder_than_the_direct_sound(gain):
    source, target, truth = pair_of(21, offset_s=0.1, rate=16_000, talks=True)
    measured = estimate_microphones(source, with_echoes(target, [(0.003, gain)]))
    assert abs(error_of(measured, truth)) < 2.0 * measured.offset_std_s < 0.006


def test_swapping_negates():
    source, target, _ = pair_of(8, offset_s=0.4321, snr_db=3.0, drift_ppm=20.0, seconds=30.0)
    one, two = estimate_microphones(source, target), estimate_microphones(target, source)
    # The two results hold at the middle of the same overlap, read on either clock.
    shift = one.drift_ppm * 1e-6 * ((two.at_ns - one.at_ns) * 1e-9 - one.offset_s)
    assert two.offset_s == pytest.approx(-one.offset_s - shift, abs=5e-6)
    assert two.drift_ppm == pytest.approx(-one.drift_ppm, abs=0.3)


def test_shifting_the_stamps_shifts_the_answer():
    source, target, _ = pair_of(9, offset_s=0.1)
    base = estimate_microphones(source, target).offset_s
    later = sound(target.samples, 8_000, "b", start_ns=EPOCH + 700_000_000)
    assert estimate_microphones(source, later).offset_s == pytest.approx(base + 0.7, abs=5e-6)
    moved = sound(source.samples, 8_000, "a", start_ns=EPOCH + 700_000_000)
    assert estimate_microphones(moved, target).offset_s == pytest.approx(base - 0.7, abs=5e-6)


def test_any_epoch_gives_the_same():
    one = estimate_microphones(*pair_of(10, offset_s=0.1)[:2])
    two = estimate_microphones(*pair_of(10, offset_s=0.1, start_ns=123)[:2])
    assert one.offset_s == pytest.approx(two.offset_s, abs=1e-9)
    assert one.at_ns - EPOCH == two.at_ns - 123


def test_middle_of_the_overlap_is_where_the_offset_holds():
    source, target, _ = pair_of(11, offset_s=0.0, seconds=10.0)
    measured = estimate_microphones(source, target, max_offset_s=1.0)
    assert measured.at_ns == pytest.approx(EPOCH + 5_000_000_000, abs=600_000_000)


def test_claimed_errors_are_honest():
    z_random, z_total, z_drift = [], [], []
    for seed in range(60):
        talks = bool(seed % 2)
        drift = 40.0 if seed % 5 == 0 else 0.0
        source, target, truth = pair_of(
            100 + seed,
            offset_s=float(np.random.default_rng(seed).uniform(-0.9, 0.9)),
            seconds=28.0 if seed % 6 == 0 else 10.0,
            snr_db=3.0 if talks else -3.0,
            talks=talks,
            drift_ppm=drift,
        )
        measured = estimate_microphones(source, target, max_offset_s=1.0)
        error = error_of(measured, truth)
        z_random.append(error / measured.diagnostics["random_std_s"])
        z_total.append(error / measured.offset_std_s)
        if measured.drift_ppm is not None:
            z_drift.append((measured.drift_ppm - drift) / measured.drift_std_ppm)
    # Three sigma of a binomial of 60.
    assert 0.85 <= np.mean(np.abs(z_random) < 1.96) <= 0.99
    assert np.mean(np.abs(z_total) < 1.96) >= 0.95
    assert np.mean(np.abs(z_drift) < 1.96) >= 0.88
    assert 0.7 < np.std(z_random) < 1.25
