"""Turn pair measurements into the edges of a graph whose nodes are clocks.

Every clock gets an *anchor*: its own timestamp (whole nanoseconds) at about the instant of the
solution. Everything that is computed afterwards is small (a correction `x` that the anchors leave,
seconds since the anchor), so that clocks with unrelated epochs (boot time against unix time) lose
no digits. With the anchor ``A_c`` the correction of clock c is

    C_c(t) = T + x_c + (1 + d_c) * (t - A_c)

where T is the common instant. A measurement ``t_t = t_s + o + d * (t_s - a)`` means that C_s(a) =
C_t(a + o) and (1 + d_s) = (1 + d_t) * (1 + d). With p = a - A_s and q = a + o - A_t:

    q - p = x_s - x_t + d_s * p - d_t * q
    d     = d_s - (1 + d) * d_t

Both are exact *and* linear in the unknowns, because o and d are measured: no iteration is needed
and no product of drift and offset is lost.

Independent loops of edges show by how much the measurements fail to close.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from syncaudit.errors import UsageError, nearest_name
from syncaudit.model import LoopClosure, PairMeasurement, nanoseconds

# One sigma of a crystal's rate if it was not measured: data sheets promise 20 to 50 ppm at worst.
# It widens a measurement that holds at another instant than the solution.
_DRIFT_PRIOR_PPM = 20.0

# Offsets at several instants show drift themselves; worse than a data sheet is not a result.
_DRIFT_USEFUL_PPM = 50.0

# A measured drift that is less certain than this (quartz is good to 100 ppm whatever its
# temperature) and not even significant is worse than none: used, it would only blur offsets
# measured away from the solution's instant.
_DRIFT_VAGUE_PPM = 100.0
# Standard errors by which a rate differs from that of crystals.
_SURE = 3.0
# Estimators do not report a drift of fewer standard errors.
_DRIFT_SIGNIFICANT = 2.0

_STD_FLOOR_S = 1e-9  # timestamps are whole nanoseconds
_STD_FLOOR_PPM = 1e-6

_Used = tuple[int, PairMeasurement, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """One accepted measurement between two clocks, relative to their anchors."""

    index: int  # index among the measurements given to the solver
    # Numbers of the clocks; equal for two sources of one clock.
    source: int
    target: int
    # Instant of the measurement, in seconds after the anchor of the source's (target's) clock.
    source_s: float
    target_s: float
    # ``target_s - source_s`` and its standard error.
    y_s: float
    std_s: float
    # Relative rate.
    drift_ppm: float | None = None
    drift_std_ppm: float | None = None
    # Whether the rate is assumed from a crystal's data sheet, not measured.
    is_drift_assumed: bool = False
    # What is not known of the rate where none was measured, one sigma.
    unknown_drift_ppm: float = _DRIFT_PRIOR_PPM
    # Step of the offset and its instant after the source clock's anchor.
    step_s: float | None = None
    step_std_s: float | None = None
    step_after_s: float | None = None
    step_at_std_s: float = 0.0  # standard error of that instant
    jumping: frozenset[int] = frozenset()  # clocks whose own timestamps show that step
    # Rate fitted to the whole clip, significant or not, of an edge without a step.
    slope_ppm: float | None = None
    slope_std_ppm: float | None = None

    @property
    def is_loop(self) -> bool:
        """Whether both sources are stamped by the same clock."""
        return self.source == self.target


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """Clocks, their anchors and edges."""

    clocks: tuple[str, ...]  # names, in order of first mention
    anchors_ns: tuple[int, ...]  # timestamp of each clock at the common instant
    edges: tuple[Edge, ...]  # every usable measurement
    # Number of the connected component, and of the group within which drift is observable.
    component: tuple[int, ...]
    drift_group: tuple[int, ...]


def build_graph(
    measurements: Sequence[PairMeasurement], clock_of_source: Mapping[str, str], at_ns: int
) -> Graph:
    """Return the graph of the measurements that the solution may use.

    Parameters
    ----------
    measurements : sequence of PairMeasurement
        Refused and baseline-only ones are left out, and so are non-finite ones.
    clock_of_source : mapping of str to str
        Clock that stamps each source.
    at_ns : int
        Instant that the solution is for.

    Raises
    ------
    UsageError
        If a measurement names a source that has no clock.
    """
    clocks = tuple(dict.fromkeys(clock_of_source.values()))
    number = {clock: i for i, clock in enumerate(clocks)}
    used = [
        (
            index,
            m,
            number[_clock(m.source, clock_of_source)],
            number[_clock(m.target, clock_of_source)],
        )
        for index, m in enumerate(measurements)
        if _is_usable(m)
    ]
    component = _groups_of(len(clocks), [(s, t) for _, _, s, t in used])
    anchors = _anchors(len(clocks), used, at_ns)
    edges = [_edge(index, m, s, t, anchors) for index, m, s, t in used]
    edges = _with_assumed_drift(_without_rates_across_steps(edges))
    drift_group = _groups_of(len(clocks), _drift_pairs(edges))
    return Graph(
        clocks=clocks,
        anchors_ns=tuple(anchors),
        edges=tuple(_widened(edge, drift_group) for edge in edges),
        component=component,
        drift_group=drift_group,
    )


def _clock(source: str, clock_of_source: Mapping[str, str]) -> str:
    if source not in clock_of_source:
        raise UsageError(
            f"a measurement refers to the source '{source}', which has no clock",
            source=source,
            hint=nearest_name(source, clock_of_source),
        )
    return clock_of_source[source]


def _is_usable(m: PairMeasurement) -> bool:
    return (
        m.accepted
        and not m.is_baseline_only
        and m.offset_s is not None
        and m.offset_std_s is not None
        and math.isfinite(m.offset_s)
        and math.isfinite(m.offset_std_s)
    )


def _groups_of(n: int, pairs: Sequence[tuple[int, int]]) -> tuple[int, ...]:
    """Return for every one of n nodes the first node of its connected group."""
    parent = list(range(n))

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    for a, b in pairs:
        ra, rb = root(a), root(b)
        parent[max(ra, rb)] = min(ra, rb)
    return tuple(root(i) for i in range(n))


def _anchors(n: int, used: Sequence[_Used], at_ns: int) -> list[int]:
    """Carry the instant `at_ns` from clock to clock along the measurements.

    In each component it starts at the clock whose measured timestamps lie nearest to `at_ns`, since
    that is the time base that the caller uses.
    """
    neighbours: list[list[tuple[int, int]]] = [[] for _ in range(n)]
    distance: list[float] = [math.inf] * n
    for _, m, s, t in used:
        offset_ns = nanoseconds(float(m.offset_s or 0.0))
        neighbours[s].append((t, offset_ns))
        neighbours[t].append((s, -offset_ns))
        distance[s] = min(distance[s], abs(m.at_ns - at_ns))
        distance[t] = min(distance[t], abs(m.at_ns + offset_ns - at_ns))
    anchors: list[int | None] = [None] * n
    for start in sorted(range(n), key=lambda i: (distance[i], i)):
        if anchors[start] is not None:
            continue
        anchors[start] = at_ns
        queue = deque([(start, at_ns)])
        while queue:
            here, anchor = queue.popleft()
            for there, offset_ns in neighbours[here]:
                if anchors[there] is None:
                    anchors[there] = anchor + offset_ns
                    queue.append((there, anchor + offset_ns))
    return [at_ns if anchor is None else anchor for anchor in anchors]


def _edge(index: int, m: PairMeasurement, s: int, t: int, anchors: Sequence[int]) -> Edge:
    offset_s = float(m.offset_s or 0.0)
    source_s = (m.at_ns - anchors[s]) * 1e-9
    y_s = offset_s - (anchors[t] - anchors[s]) * 1e-9
    has_drift = (
        m.drift_ppm is not None
        and m.drift_std_ppm is not None
        and math.isfinite(m.drift_ppm)
        and math.isfinite(m.drift_std_ppm)
        and m.drift_std_ppm > 0.0
        and (
            m.drift_std_ppm <= _DRIFT_VAGUE_PPM
            or abs(m.drift_ppm) > _DRIFT_SIGNIFICANT * m.drift_std_ppm
        )
    )
    has_step = (
        m.step_s is not None
        and m.step_at_ns is not None
        and math.isfinite(m.step_s)
        and (m.step_std_s is None or math.isfinite(m.step_std_s))
    )
    figures = m.diagnostics
    return Edge(
        index=index,
        source=s,
        target=t,
        source_s=source_s,
        target_s=source_s + y_s,
        y_s=y_s,
        std_s=max(float(m.offset_std_s or 0.0), _STD_FLOOR_S),
        drift_ppm=m.drift_ppm if has_drift else None,
        drift_std_ppm=max(m.drift_std_ppm or 0.0, _STD_FLOOR_PPM) if has_drift else None,
        unknown_drift_ppm=_unknown_drift_ppm(m),
        step_s=m.step_s if has_step else None,
        # A step without an error of its own is known no better than the offset.
        step_std_s=(m.step_std_s or float(m.offset_std_s or 0.0)) if has_step else None,
        step_after_s=((m.step_at_ns or 0) - anchors[s]) * 1e-9 if has_step else None,
        step_at_std_s=figures.get("step_at_std_s", 0.0) if has_step else 0.0,
        jumping=frozenset(
            clock for side, clock in (("source", s), ("target", t)) if f"{side}_jumps" in figures
        ),
        slope_ppm=None if has_step else figures.get("drift_ppm", m.drift_ppm),
        slope_std_ppm=None if has_step else figures.get("drift_std_ppm", m.drift_std_ppm),
    )


def _unknown_drift_ppm(m: PairMeasurement) -> float:
    """Return what is not known of a drift that is too uncertain to be used, one sigma.

    A crystal's rate lies within data sheets, but not every clock is a crystal. An estimate that
    exceeds its own error widens what is assumed of the rate to what the two do not explain
    (DerSimonian & Laird, "Meta-analysis in clinical trials", 1986,
    doi:10.1016/0197-2456(86)90046-2), and then limits it.
    """
    drift_ppm, std_ppm = (m.diagnostics.get(name, 0.0) for name in ("drift_ppm", "drift_std_ppm"))
    excess_ppm = math.sqrt(max(0.0, drift_ppm**2 - std_ppm**2))
    if not _DRIFT_PRIOR_PPM < excess_ppm < math.inf:
        return _DRIFT_PRIOR_PPM
    return max(_DRIFT_PRIOR_PPM, std_ppm * excess_ppm / math.hypot(std_ppm, excess_ppm))


def _without_rates_across_steps(edges: Sequence[Edge]) -> list[Edge]:
    """Drop rates fitted to the whole clip between two clocks, one of which another edge saw step.

    A straight line through both sides of a step measures no rate.
    """
    stepped = {frozenset((edge.source, edge.target)) for edge in edges if edge.step_s is not None}
    return [
        replace(edge, drift_ppm=None, drift_std_ppm=None)
        if edge.step_s is None and frozenset((edge.source, edge.target)) in stepped
        else edge
        for edge in edges
    ]


def _with_assumed_drift(edges: Sequence[Edge]) -> list[Edge]:
    """Assume equal crystal rates where drift was not measured but some other drift was.

    Otherwise a drifting camera would be known to drift against its gyroscope only, and not
    against the clock that the gyroscope is tied to by a measurement too short to show drift.
    Clocks whose relative drift is known already, if only through others, need no assumption: a
    second one would outvote the measurement. Of several edges that may carry it, those whose own
    slope speaks most for equal rates do. Nothing is assumed of a clock that may be no crystal: the
    edge's own slope, however uncertain, is the rate there.
    """
    if not any(edge.drift_ppm is not None and not edge.is_loop for edge in edges):
        return list(edges)
    known = _drift_pairs(edges)
    odd = _odd_clocks(edges)
    measured = {frozenset(pair) for pair in known}
    n = 1 + max(max(edge.source, edge.target) for edge in edges)
    group = _groups_of(n, known)
    out = list(edges)
    odd_edges = [not odd.isdisjoint((edge.source, edge.target)) for edge in edges]
    cost = [
        _cost_of_rate(edge, is_odd=is_odd) for edge, is_odd in zip(edges, odd_edges, strict=True)
    ]
    for k in sorted(range(len(edges)), key=cost.__getitem__):
        edge = edges[k]
        if edge.is_loop or frozenset((edge.source, edge.target)) in measured:
            continue
        out[k] = replace(edge, is_drift_assumed=True)
        if group[edge.source] == group[edge.target]:
            continue
        if not odd_edges[k]:
            std_ppm = math.sqrt(2.0) * _DRIFT_PRIOR_PPM
            out[k] = replace(out[k], drift_ppm=0.0, drift_std_ppm=std_ppm)
        elif edge.slope_ppm is not None and edge.slope_std_ppm:
            out[k] = replace(edge, drift_ppm=edge.slope_ppm, drift_std_ppm=edge.slope_std_ppm)
        else:
            continue
        known.append((edge.source, edge.target))
        group = _groups_of(n, known)
    return out


def _odd_clocks(edges: Sequence[Edge]) -> set[int]:
    """Return the clocks that may be no crystals.

    They drift against half of the clocks that they were compared with, or more, by more than two
    crystals do. One that drifts against few has others to vouch for it.
    """
    compared: dict[int, set[int]] = {}
    apart: dict[int, set[int]] = {}
    for edge in edges:
        if edge.is_loop or edge.slope_ppm is None or not edge.slope_std_ppm:
            continue
        is_odd = abs(edge.slope_ppm) - _SURE * edge.slope_std_ppm > 2.0 * _DRIFT_VAGUE_PPM
        for clock, other in ((edge.source, edge.target), (edge.target, edge.source)):
            compared.setdefault(clock, set()).add(other)
            if is_odd:
                apart.setdefault(clock, set()).add(other)
    return {clock for clock, others in apart.items() if 2 * len(others) >= len(compared[clock])}


def _cost_of_rate(edge: Edge, *, is_odd: bool) -> float:
    """Return minus the log-likelihood of no drift, or of an odd clock's own; up to a constant."""
    if edge.slope_ppm is None or not edge.slope_std_ppm:
        return math.inf
    own = 0.0 if is_odd else 0.5 * (edge.slope_ppm / edge.slope_std_ppm) ** 2
    return math.log(edge.slope_std_ppm) + own


def _drift_pairs(edges: Sequence[Edge]) -> list[tuple[int, int]]:
    """Return the pairs of clocks whose relative drift was measured.

    Either an edge carries a drift, or offsets of one pair at three or more instants, as from the
    clips of one recording, show it better than a data sheet does.
    """
    pairs: list[tuple[int, int]] = []
    between: dict[tuple[int, int], list[Edge]] = {}
    for edge in edges:
        if edge.is_loop:
            continue
        if edge.drift_ppm is not None:
            pairs.append((edge.source, edge.target))
        key = (min(edge.source, edge.target), max(edge.source, edge.target))
        between.setdefault(key, []).append(edge)
    for key, parallel in between.items():
        if len({round(edge.source_s, 3) for edge in parallel}) < 3:
            continue
        at_s, std_s = np.array([(edge.source_s, edge.std_s) for edge in parallel]).T
        since_s = at_s - np.average(at_s, weights=std_s**-2)
        information = float(np.sum((since_s / std_s) ** 2))
        if information > 0.0 and 1e6 / math.sqrt(information) < _DRIFT_USEFUL_PPM:
            pairs.append(key)
    return pairs


def _widened(edge: Edge, drift_group: Sequence[int]) -> Edge:
    """Add the possible effect of an unmeasured drift between the edge's instant and the anchor."""
    if edge.is_loop or drift_group[edge.source] == drift_group[edge.target]:
        return edge
    lever_s = min(abs(edge.source_s), abs(edge.target_s))
    return replace(edge, std_s=math.hypot(edge.std_s, 1e-6 * edge.unknown_drift_ppm * lever_s))


def find_loops(
    clocks: Sequence[str],
    edges: Sequence[Edge],
    misclosure: Callable[[Edge], float],
    is_trusted: Callable[[Edge], bool],
) -> list[LoopClosure]:
    """Return a fundamental cycle basis with the misclosure of every cycle.

    The tree is grown breadth first from the clock with most neighbours, so that loops are short,
    and over trusted edges first, so that a blamed edge spoils only one loop.

    Parameters
    ----------
    clocks : sequence of str
        Names by number.
    edges : sequence of Edge
        Every edge, also those between two sources of one clock (a loop by themselves).
    misclosure : callable
        Measured offset of an edge in seconds, without what drift and steps explain.
    is_trusted : callable
        Whether the solution uses the edge.
    """
    routes, above = _tree(len(clocks), edges, is_trusted)
    in_tree = {edge.index for edge in above.values()}
    loops: list[LoopClosure] = []
    for edge in edges:
        if edge.index in in_tree:
            continue
        ends = routes[edge.source], routes[edge.target]
        top = sum(a == b for a, b in zip(*ends, strict=False)) - 1
        behind, ahead = (route[top:][::-1] for route in ends)
        # From the source along the edge to the target, and back through the tree.
        closure_s = misclosure(edge)
        variance = edge.std_s**2
        members = [edge.index]
        for sign, path in ((-1.0, behind), (1.0, ahead)):
            for node in path[:-1]:
                step = above[node]
                forward = 1.0 if step.source == node else -1.0
                closure_s += sign * forward * misclosure(step)
                variance += step.std_s**2
                members.append(step.index)
        around = [edge.source, *(i for i in ahead if i != edge.source), *behind[-2:0:-1]]
        loops.append(
            LoopClosure(
                clocks=tuple(clocks[i] for i in around),
                closure_s=closure_s,
                closure_std_s=math.sqrt(variance),
                measurements=tuple(members),
            )
        )
    return loops


def blocks_of(loops: Sequence[LoopClosure]) -> dict[int, int]:
    """Return the block of every measurement that lies on a loop.

    Loops that share an edge check each other; edges without a common loop do not constrain each
    other (biconnected blocks of the graph).
    """
    pairs = [(loop.measurements[0], other) for loop in loops for other in loop.measurements]
    block = _groups_of(1 + max((max(pair) for pair in pairs), default=-1), pairs)
    return {index: block[index] for _, index in pairs}


_Way = tuple[int, list[int], Edge | None]  # a clock, the route to the one before, the edge


def _tree(
    n: int, edges: Sequence[Edge], is_trusted: Callable[[Edge], bool]
) -> tuple[dict[int, list[int]], dict[int, Edge]]:
    """Return the clocks from a root to each clock, and the last edge of that route."""
    touching: list[list[tuple[int, Edge]]] = [[] for _ in range(n)]
    for edge in edges:
        if not edge.is_loop:
            touching[edge.source].append((edge.target, edge))
            touching[edge.target].append((edge.source, edge))
    routes: dict[int, list[int]] = {}
    above: dict[int, Edge] = {}
    for root in sorted(range(n), key=lambda i: -len({there for there, _ in touching[i]})):
        # A second queue holds the blamed edges until the trusted ones reach no further.
        queue, later = deque[_Way]([(root, [], None)]), deque[_Way]()
        while queue or later:
            node, route, last = (queue or later).popleft()
            if node in routes:
                continue
            routes[node] = [*route, node]
            if last is not None:
                above[node] = last
            for there, edge in touching[node]:
                (queue if is_trusted(edge) else later).append((there, routes[node], edge))
    return routes, above
