"""Taps on the rig: sharp shocks picked up by the accelerometer and the microphone."""

from dataclasses import dataclass

import numpy as np

from .motion import FloatArray

_TONE_HZ, _RING_S = 70.0, 0.012  # ringing of a small rig's body
_DIRECTION = np.array([0.3, -0.2, -0.933])  # a finger from above, slightly from the side


@dataclass(frozen=True, slots=True, kw_only=True)
class TapConfig:
    """Describe occasional taps on the rig."""

    mean_interval_s: float = 3.0  # mean spacing; each is drawn between 0.5 and 1.5 times this
    shock_mps2: float = 25.0  # peak acceleration
    sound_level: float = 0.4  # loudness of the knock, full scale 1
    fires_flash: bool = False  # whether taps trigger the lamp: each falls on the onset of a pulse

    def __post_init__(self) -> None:
        if not self.mean_interval_s > 0.2:
            raise ValueError(f"mean_interval_s is {self.mean_interval_s}, expected more than 0.2")

    def draw(self, duration_s: float, pulses_s: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Return the times of all taps of a clip, true seconds, shape (n,)."""
        n_most = int(2 * duration_s / self.mean_interval_s) + 2
        taps = np.cumsum(self.mean_interval_s * rng.uniform(0.5, 1.5, n_most))
        taps = taps[taps < duration_s]
        if not self.fires_flash:
            return np.asarray(taps)
        following = np.searchsorted(pulses_s, taps)
        return np.asarray(pulses_s[np.unique(following[following < pulses_s.size])])

    def shocks(self, times_s: FloatArray, taps_s: FloatArray) -> FloatArray:
        """Return the accelerations caused by taps at true times, body axes, shape (n, 3)."""
        push = np.zeros(times_s.size)
        for start_s in taps_s:
            age = times_s - start_s
            push += np.where(
                age >= 0,
                np.cos(2 * np.pi * _TONE_HZ * age) * np.exp(-np.maximum(age, 0) / _RING_S),
                0.0,
            )
        return np.asarray(self.shock_mps2 * push[:, None] * _DIRECTION)
