"""The microphone: road and engine noise, knocks at bumps, clicks at light pulses."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.signal import butter, lfilter

from .clocks import ClockFault
from .motion import FloatArray, Motion

_KNOCK_S = 0.06


@dataclass(frozen=True, slots=True, kw_only=True)
class MicrophoneConfig:
    """Describe the microphone. Audio has no stamps: its clock fault acts on the samples.

    A constant offset moves `start_ns` of sample 0; drift changes the spacing of samples; steps,
    jitter, delay and gaps have no meaning here and are refused.

    Attributes
    ----------
    rate_hz : int
    noise_level, knock_level, click_level : float
        Full scale is 1; a level of 0 leaves the part out.
    clock : ClockFault
    """

    rate_hz: int = 16000
    noise_level: float = 0.02
    knock_level: float = 0.35
    click_level: float = 0.0
    clock: ClockFault = field(default_factory=ClockFault)

    def __post_init__(self) -> None:
        if self.rate_hz < 4000:
            raise ValueError(f"rate_hz is {self.rate_hz}, expected 4000 or more")
        plain = ClockFault(offset_s=self.clock.offset_s, drift_ppm=self.clock.drift_ppm)
        if self.clock != plain:
            raise ValueError("a microphone's clock can have an offset and a drift only")


def record(
    motion: Motion,
    config: MicrophoneConfig,
    duration_s: float,
    pulses_s: FloatArray,
    rng: np.random.Generator,
) -> NDArray[np.int16]:
    """Return the samples of a clip, sample 0 at the clip's start, shape (n,).

    Noise grows with the road's roughness and with speed; a knock is a decaying 90 Hz and 210 Hz
    thud that starts when an axle hits a bump; a click is a 1 ms burst at a light pulse.
    """
    # A drift of the correction stretches source time: 1 s of stamps is (1 + drift) s of truth.
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
        burst = rng.standard_normal(round(0.001 * config.rate_hz))
        _add(sound, times, start_s, config.click_level * burst)
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
