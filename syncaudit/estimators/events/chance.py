"""Tell how likely chance alone matches as many events."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from syncaudit.estimators.events.hypotheses import MIN_MATCHED, Hypothesis
from syncaudit.estimators.events.instants import Instants, unlike
from syncaudit.estimators.events.pair_fit import gates_s, residuals_s
from syncaudit.estimators.events.voting import chance_of

__all__ = ["chance_of_match"]

Floats = NDArray[np.float64]

# Other events within this distance tell the rate that bursts have (a false match inside a burst).
BURST_S = 0.25
# Where chance matches this share of the events, they must also gather around the offset: more of
# them than this, in deviations of a fair coin, within half of their gates.
CROWDED_SHARE = 0.2
MIN_GATHERED = 4.0
# Coincidences right beside an offset are counted between so many gates.
BESIDE = (2.0, 6.0)


def chance_of_match(
    source: Instants,
    target: Instants,
    found: Hypothesis,
    range_s: float,
    max_drift_ppm: float,
) -> float:
    """Return the probability that chance matches as many events as `found` somewhere.

    Chance is the largest of three rates: what the density of events around each event gives, what
    other offsets give (`_usual_coincidences`): frames, or a nearly even train, line events up, and
    what the offsets right beside give (`_coincidences_beside`): in dense trains frames that
    overlap have many events for each of which another is near.
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
    expected = max(expected, _coincidences_beside(predicted, seen, gate))
    if expected > CROWDED_SHARE * found.i.size and _is_flat(source, target, found):
        return 1.0
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


def _coincidences_beside(predicted: Floats, seen: Floats, gate_s: float) -> float:
    """Return how many events would coincide a few gates beside the offset.

    Nearer than `BESIDE[0]` gates lie those whose stamps jitter.
    """
    near, far = (
        np.sum(
            np.searchsorted(seen, predicted + gates * gate_s)
            - np.searchsorted(seen, predicted - gates * gate_s)
        )
        for gates in BESIDE
    )
    return 0.5 * float(far - near) / (BESIDE[1] - BESIDE[0])


def _is_flat(source: Instants, target: Instants, found: Hypothesis) -> bool:
    """Tell whether matched instants scatter evenly over their gates, as those of chance do."""
    i, j = found.i, found.j
    if source.half_s[i].any() or target.half_s[j].any():
        return False
    off_s = np.abs(residuals_s(found.fit, source, target, i, j))
    n_inner = np.count_nonzero(off_s < 0.5 * gates_s(source, target, i, j))
    return bool(n_inner - 0.5 * i.size < MIN_GATHERED * 0.5 * np.sqrt(i.size))
