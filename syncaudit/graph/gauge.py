"""Choose the clock that reference time is read from, and express all others relative to it.

Measurements fix offsets only up to a common constant. The consensus is the clock that leaves the
fewest others outside their tolerance, so that one shifted IMU is reported as such and not as "six
cameras are late". Counts are soft: a clock counts with the probability that it is outside, and
candidates that differ by less than half a clock are tied. If each of them has some clock surely
outside, ties go to the clock from which the others exceed their tolerance by the least (in
tolerances, at most one each); then to the more trusted one. Sure distances alone would favour the
least certain clock, from which none is surely off.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr

from syncaudit.graph.edges import Graph
from syncaudit.graph.network import Network
from syncaudit.graph.steps import SAME_EVENT_S, ClockStep
from syncaudit.model import ClockEstimate
from syncaudit.model.arrays import Floats

_COUNT_TIE = 0.5
_DISTANCE_TIE = 0.25
_SURE = 1.96


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Spread:
    """How far every clock is from every other over the clip."""

    # shape (k, n, n): at k instants: correction of clock [c] relative to clock [r], and its
    # standard error
    offset_s: Floats
    std_s: Floats


def choose_reference(
    spread: Spread, tolerance_s: Floats, members: Sequence[int], trust: Sequence[tuple[int, ...]]
) -> int:
    """Return the clock that consensus chooses as reference.

    Parameters
    ----------
    spread : Spread
        Of all clocks.
    tolerance_s : ndarray, shape (n,)
        Of each clock; infinite if it has none.
    members : sequence of int
        Clocks of the component.
    trust : sequence of tuple
        Sort key of each clock; the smallest wins a tie.
    """
    index = np.asarray(members)
    offset = np.abs(spread.offset_s[:, index[:, None], index[None, :]])
    std = spread.std_s[:, index[:, None], index[None, :]]
    tolerance = tolerance_s[index][None, :, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        above = ndtr((offset - tolerance) / std) + ndtr((-offset - tolerance) / std)
    above = np.where(std > 0.0, above, (offset > tolerance).astype(np.float64))
    count = np.max(above, axis=0).sum(axis=0)
    excess = np.maximum(offset - tolerance, 0.0) / tolerance
    distance = np.max(np.minimum(excess, 1.0), axis=0).sum(axis=0)
    sees_outsider = np.any(offset - _SURE * std > tolerance, axis=(0, 1))
    is_tied = count <= count.min() + _COUNT_TIE
    if np.all(sees_outsider[is_tied]):
        is_tied &= distance <= distance[is_tied].min() + _DISTANCE_TIE
    return min((int(i) for i in index[is_tied]), key=lambda i: trust[i])


def find_suspects(
    spread: Spread, tolerance_s: Floats, members: Sequence[int], reference: int
) -> list[int]:
    """Return the clocks surely outside their tolerance relative to the reference."""
    offset, std = spread.offset_s[:, :, reference], spread.std_s[:, :, reference]
    is_outside = np.max(np.abs(offset) - _SURE * std, axis=0) > tolerance_s
    return [clock for clock in members if clock != reference and is_outside[clock]]


def spread_of(graph: Graph, network: Network, span_s: float) -> Spread:
    """Tabulate every clock against every other at the ends and the middle of the clip."""
    n = len(graph.clocks)
    first = graph.anchors_ns[0] if graph.anchors_ns else 0
    anchors_s = np.array([(anchor - first) * 1e-9 for anchor in graph.anchors_ns])
    groups = np.array(graph.drift_group)
    shares_drift = groups[:, None] == groups[None, :]
    xx = network.covariance[:n, :n]
    xd = network.covariance[:n, n:]
    dd = network.covariance[n:, n:]
    steps = np.zeros(n)
    for clock, step in network.stepped.steps.items():
        steps[clock] = -step.size_s if step.is_past else step.size_s
    # Correction of [c] relative to [r]: both anchors mark the same instant.
    middle = (anchors_s[None, :] - anchors_s[:, None]) + (
        network.x_s[:, None] - network.x_s[None, :]
    )
    variance = _difference_variance(xx)
    offsets, stds = [], []
    for at_s in (0.0, -0.5 * span_s, 0.5 * span_s):
        lever = 1e-6 * at_s
        drift = lever * (network.drift_ppm[:, None] - network.drift_ppm[None, :])
        moved = _difference_variance(xx + lever * (xd + xd.T) + lever**2 * dd)
        offsets.append(middle + np.where(shares_drift, drift, 0.0))
        stds.append(np.sqrt(np.where(shares_drift, moved, variance)))
    if network.stepped.steps:
        offsets.append(middle + steps[:, None] - steps[None, :])
        stds.append(np.sqrt(variance))
    return Spread(offset_s=np.array(offsets), std_s=np.array(stds))


def _difference_variance(covariance: Floats) -> Floats:
    own = np.diag(covariance)
    return np.maximum(own[:, None] + own[None, :] - covariance - covariance.T, 0.0)


def estimate_of(
    graph: Graph, network: Network, clock: int, reference: int | None, at_ns: int
) -> ClockEstimate:
    """Express one clock relative to the reference: ``C_r^-1 . C_c`` as an offset at `at_ns`."""
    name = graph.clocks[clock]
    n_measurements = network.support[clock]
    is_measured = n_measurements > 0 or any(edge.source == clock for edge in graph.edges)
    if clock == reference and is_measured:
        return ClockEstimate.of_reference(name, n_measurements)
    if reference in (None, clock) or graph.component[clock] != graph.component[reference]:
        return ClockEstimate(clock=name, is_observable=False, n_measurements=n_measurements)
    n = len(graph.clocks)
    has_drift = graph.drift_group[clock] == graph.drift_group[reference]
    rate_c = 1.0 + 1e-6 * network.drift_ppm[clock] if has_drift else 1.0
    rate_r = 1.0 + 1e-6 * network.drift_ppm[reference] if has_drift else 1.0
    drift = (rate_c - rate_r) / rate_r
    since_c = (at_ns - graph.anchors_ns[clock]) * 1e-9
    apart = (graph.anchors_ns[reference] - graph.anchors_ns[clock]) * 1e-9
    dx = float(network.x_s[clock] - network.x_s[reference])
    gradient = np.zeros(2 * n)
    gradient[clock], gradient[reference] = 1.0 / rate_r, -1.0 / rate_r
    drift_gradient = np.zeros(2 * n)
    if has_drift:
        drift_gradient[n + clock] = 1.0 / rate_r
        drift_gradient[n + reference] = -rate_c / rate_r**2
        gradient += 1e-6 * since_c * drift_gradient
        gradient[n + reference] -= 1e-6 * dx / rate_r**2
    step = _relative_step(network.stepped.steps, clock, reference)
    # A drift that is only assumed is used, but is not a result.
    is_drift_known = has_drift and any(
        not edge.is_drift_assumed
        for edge in graph.edges
        if not edge.is_loop and clock in (edge.source, edge.target)
    )
    return ClockEstimate(
        clock=name,
        is_observable=True,
        offset_s=apart + dx / rate_r + drift * since_c,
        offset_std_s=_root(float(gradient @ network.covariance @ gradient)),
        drift_ppm=1e6 * drift if is_drift_known else None,
        drift_std_ppm=_root(float(drift_gradient @ network.covariance @ drift_gradient))
        if is_drift_known
        else None,
        step_s=None if step is None else step.size_s,
        step_std_s=None if step is None else step.std_s,
        step_at_ns=None if step is None else graph.anchors_ns[clock] + round(step.after_s * 1e9),
        step_at_std_s=0.0 if step is None else step.after_std_s,
        is_step_past=step is not None and step.is_past,
        n_measurements=n_measurements,
    )


def _relative_step(steps: Mapping[int, ClockStep], clock: int, reference: int) -> ClockStep | None:
    """Return the larger of the clock's own step and the reference's, relative to the reference."""
    own, other = steps.get(clock), steps.get(reference)
    if other is None:
        return own
    mirrored = replace(other, size_s=-other.size_s)
    if own is None:
        return mirrored
    if abs(own.after_s - other.after_s) < SAME_EVENT_S:
        return replace(
            own, size_s=own.size_s - other.size_s, std_s=math.hypot(own.std_s, other.std_s)
        )
    return max(own, mirrored, key=lambda step: abs(step.size_s))


def _root(variance: float) -> float:
    return math.sqrt(max(variance, 0.0))
