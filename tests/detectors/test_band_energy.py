from __future__ import annotations

import numpy as np
import pytest

from syncaudit.detectors.speech import N_BANDS, find_band_energies
from syncaudit.model import AudioStream
from testkit.streams import sound_stream

EPOCH = 1_767_225_600_000_000_000


def sound(samples: np.ndarray, rate_hz: float, *, first_sample: int = 0) -> AudioStream:
    return sound_stream(samples, rate_hz, first_sample=first_sample)


@pytest.mark.parametrize("rate_hz", [8000.0, 16000.0, 22050.0, 44100.0, 48000.0])
def test_nothing_is_delayed_at_any_rate(rate_hz: float) -> None:
    times = np.arange(round(2.0 * rate_hz)) / rate_hz
    burst = np.exp(-0.5 * ((times - 1.0123) / 0.02) ** 2)
    noise = np.random.default_rng(3).standard_normal(times.size)
    bands = find_band_energies(sound(burst * noise, rate_hz))
    assert bands is not None
    energy = np.exp(bands.values).sum(axis=1)
    at = bands.start_s + bands.hop_s * np.arange(len(energy))
    # The middle of the burst; noise makes it uncertain by the burst width over the root of its
    # frames.
    assert float(energy @ at / energy.sum()) == pytest.approx(1.0123, abs=0.004)


@pytest.mark.parametrize(("tone_hz", "band"), [(300.0, 0), (1800.0, 4), (6000.0, 8)])
def test_tones_are_loudest_in_their_band(tone_hz: float, band: int) -> None:
    times = np.arange(16000) / 16000.0
    rng = np.random.default_rng(4)
    tone = np.sin(2.0 * np.pi * tone_hz * times) * (times > 0.5) + 1e-3 * rng.normal(size=16000)
    bands = find_band_energies(sound(tone, 16000.0))
    assert bands is not None
    rise = bands.values[150] - bands.values[50]
    assert int(np.argmax(rise)) == band
    assert bands.values.shape == (200, N_BANDS)


def test_level_of_the_microphone_does_not_matter() -> None:
    noise = np.random.default_rng(5).standard_normal(16000)
    loud, quiet = (find_band_energies(sound(g * noise, 16000.0)) for g in (0.5, 0.005))
    assert loud is not None
    assert quiet is not None
    np.testing.assert_allclose(loud.values, quiet.values, atol=1e-3)


def test_cut_sound_keeps_the_seconds_of_its_file() -> None:
    bands = find_band_energies(sound(np.ones(16000), 16000.0, first_sample=32000))
    assert bands is not None
    assert bands.start_s == 2.0
    assert bands.epoch_ns == EPOCH - 2_000_000_000


@pytest.mark.parametrize(
    ("samples", "rate_hz"),
    [(np.zeros(16000), 16000.0), (np.ones(100), 16000.0), (np.ones(9000), 4000.0)],
)
def test_silent_short_and_slow_sound_has_no_bands(samples: np.ndarray, rate_hz: float) -> None:
    assert find_band_energies(sound(samples, rate_hz)) is None


def test_samples_that_are_no_numbers_count_as_silence() -> None:
    samples = np.random.default_rng(6).standard_normal(16000)
    samples[8000:9000] = np.nan
    bands = find_band_energies(sound(samples, 16000.0))
    assert bands is not None
    assert np.isfinite(bands.values).all()
