"""Detect clicks played by a video: they align with its frames and do not date its light."""

from __future__ import annotations

import numpy as np

from syncaudit.estimators.events import EventEvidence
from syncaudit.model import EventTrain, Quantity
from syncaudit.model.arrays import Floats

# Offset between sound and light of a video: ITU-R BT.1359 accepts 90 ms early to 185 ms late, and
# displays and speakers make use of that range (one sigma of a uniform distribution).
PLAYED_STD_S = 0.275 / 12**0.5
# Frame rate of videos made for screens; the search includes 59.94 Hz and errors of player clocks.
FRAME_RATE_HZ = 60.0
RATE_REACH = 1.2e-3
# Programs that switch lamps wait for multiples of 50 ms, which are whole frames as well.
TICKS_PER_PROGRAM = 3
# Maximum p-value of a grid (Rayleigh's test of a common phase, times the number of rates tried).
MAX_CHANCE = 1e-4


def is_played(item: EventEvidence) -> bool:
    """Return whether the clicks of a source align with the frames of a video."""
    if not isinstance(item, EventTrain) or item.quantity is not Quantity.CLICK:
        return False
    return (
        _chance(item.times_s, FRAME_RATE_HZ)
        < MAX_CHANCE
        <= _chance(item.times_s, FRAME_RATE_HZ / TICKS_PER_PROGRAM)
    )


def _chance(times_s: Floats, rate_hz: float) -> float:
    """Return the p-value of a common phase of the events at a rate near this one."""
    if times_s.size < 2:
        return 1.0
    reach_hz = RATE_REACH * rate_hz
    n_rates = 1 + int(np.ceil(8.0 * reach_hz * float(np.ptp(times_s))))
    rates_hz = rate_hz + np.linspace(-reach_hz, reach_hz, n_rates)
    turns = np.exp(2j * np.pi * rates_hz[:, None] * (times_s - times_s[0]))
    return float(n_rates * np.exp(-(np.max(np.abs(turns.sum(axis=1))) ** 2) / times_s.size))
