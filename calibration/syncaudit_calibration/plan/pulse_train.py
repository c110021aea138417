"""A train of pulses of equal width, and its properties."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from syncaudit.model.arrays import Floats

TICK_S = 1e-6
# Instants that agree to this are indistinguishable while clocks are still unknown.
ALIKE_S = 1e-3
MAX_LAG_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PulseTrain:
    """A train of pulses of equal width."""

    # shape (n,): start of each pulse, in seconds after the start of the train, increasing
    starts_s: Floats
    width_s: float  # duration of each pulse
    n_per_burst: int  # number of pulses per burst
    duration_s: float  # duration of the recording, including the dark times at both ends

    @property
    def n(self) -> int:
        """Return the number of pulses."""
        return int(self.starts_s.size)

    @property
    def smallest_gap_s(self) -> float:
        """Return the shortest time between the starts of successive pulses."""
        return float(np.diff(self.starts_s).min()) if self.n > 1 else math.inf

    @property
    def most_per_second(self) -> int:
        """Return the largest number of pulses that start within any one second."""
        stops = np.searchsorted(self.starts_s, self.starts_s + 1.0 - TICK_S)
        return int((stops - np.arange(self.n)).max(initial=0))

    @property
    def runner_up(self) -> float:
        """Return the largest fraction of pulses that coincide when the train is shifted.

        This is the highest peak, zero aside, of the histogram of all differences up to 30 s, in
        windows of +/- 1 ms: 1 for a periodic train, which is ambiguous by whole periods; matching
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
        """Return a table with the columns start_s and width_s, as the simulator reads it."""
        rows = [f"{start:.6f},{self.width_s:.6f}" for start in self.starts_s]
        return "\n".join(["start_s,width_s", *rows]) + "\n"


def switchings(train: PulseTrain, on_s: Floats) -> PulseTrain:
    """Return the switching on and off of a light that stays on, as pulses of zero width.

    A camera dates a switching if a row is being exposed at that time, in
    ``(readout + E) / T_frame`` of the cases: earlier rows show no light, later rows all of it.

    `train`: when the light goes on. `on_s`, shape (n,): how long it stays on.
    """
    edges_s = np.sort(np.concatenate([train.starts_s, train.starts_s + on_s]))
    return replace(train, starts_s=edges_s, width_s=0.0, n_per_burst=1)
