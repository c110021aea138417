"""Solve all clocks of a clip at once: one offset, drift and step per clock.

Each part of the solution is a module of its own: measurements become edges (`edges`), steps are
attributed to a clock (`steps`), the rest becomes linear equations (`network`) whose least squares
finds corrections and blames contradictions (`adjustment`), loops show where the measurements do not
close (`loops`), and consensus chooses the clock that reference time is read from. Changing the
reference is an exact change of coordinates afterwards (`gauge`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from syncaudit.errors import UsageError, nearest_name
from syncaudit.graph.edges import Graph, build_graph
from syncaudit.graph.gauge import Spread, choose_reference, estimate_of, find_suspects, spread_of
from syncaudit.graph.network import Network, solve_network
from syncaudit.graph.steps import ClockStep
from syncaudit.model import ClockEstimate, ClockJump, ClockSolution, PairMeasurement
from syncaudit.model.arrays import Floats

# If the reference's own epoch differs by more, its timestamp of the instant is reported instead.
_SAME_EPOCH_S = 3600.0


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
    spread = spread_of(graph, network, span_s)
    voters = [i for i, name in enumerate(graph.clocks) if name not in followers]
    usual_s = np.array([(usual_offset_s or {}).get(name, 0.0) for name in graph.clocks])
    unusual = replace(spread, offset_s=spread.offset_s - (usual_s[:, None] - usual_s[None, :]))
    consensus = _consensus(graph, unusual, tolerance, trust, stated, voters)
    chosen = consensus if stated is None else graph.clocks.index(stated)
    suspects = (
        []
        if consensus is None
        else find_suspects(
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
            name: estimate_of(graph, network, i, chosen, out_ns)
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
) -> int | None:
    """Return the reference chosen by consensus, in the stated one's component or the largest."""
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
    return choose_reference(spread, tolerance, members, trust)


def _chi2_reduced(graph: Graph, network: Network, reference: int | None) -> float | None:
    if reference is None:
        return None
    for component, total, freedom in network.chi2:
        if component == graph.component[reference] and freedom > 0.5:
            return total / freedom
    return None
