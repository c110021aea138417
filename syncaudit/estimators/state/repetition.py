"""Detect repeating robot motion, whose delay is known only modulo the period."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from syncaudit.dsp.integral import RunningIntegral
from syncaudit.model.arrays import Floats

STEP_S = 0.04
# Directions of motion that are compared, and the part of the clip that must overlap: a repeating
# motion is then seen three times.
MAX_DIRECTIONS = 3
MIN_OVERLAP = 2.0 / 3.0
# Motion repeats where it predicts this share of itself, with less than the second in between.
MIN_SHARE = 0.8
VALLEY_SHARE = 0.5
# The first peak that is nearly as high as the highest is the period, the others its multiples.
NEAR_HIGHEST = 0.9
# Motion that looks the same at every delay counts as repeating every second, the duration of the
# slowest moves.
STEADY_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Repetition:
    """Repetition of a motion."""

    period_s: float | None  # None where it looks the same at every delay, as steady turning does
    share: float  # part of the motion that it predicts a period later

    def n_times(self, span_s: float) -> float:
        """Return how often a clip of `span_s` seconds shows the same motion."""
        return max(1.0, span_s / (STEADY_S if self.period_s is None else self.period_s))

    def __str__(self) -> str:
        """Describe the consequence for a delay."""
        much = f"{100.0 * self.share:.0f} % of it"
        cure = "Record motion that does not repeat"
        if self.period_s is None:
            return (
                f"the motion looks the same at every delay ({much} is predicted at any): it "
                f"shows no offset. {cure}"
            )
        return (
            f"the motion repeats every {self.period_s:.2g} s ({much} does): the offset is known "
            f"only modulo that. {cure}, or limit the search to less than half of it (max_offset_s)"
        )


def find_repetition(joints: RunningIntegral) -> Repetition | None:
    """Return how the joints' motion repeats, or None where it does not.

    Anything is compared with the motion through a free linear mixing, so motion that recurs
    reversed or with other joints fits as well. So the measure is the share of the rates that a
    linear mixing of the rates at another time predicts.
    """
    span_s = joints.stop_s - joints.start_s
    n = int(span_s / STEP_S)
    if n < MAX_DIRECTIONS + 2:
        return None
    _, rates = joints.with_rate_at(joints.start_s + STEP_S * np.arange(n, dtype=np.float64))
    left, size, _ = np.linalg.svd(rates - rates.mean(axis=0), full_matrices=False)
    moves = (left * size)[:, :MAX_DIRECTIONS]
    shares = np.array([_share(moves, lag) for lag in range(int((1.0 - MIN_OVERLAP) * n))])
    low = np.flatnonzero(shares < VALLEY_SHARE)
    if not low.size:
        return Repetition(period_s=None, share=float(shares.min(initial=1.0)))
    beyond = shares[low[0] :]
    if beyond.max() < MIN_SHARE:
        return None
    near = np.flatnonzero(beyond >= max(MIN_SHARE, NEAR_HIGHEST * beyond.max()))
    # The best of the first run of such lags.
    stop = near[0] + int(np.argmax(np.append(np.diff(near) > 1, True))) + 1
    lag = near[0] + int(np.argmax(beyond[near[0] : stop]))
    return Repetition(period_s=float(STEP_S * (low[0] + lag)), share=float(beyond[lag]))


def _share(moves: Floats, lag: int) -> float:
    n = moves.shape[0] - lag
    earlier, later = moves[:n], moves[lag:]
    mixing, *_ = np.linalg.lstsq(earlier, later, rcond=None)
    return float(1.0 - np.sum((later - earlier @ mixing) ** 2) / (np.sum(later**2) + 1e-30))
