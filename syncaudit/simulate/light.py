"""Light flashes: the pulses that a lamp fires and logs, and the light that each row collects."""

from dataclasses import dataclass, field

import numpy as np

from .clocks import ClockFault
from .motion import FloatArray
from .pulse_shapes import PulseShape, gathered
from .pulse_trains import PulseTrain, SpacedTrain


@dataclass(frozen=True, slots=True, kw_only=True)
class FlashConfig:
    """Describe a train of light pulses that every camera and the CAN strobe see."""

    # mean spacing of an irregular train; each spacing is drawn between 0.5 and 1.5 times this
    mean_interval_s: float = 0.35
    width_s: float = 0.002  # length of a square pulse
    brightness: float = 60.0  # levels that a fully exposed pulse adds to a pixel of luma 128
    train: PulseTrain | None = None  # instead of the irregular train of `mean_interval_s`
    # Instead of the square pulse of `width_s`. With it, the truth includes light and shutters.
    shape: PulseShape | None = None
    # fraction of the light missing at the image's darker side (drawn for each camera), as from a
    # lamp off to one side
    falloff: float = 0.0

    def __post_init__(self) -> None:
        if self.mean_interval_s <= 2 * self.width_s or self.width_s <= 0:
            raise ValueError("width_s must be positive and well below mean_interval_s")
        if not 0 <= self.falloff <= 1:
            raise ValueError(f"falloff is {self.falloff}, expected 0 to 1")

    def levels(
        self, starts_s: FloatArray, row_times_s: FloatArray, exposure_s: float
    ) -> FloatArray:
        """Return the levels that pulses add to each row for a pixel of luma 128, shape (n_rows,).

        Parameters are those of `gathered`.
        """
        if self.shape is None:
            return self.brightness * lit_fraction(starts_s, self.width_s, row_times_s, exposure_s)
        return self.brightness * gathered(self.shape, starts_s, row_times_s, exposure_s)


def draw_pulses(config: FlashConfig, duration_s: float, rng: np.random.Generator) -> FloatArray:
    """Return the starts of all pulses in a clip, true seconds, shape (n,)."""
    train = config.train or SpacedTrain(mean_interval_s=config.mean_interval_s)
    return train.draw(duration_s, rng)


def draw_falloff(falloff: float, width_px: int, rng: np.random.Generator) -> FloatArray | None:
    """Return the fraction of the light that each column gets, shape (width,); None for all."""
    if not falloff:
        return None
    across = (1 - np.cos(np.pi * np.linspace(0, 1, width_px))) / 2
    return np.asarray(1 - falloff * (across if rng.random() < 0.5 else across[::-1]))


def lit_fraction(
    starts_s: FloatArray, width_s: float, row_times_s: FloatArray, exposure_s: float
) -> FloatArray:
    """Return the fraction of pulse light that each row collects, shape (n_rows,).

    Row r exposes ``[t_r - E/2, t_r + E/2]``; a pulse counts by the overlap over its width.

    `starts_s` has the shape (n,); `row_times_s`, shape (n_rows,): middle of each row's exposure.
    """
    reach = exposure_s + width_s
    near = starts_s[(starts_s > row_times_s[0] - reach) & (starts_s < row_times_s[-1] + reach)]
    opens, closes = row_times_s - exposure_s / 2, row_times_s + exposure_s / 2
    overlap = np.minimum(closes[:, None], near + width_s) - np.maximum(opens[:, None], near)
    return np.asarray(np.clip(overlap, 0.0, None).sum(axis=1) / width_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerConfig:
    """Describe a logger that stamps the onset of every light pulse."""

    stamp_jitter_s: float = 2e-6  # standard deviation of a healthy logger's timestamps
    clock: ClockFault = field(default_factory=ClockFault)

    def logged(self, pulses_s: FloatArray) -> FloatArray:
        """Return the logged onsets, true seconds, shape (n,)."""
        return pulses_s[~self.clock.is_in_gap(pulses_s)]
