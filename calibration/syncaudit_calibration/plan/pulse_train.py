"""Pulses of one width, and what may be read off them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

__all__ = ["TICK_S", "PulseTrain", "switchings"]

Floats = NDArray[np.float64]

TICK_S = 1e-6
# Instants that agree to this look alike while clocks are still unknown.
ALIKE_S = 1e-3
MAX_LAG_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PulseTrain:
    """Pulses of one width.

    Parameters
    ----------
    starts_s : ndarray, shape (n,)
        When each begins, seconds after the start of the train, increasing.
    width_s : float
        How long each lasts.
    n_per_burst : int
        Pulses that follow closely upon one another.
    duration_s : float
        How long to record, with the dark times at both ends.
    """

    starts_s: Floats
    width_s: float
    n_per_burst: int
    duration_s: float

    @property
    def n(self) -> int:
        """Return the number of pulses."""
        return int(self.starts_s.size)

    @property
    def smallest_gap_s(self) -> float:
        """Return the shortest time from the start of a pulse to that of the next."""
        return float(np.diff(self.starts_s).min()) if self.n > 1 else math.inf

    @property
    def most_per_second(self) -> int:
        """Return the most pulses that start within any one second."""
        stops = np.searchsorted(self.starts_s, self.starts_s + 1.0 - TICK_S)
        return int((stops - np.arange(self.n)).max(initial=0))

    @property
    def runner_up(self) -> float:
        """Return the share of pulses that the train meets when it is shifted against itself.

        The highest peak beside zero of the histogram of all differences up to 30 s, in windows of
        +/- 1 ms: 1 for a periodic train, which no shift by a period can be told from; matching
        refuses above 0.6.
        """
        parts = []
        for k in range(1, self.n):
            parts.append(self.starts_s[k:] - self.starts_s[:-k])
            if parts[-1].min() > MAX_LAG_S:
                break
        lags = np.sort(np.concatenate([np.empty(0), *parts]))
        lags = lags[(lags > 2.0 * ALIKE_S) & (lags <= MAX_LAG_S)]
        stops = np.searchsorted(lags, lags + 2.0 * ALIKE_S, side="right")
        return float((stops - np.arange(lags.size)).max(initial=0)) / max(self.n, 1)

    def to_csv(self) -> str:
        """Return a table with the columns start_s and width_s, as the simulator plays it."""
        rows = [f"{start:.6f},{self.width_s:.6f}" for start in self.starts_s]
        return "\n".join(["start_s,width_s", *rows]) + "\n"


def switchings(train: PulseTrain, on_s: Floats) -> PulseTrain:
    """Return the goings on and off of a light that is on for long, as pulses of no width.

    A camera dates one where a row is exposed meanwhile, in ``(readout + E) / T_frame`` of the
    cases: rows before show no light, and rows after all of it.

    `train`: when it goes on. `on_s`, shape (n,): how long it is on.
    """
    edges_s = np.sort(np.concatenate([train.starts_s, train.starts_s + on_s]))
    return replace(train, starts_s=edges_s, width_s=0.0, n_per_burst=1)
