"""Solve all clocks of a clip at once: one offset, drift and step per clock.

Measurements become edges (`edges`), steps are attributed to a clock (`steps`), the rest becomes
linear equations (`network`) whose least squares finds corrections and blames contradictions, loops
show where the measurements do not close, and consensus chooses the clock that reference time is
read from. Changing the reference is an exact change of coordinates afterwards.

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
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr

from syncaudit.errors import UsageError, nearest_name
from syncaudit.graph.edges import Graph, build_graph
from syncaudit.graph.network import Network, solve_network
from syncaudit.graph.steps import SAME_EVENT_S, ClockStep
from syncaudit.model import ClockEstimate, ClockJump, ClockSolution, PairMeasurement
from syncaudit.model.arrays import Floats

# If the reference's own epoch differs by more, its timestamp of the instant is reported instead.
_SAME_EPOCH_S = 3600.0

_COUNT_TIE = 0.5
_DISTANCE_TIE = 0.25
_SURE = 1.96
# The middle of a clip is on one side of a step beyond doubt if it is this many standard errors of
# the instant away: a step while nothing moves may lie anywhere in up to sqrt(3) of them.
_SIDE_SURE = 3.0


def solve_clocks(
    measurements: Sequence[PairMeasurement],
    clock_of_source: Mapping[str, str],
    *,
    at_ns: int,
    tolerance_s: Mapping[str, float],
    reference: str | None = None,
    preference: Sequence[str] = (),
    span_s: float = 0.0,
    expected_offset_s: Mapping[str, float] | None = None,
    followers: Collection[str] = (),
    usual_offset_s: Mapping[str, float] | None = None,
) -> ClockSolution:
    """Return the one set of clocks that the measurements agree on.

    Parameters
    ----------
    measurements : sequence of PairMeasurement
        All of the clip or recording; refused and baseline-only ones are ignored.
    clock_of_source : mapping of str to str
        Clock that stamps each source; every clock named here is part of the solution.
    at_ns : int
        Instant at which the offsets hold, typically the middle of the clip. If the reference turns
        out to have another epoch altogether (more than an hour away), the solution's `at_ns` is the
        reference's own timestamp of that instant.
    tolerance_s : mapping of str to float
        Offset that is still acceptable, per clock; consensus counts clocks outside it.
    reference : str, optional
        Clock (or source) that reference time is read from; default by consensus.
    preference : sequence of str
        Clocks in order of trust, for ties of the consensus.
    span_s : float
        Length of the clip: consensus considers the whole of it, so that drift counts.
    expected_offset_s : mapping of str to float, optional
        Intended offset per source (``expected_offset_s`` of the manifest). It is subtracted from
        the measurements, so that the solution holds what is left.
    followers : collection of str
        Clocks without a vote on which is wrong (transcripts: their times depend on their audio).
    usual_offset_s : mapping of str to float, optional
        Offsets that the clocks show in other recordings of the same setup: consensus looks for the
        clocks that depart from them. They are not subtracted.

    Returns
    -------
    ClockSolution
        Offsets relative to the reference with standard errors from the covariance, inflated by
        the root of the reduced chi-square of the loops a clock depends on if that exceeds 1.

    Raises
    ------
    UsageError
        If the reference or a measurement's source is unknown.
    """
    stated = _stated(reference, clock_of_source)
    if expected_offset_s:
        measurements = [_without(m, expected_offset_s) for m in measurements]
    if not measurements:
        return _unmeasured(dict.fromkeys(clock_of_source.values()), stated, at_ns)
    graph = build_graph(measurements, clock_of_source, at_ns)
    n_used = Counter(end for edge in graph.edges for end in (edge.source, edge.target))
    rank = {name: k for k, name in enumerate(preference)}
    by_name = {name: k for k, name in enumerate(sorted(graph.clocks))}
    trust = [
        (rank.get(name, len(rank)), -n_used[i], by_name[name])
        for i, name in enumerate(graph.clocks)
    ]
    network = solve_network(graph, trust, span_s)
    tolerance = np.array([tolerance_s.get(name, math.inf) for name in graph.clocks])
    spread = _spread_of(graph, network, span_s)
    voters = [i for i, name in enumerate(graph.clocks) if name not in followers]
    usual_s = np.array([(usual_offset_s or {}).get(name, 0.0) for name in graph.clocks])
    unusual = replace(spread, offset_s=spread.offset_s - (usual_s[:, None] - usual_s[None, :]))
    jumping = {i for i, step in network.stepped.steps.items() if step.is_own}
    consensus = _consensus(graph, unusual, tolerance, trust, stated, voters, jumping)
    chosen = consensus if stated is None else graph.clocks.index(stated)
    suspects = (
        []
        if consensus is None
        else _find_suspects(
            spread,
            tolerance,
            [i for i in voters if graph.component[i] == graph.component[consensus]],
            consensus,
        )
    )
    anchor_ns = at_ns if chosen is None else graph.anchors_ns[chosen]
    out_ns = anchor_ns if abs(anchor_ns - at_ns) * 1e-9 > _SAME_EPOCH_S else at_ns
    return ClockSolution(
        reference=None if chosen is None else graph.clocks[chosen],
        is_reference_stated=stated is not None,
        at_ns=out_ns,
        clocks={
            name: _estimate_of(graph, network, i, chosen, out_ns)
            for i, name in enumerate(graph.clocks)
        },
        edges=network.residuals,
        loops=tuple(network.loops),
        components=_components(graph, n_used),
        chi2_reduced=_chi2_reduced(graph, network, chosen),
        suspects=tuple(graph.clocks[i] for i in suspects),
        jumps=_jumps(graph, network.stepped.steps),
        step_suspects=_jumps(graph, network.stepped.suspects),
    )


def _jumps(graph: Graph, steps: Mapping[int, ClockStep]) -> dict[str, ClockJump]:
    return {
        graph.clocks[i]: ClockJump(
            step_s=step.size_s,
            step_std_s=step.std_s,
            at_ns=graph.anchors_ns[i] + round(step.after_s * 1e9),
            is_past=step.is_past,
            is_own=step.is_own,
        )
        for i, step in steps.items()
    }


def _unmeasured(clocks: Collection[str], stated: str | None, at_ns: int) -> ClockSolution:
    """Return the clocks of a clip in which nothing was measured."""
    return ClockSolution(
        reference=stated,
        is_reference_stated=stated is not None,
        at_ns=at_ns,
        clocks={name: ClockEstimate(clock=name, is_observable=False) for name in clocks},
        components=tuple((name,) for name in sorted(clocks)),
    )


def _without(m: PairMeasurement, expected_offset_s: Mapping[str, float]) -> PairMeasurement:
    if m.offset_s is None:
        return m
    intended_s = expected_offset_s.get(m.source, 0.0) - expected_offset_s.get(m.target, 0.0)
    return replace(m, offset_s=m.offset_s - intended_s)


def _stated(reference: str | None, clock_of_source: Mapping[str, str]) -> str | None:
    if reference is None:
        return None
    clocks = set(clock_of_source.values())
    if reference in clocks:
        return reference
    if reference in clock_of_source:
        return clock_of_source[reference]
    raise UsageError(
        f"the reference '{reference}' is not a clock of the clip",
        hint=nearest_name(reference, clocks),
    )


def _components(graph: Graph, n_used: Mapping[int, int]) -> tuple[tuple[str, ...], ...]:
    members: dict[int, list[int]] = {}
    for i, component in enumerate(graph.component):
        members.setdefault(component, []).append(i)
    ordered = sorted(
        members.values(),
        key=lambda group: (
            -len(group),
            -sum(n_used[i] for i in group),
            min(graph.clocks[i] for i in group),
        ),
    )
    return tuple(tuple(sorted(graph.clocks[i] for i in group)) for group in ordered)


def _consensus(
    graph: Graph,
    spread: Spread,
    tolerance: Floats,
    trust: Sequence[tuple[int, ...]],
    stated: str | None,
    voters: Sequence[int],
    jumping: Collection[int],
) -> int | None:
    """Return the reference chosen by consensus, in the stated one's component or the largest.

    Clocks whose own timestamps jump are none, however many others jump with them.
    """
    if stated is not None:
        home = graph.component[graph.clocks.index(stated)]
    else:
        voting = [graph.component[i] for i in voters]
        measured = {graph.component[edge.source] for edge in graph.edges} & set(voting)
        if not measured:
            return None
        home = min(
            measured,
            key=lambda c: (
                -voting.count(c),
                -sum(1 for edge in graph.edges if graph.component[edge.source] == c),
                min(trust[i] for i, other in enumerate(graph.component) if other == c),
            ),
        )
    members = [i for i in voters if graph.component[i] == home]
    if not members:  # the manifest names a transcript
        return None
    steady = [i for i in members if i not in jumping]
    return _choose_reference(spread, tolerance, steady or members, trust)


def _chi2_reduced(graph: Graph, network: Network, reference: int | None) -> float | None:
    if reference is None:
        return None
    for component, total, freedom in network.chi2:
        if component == graph.component[reference] and freedom > 0.5:
            return total / freedom
    return None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Spread:
    """How far every clock is from every other over the clip."""

    # shape (k, n, n): at k instants: correction of clock [c] relative to clock [r], and its
    # standard error
    offset_s: Floats
    std_s: Floats


def _choose_reference(
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


def _find_suspects(
    spread: Spread, tolerance_s: Floats, members: Sequence[int], reference: int
) -> list[int]:
    """Return the clocks surely outside their tolerance relative to the reference."""
    offset, std = spread.offset_s[:, :, reference], spread.std_s[:, :, reference]
    is_outside = np.max(np.abs(offset) - _SURE * std, axis=0) > tolerance_s
    return [clock for clock in members if clock != reference and is_outside[clock]]


def _spread_of(graph: Graph, network: Network, span_s: float) -> Spread:
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


def _estimate_of(
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
        is_side_sure=step is None or abs(step.after_s) > _SIDE_SURE * step.after_std_s,
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
