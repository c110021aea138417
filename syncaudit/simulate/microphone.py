"""The microphone: road and engine noise, knocks at bumps, clicks at light pulses."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.signal import butter, lfilter

from .clocks import ClockFault
from .motion import FloatArray, Motion

SOUND_MPS = 343.0  # dry air at 20 degrees Celsius
_KNOCK_S = 0.06
_CLICK_HZ, _CLICK_RING_S, _CLICK_S = 2500.0, 4e-4, 0.004


@dataclass(frozen=True, slots=True, kw_only=True)
class MicrophoneConfig:
    """Describe the microphone. Audio has no timestamps: its clock fault acts on the samples.

    A constant offset moves `start_ns` of sample 0; drift changes the sample spacing; steps,
    jitter, delay and gaps are meaningless here and are refused.
    """

    rate_hz: int = 16000
    # full scale is 1; a level of 0 omits the part
    noise_level: float = 0.02
    knock_level: float = 0.35
    click_level: float = 0.0
    # from the clicking lamp to the microphone: clicks are late by the travel time of sound
    lamp_distance_m: float = 0.0
    clock: ClockFault = field(default_factory=ClockFault)

    def __post_init__(self) -> None:
        if self.rate_hz < 4000:
            raise ValueError(f"rate_hz is {self.rate_hz}, expected 4000 or more")
        plain = ClockFault(offset_s=self.clock.offset_s, drift_ppm=self.clock.drift_ppm)
        if self.clock != plain:
            raise ValueError("a microphone's clock can have an offset and a drift only")
        if self.lamp_distance_m < 0:
            raise ValueError(f"lamp_distance_m is {self.lamp_distance_m}, expected 0 or more")

    @property
    def sound_delay_s(self) -> float:
        """Return how much later than its light a click is heard."""
        return self.lamp_distance_m / SOUND_MPS


def record(
    motion: Motion,
    config: MicrophoneConfig,
    duration_s: float,
    pulses_s: FloatArray,
    rng: np.random.Generator,
    *,
    taps_s: FloatArray | None = None,
    tap_level: float = 0.0,
) -> NDArray[np.int16]:
    """Return the samples of a clip, sample 0 at the clip's start, shape (n,).

    Noise grows with the road's roughness and with speed; a knock is a decaying 90 Hz and 210 Hz
    thud that starts when an axle hits a bump. Clicks at light pulses and taps on the rig are
    decaying tones that start exactly when their sound arrives, even between samples.
    """
    # A drift of the correction stretches source time: 1 s of timestamps is (1 + drift) s of truth.
    stretch = 1 + config.clock.drift_ppm * 1e-6
    n_samples = round(duration_s * config.rate_hz)
    times = duration_s / 2 + (np.arange(n_samples) / config.rate_hz - duration_s / 2) * stretch
    numerator, denominator = butter(1, [40.0, 900.0], btype="bandpass", fs=config.rate_hz)
    rumble = lfilter(numerator, denominator, rng.standard_normal(n_samples))
    road = np.interp(times, motion.grid_times_s, motion.roughness)
    sound = config.noise_level * (0.15 + road) * rumble / rumble.std()
    for start_s in motion.bump_times_s:
        _add(sound, times, start_s, config.knock_level * _knock(config.rate_hz))
    for start_s in pulses_s if config.click_level else ():
        _ring(sound, times, start_s + config.sound_delay_s, config.click_level)
    for start_s in taps_s if taps_s is not None and tap_level else ():
        _ring(sound, times, start_s, tap_level)
    return np.asarray(np.rint(32767 * np.clip(sound, -1, 1)), dtype=np.int16)


def _knock(rate_hz: int) -> FloatArray:
    age = np.arange(round(_KNOCK_S * rate_hz)) / rate_hz
    tone = np.sin(2 * np.pi * 90 * age) + 0.6 * np.sin(2 * np.pi * 210 * age)
    return np.asarray(tone * np.exp(-age / 0.012))


def _add(sound: FloatArray, times_s: FloatArray, start_s: float, event: FloatArray) -> None:
    first = int(np.searchsorted(times_s, start_s))
    if 0 < first < sound.size:
        stop = min(first + event.size, sound.size)
        sound[first:stop] += event[: stop - first]


def _ring(sound: FloatArray, times_s: FloatArray, start_s: float, level: float) -> None:
    """Add a click that may start between two samples."""
    first, stop = np.searchsorted(times_s, [start_s, start_s + _CLICK_S])
    age = times_s[first:stop] - start_s
    sound[first:stop] += level * np.sin(2 * np.pi * _CLICK_HZ * age) * np.exp(-age / _CLICK_RING_S)
