"""Simulate which pulses each camera sees, over random phases of its frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from syncaudit.model.arrays import Bools, Floats
from syncaudit_calibration.plan.cameras import PlannedCamera
from syncaudit_calibration.plan.pulse_train import PulseTrain

N_DRAWS = 400
MAX_CELLS = 20_000_000  # of phases x cameras x pulses at once
# Shared flashes that surely tie two cameras: what matching needs if line delays are not stated.
MIN_TIED = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class CameraView:
    """Visibility of a train to one camera, over all phases of its frames."""

    share_by_formula: float  # ``(readout + E + w) / T_frame``
    # Mean over the simulated phases, and the standard deviation between phases.
    share_seen: float
    share_seen_std: float
    share_of_bursts: float  # fraction of bursts of which it sees at least one pulse
    share_with_both_edges: float  # fraction of pulses whose band lies in one image with both edges


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Visibility:
    """Visibility of a train to all cameras."""

    views: tuple[CameraView, ...]  # one per camera
    shared: Floats  # shape (c, c): expected number of flashes that two cameras both see
    shared_by_all: float  # expected number that all see
    # Fraction of camera pairs, over all phases, that share fewer than 8 flashes.
    share_of_pairs_apart: float
    # Fraction of phases for which all cameras are tied, directly or through others.
    share_tied: float

    @property
    def fewest_shared(self) -> float:
        """Return the expected number for the pair that shares fewest flashes."""
        return float(self.shared[~np.eye(len(self.views), dtype=np.bool_)].min())


def draw_phases(cameras: Sequence[PlannedCamera], n_draws: int, rng: np.random.Generator) -> Floats:
    """Draw the start of a frame of each free-running camera, in seconds, shape (n_draws, c)."""
    return rng.uniform(0.0, [camera.period_s for camera in cameras], (n_draws, len(cameras)))


def pulses_seen(cameras: Sequence[PlannedCamera], train: PulseTrain, phases_s: Floats) -> Bools:
    """Return which pulses meet an exposure, shape (n_draws, c, n)."""
    periods_s = np.array([camera.period_s for camera in cameras])[:, None]
    visible_s = np.array([camera.visible_s(train.width_s) for camera in cameras])[:, None]
    since_s = train.starts_s + train.width_s - phases_s[:, :, None]
    return np.asarray(np.mod(since_s, periods_s) < visible_s)


def visibility(
    cameras: Sequence[PlannedCamera],
    train: PulseTrain,
    *,
    rng: np.random.Generator,
    n_draws: int = N_DRAWS,
) -> Visibility:
    """Simulate which pulses of a train cameras with random phases see.

    Phases are constant over the whole train: in minutes, clocks move them by milliseconds only.
    Pulses within a burst are not independent (a missed pulse is followed by a seen one), so that
    the formula for single pulses does not apply to bursts and pairs. Two cameras of the same rate
    whose frames are half a period apart may share no flash at all, however many there are, if
    readout + E + w is less than half a period: other cameras must then tie them.
    """
    n_draws = max(1, min(n_draws, MAX_CELLS // (len(cameras) * max(train.n, 1))))
    seen = pulses_seen(cameras, train, draw_phases(cameras, n_draws, rng))
    n_bursts = train.n // train.n_per_burst
    by_burst = seen.reshape(n_draws, len(cameras), n_bursts, train.n_per_burst)
    burst_shares = np.mean(by_burst.any(axis=3), axis=(0, 2))
    shares = seen.mean(axis=2)
    counts = seen.astype(np.float32)
    shared = counts @ counts.transpose(0, 2, 1)
    is_tied = shared >= MIN_TIED
    is_pair = ~np.eye(len(cameras), dtype=np.bool_)
    return Visibility(
        views=tuple(
            CameraView(
                share_by_formula=camera.share_seen(train.width_s),
                share_seen=float(shares[:, k].mean()),
                share_seen_std=float(shares[:, k].std()),
                share_of_bursts=float(burst_shares[k]),
                share_with_both_edges=camera.share_with_both_edges(train.width_s),
            )
            for k, camera in enumerate(cameras)
        ),
        shared=shared.mean(axis=0, dtype=np.float64),
        shared_by_all=float(seen.all(axis=1).sum(axis=1).mean()),
        share_of_pairs_apart=float(np.mean(~is_tied[:, is_pair])),
        share_tied=float(_reachable(is_tied | ~is_pair).all(axis=(1, 2)).mean()),
    )


def _reachable(is_tied: Bools) -> Bools:
    """Return which cameras are tied through any number of others, shape (n, c, c)."""
    reach = is_tied
    for _ in range(is_tied.shape[1].bit_length()):
        reach = (reach.astype(np.float32) @ reach.astype(np.float32)) > 0.0
    return reach
