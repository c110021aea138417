"""Tell how likely chance alone matches as many events."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from syncaudit.estimators.events.hypotheses import MIN_MATCHED, Hypothesis
from syncaudit.estimators.events.instants import Instants, unlike
from syncaudit.estimators.events.pair_fit import gates_s
from syncaudit.estimators.events.voting import chance_of

__all__ = ["chance_of_match"]

Floats = NDArray[np.float64]

# Other events within this distance tell the rate that bursts have (a false match inside a burst).
BURST_S = 0.25


def chance_of_match(
    source: Instants,
    target: Instants,
    found: Hypothesis,
    range_s: float,
    max_drift_ppm: float,
) -> float:
    """Return the probability that chance matches as many events as `found` somewhere.

    Chance is the larger of two rates: what the density of events around each event gives, and what
    other offsets give (`_usual_coincidences`): frames, or a nearly even train, line events up.
    """
    if found.i.size < MIN_MATCHED:
        return 1.0
    predicted = found.fit.predict(source.times_s, source.row_px)
    seen = target.times_s
    inside = (predicted >= seen[0] - BURST_S) & (predicted <= seen[-1] + BURST_S)
    rate_hz = seen.size / max(float(seen[-1] - seen[0]), BURST_S)
    apart = unlike(source, target)
    like = 1.0 if apart is None else 1.0 - apart.mean(axis=1)
    near = np.searchsorted(seen, predicted + BURST_S) - np.searchsorted(seen, predicted - BURST_S)
    is_matched = np.isin(np.arange(predicted.size), found.i)
    local_hz = np.asarray(like * np.maximum(rate_hz, (near - is_matched) / (2.0 * BURST_S)))
    gate = 2.0 * float(np.mean(gates_s(source, target, found.i, found.j)))
    expected = float(np.sum(np.minimum(local_hz[inside] * gate, 1.0)))
    expected = max(expected, _usual_coincidences(predicted, seen, gate, apart))
    span_s = float(np.ptp(source.times_s))
    n_trials = max(1.0, range_s / gate) * max(1.0, 2e-6 * max_drift_ppm * span_s / gate)
    for events in (source, target):
        row_s = 4.0 * events.line_delay_std_s * float(np.ptp(events.row_px))
        n_trials *= max(1.0, row_s / gate)
    return chance_of(found.i.size, expected, n_trials)


def _usual_coincidences(
    predicted: Floats, seen: Floats, gate_s: float, barred: NDArray[np.bool_] | None
) -> float:
    """Return how many events coincide at the offsets at which events do coincide.

    The counts c of coincidences at other offsets, each weighted by itself: ``sum c^2 / sum c - 1``
    is the rate of a Poisson process whatever it is, and where the trains keep step with one grid
    (two cameras with equal frame rates see nothing between their frames) that of its teeth, not
    of the gaps between them.
    """
    apart = seen[None, :] - predicted[:, None]
    apart = apart.ravel() if barred is None else apart[~barred]
    reach_s = 0.5 * min(float(np.ptp(seen)), float(np.ptp(predicted)))
    apart = apart[(np.abs(apart) <= reach_s) & (np.abs(apart) > 1.5 * gate_s)]
    if apart.size == 0:
        return 0.0
    _, counts = np.unique(np.floor(apart / gate_s), return_counts=True)
    return float(np.sum(counts**2) / counts.sum()) - 1.0
