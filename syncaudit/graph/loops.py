"""Find independent loops of clocks and by how much they fail to close."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence

from syncaudit.graph.edges import Edge, groups_of
from syncaudit.model import LoopClosure


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
    block = groups_of(1 + max((max(pair) for pair in pairs), default=-1), pairs)
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
