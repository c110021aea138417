"""Light flashes: irregular pulse trains, and the light that each exposed row gathers of them."""

from dataclasses import dataclass

import numpy as np

from .motion import FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class FlashConfig:
    """Describe an irregular train of light pulses that every camera and the CAN strobe see.

    Attributes
    ----------
    mean_interval_s : float
        Mean spacing; each spacing is drawn between half and one and a half of it.
    width_s : float
        Length of a pulse.
    brightness : float
        Levels that a fully exposed pulse adds to a pixel of luma 128.
    """

    mean_interval_s: float = 0.35
    width_s: float = 0.002
    brightness: float = 60.0

    def __post_init__(self) -> None:
        if self.mean_interval_s <= 2 * self.width_s or self.width_s <= 0:
            raise ValueError("width_s must be positive and well below mean_interval_s")


def draw_pulses(config: FlashConfig, duration_s: float, rng: np.random.Generator) -> FloatArray:
    """Return the starts of all pulses in a clip, true seconds, shape (n,)."""
    n_most = int(2 * duration_s / config.mean_interval_s) + 2
    starts = np.cumsum(config.mean_interval_s * rng.uniform(0.5, 1.5, n_most))
    return np.asarray(starts[starts < duration_s])


def lit_fraction(
    starts_s: FloatArray, width_s: float, row_times_s: FloatArray, exposure_s: float
) -> FloatArray:
    """Return the share of pulse light that each row gathers, shape (n_rows,).

    Row r exposes ``[t_r - E/2, t_r + E/2]``; a pulse counts by the overlap over its width.

    Parameters
    ----------
    starts_s : ndarray, shape (n,)
    width_s : float
    row_times_s : ndarray, shape (n_rows,)
        Middle of each row's exposure.
    exposure_s : float
    """
    reach = exposure_s + width_s
    near = starts_s[(starts_s > row_times_s[0] - reach) & (starts_s < row_times_s[-1] + reach)]
    opens, closes = row_times_s - exposure_s / 2, row_times_s + exposure_s / 2
    overlap = np.minimum(closes[:, None], near + width_s) - np.maximum(opens[:, None], near)
    return np.asarray(np.clip(overlap, 0.0, None).sum(axis=1) / width_s)
