"""Tell clicks that a video played: they keep to its frames, and tell no time of the light."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from syncaudit.estimators.events import EventEvidence
from syncaudit.model import EventTrain, Quantity

__all__ = ["PLAYED_STD_S", "is_played"]

# By how much the sound and the light of one video may differ: ITU-R BT.1359 calls 90 ms early to
# 185 ms late acceptable, and displays and speakers use that (as evenly spread, one sigma).
PLAYED_STD_S = 0.275 / 12**0.5
# Frames of videos made for screens; 59.94 Hz and the crystals of players lie within the search.
FRAME_RATE_HZ = 60.0
RATE_REACH = 1.2e-3
# Programs that switch lamps wait for multiples of 50 ms, which lie on frames as well.
TICKS_PER_PROGRAM = 3
# Chance must not explain a grid (Rayleigh's test of a common phase, times the rates tried).
MAX_CHANCE = 1e-4


def is_played(item: EventEvidence) -> bool:
    """Return whether the clicks of a source keep to the frames of a video.

    Parameters
    ----------
    item : FlashEdges, FlashIntervals or EventTrain
        What a source noticed.
    """
    if not isinstance(item, EventTrain) or item.quantity is not Quantity.CLICK:
        return False
    return (
        _chance(item.times_s, FRAME_RATE_HZ)
        < MAX_CHANCE
        <= _chance(item.times_s, FRAME_RATE_HZ / TICKS_PER_PROGRAM)
    )


def _chance(times_s: NDArray[np.float64], rate_hz: float) -> float:
    """Return how likely events without a grid have a common phase at a rate near this one."""
    if times_s.size < 2:
        return 1.0
    reach_hz = RATE_REACH * rate_hz
    n_rates = 1 + int(np.ceil(8.0 * reach_hz * float(np.ptp(times_s))))
    rates_hz = rate_hz + np.linspace(-reach_hz, reach_hz, n_rates)
    turns = np.exp(2j * np.pi * rates_hz[:, None] * (times_s - times_s[0]))
    return float(n_rates * np.exp(-(np.max(np.abs(turns.sum(axis=1))) ** 2) / times_s.size))
