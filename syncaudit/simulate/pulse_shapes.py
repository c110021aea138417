"""How the light of a pulse rises and falls, and how much of it an exposure collects, exactly.

A shape defines `emitted`, the integral of its brightness (peak 1) since the onset. A row collects
the difference of two such integrals, relative to the light that counts as one full pulse.
"""

from dataclasses import dataclass

import numpy as np

from .motion import FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class SquarePulse:
    """Turn on and off instantly, as an LED does."""

    width_s: float

    def __post_init__(self) -> None:
        _check_positive("width_s", self.width_s)

    @property
    def reach_s(self) -> float:
        """Return the age after which there is no more light."""
        return self.width_s

    @property
    def half_light_s(self) -> float | None:
        """Return the age at which half of the light has been emitted."""
        return self.width_s / 2

    def emitted(self, ages_s: FloatArray) -> FloatArray:
        """Return the light emitted up to an age, in seconds of full brightness."""
        return np.asarray(np.clip(ages_s, 0.0, self.width_s))

    def full_s(self, exposure_s: float) -> float:  # noqa: ARG002  # one interface for all shapes
        """Return the light of one full pulse, in seconds of full brightness."""
        return self.width_s


@dataclass(frozen=True, slots=True, kw_only=True)
class XenonPulse:
    """Rise linearly, then decay exponentially, as a discharge tube does."""

    rise_s: float = 1e-4
    decay_s: float = 1.2e-3  # time constant, after which the light has fallen to 1/e

    def __post_init__(self) -> None:
        _check_positive("rise_s", self.rise_s)
        _check_positive("decay_s", self.decay_s)

    @property
    def reach_s(self) -> float:
        """Return the age after which the light is invisible to a camera (e^-16)."""
        return self.rise_s + 16 * self.decay_s

    @property
    def half_light_s(self) -> float:
        """Return the age at which half of the light has been emitted."""
        half = (self.rise_s / 2 + self.decay_s) / 2
        if half <= self.rise_s / 2:
            return float(np.sqrt(2 * self.rise_s * half))
        left = 1 - (half - self.rise_s / 2) / self.decay_s
        return float(self.rise_s - self.decay_s * np.log(left))

    def emitted(self, ages_s: FloatArray) -> FloatArray:
        """Return the light emitted up to an age, in seconds of peak brightness."""
        rising = np.clip(ages_s, 0.0, self.rise_s)
        falling = np.maximum(ages_s - self.rise_s, 0.0)
        decayed = -np.expm1(-falling / self.decay_s)
        return np.asarray(rising**2 / (2 * self.rise_s) + self.decay_s * decayed)

    def full_s(self, exposure_s: float) -> float:  # noqa: ARG002  # one interface for all shapes
        """Return the light of one full pulse, in seconds of peak brightness."""
        return self.rise_s / 2 + self.decay_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Lamp(SquarePulse):
    """Turn on, stay on for longer than an exposure, turn off: a room light or a phone torch.

    A row that the lamp lights throughout its exposure counts as fully lit.
    """

    @property
    def half_light_s(self) -> None:
        """Return None: such a light is dated by its switching on and off, not by its middle."""
        return None

    def full_s(self, exposure_s: float) -> float:
        """Return the light that one exposure can collect, in seconds of full brightness."""
        return exposure_s


PulseShape = SquarePulse | XenonPulse


def gathered(
    shape: PulseShape, starts_s: FloatArray, row_times_s: FloatArray, exposure_s: float
) -> FloatArray:
    """Return the light that each row collects from all pulses, in full pulses, shape (n_rows,).

    Row r exposes ``[t_r - E/2, t_r + E/2]``.

    `starts_s`, shape (n,): onsets. `row_times_s`, shape (n_rows,): middle of each row's exposure,
    in order.
    """
    first_s, last_s = row_times_s[0] - exposure_s / 2, row_times_s[-1] + exposure_s / 2
    near = starts_s[(starts_s > first_s - shape.reach_s) & (starts_s < last_s)]
    ages = row_times_s[:, None] - near
    light = shape.emitted(ages + exposure_s / 2) - shape.emitted(ages - exposure_s / 2)
    return np.asarray(light.sum(axis=1) / shape.full_s(exposure_s))


def _check_positive(name: str, value_s: float) -> None:
    if not value_s > 0:
        raise ValueError(f"{name} is {value_s}, expected a positive time")
