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
    parents, in_tree = _tree(len(clocks), edges, is_trusted)
    position = {id(edge): k for k, edge in enumerate(edges)}
    loops: list[LoopClosure] = []
    for edge in edges:
        if position[id(edge)] in in_tree:
            continue
        up, down = _paths(edge.source, edge.target, parents)
        # From the source along the edge to the target, and back through the tree.
        closure_s = misclosure(edge)
        variance = edge.std_s**2
        members = [edge.index]
        for sign, steps in ((-1.0, up), (1.0, down)):
            for node, k in steps:
                forward = 1.0 if edges[k].source == node else -1.0
                closure_s += sign * forward * misclosure(edges[k])
                variance += edges[k].std_s ** 2
                members.append(edges[k].index)
        ahead = [edge.target, *(_next(edges[k], node) for node, k in down)]
        behind = [edge.source, *(_next(edges[k], node) for node, k in up)]
        around = [edge.source, *(i for i in ahead if i != edge.source), *behind[-2:0:-1]]
        names = tuple(clocks[i] for i in around)
        if edge.is_loop:
            names = (clocks[edge.source],)
        loops.append(
            LoopClosure(
                clocks=names,
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


_Parents = list[tuple[int, int, int] | None]  # parent, edge to it, depth


def _next(edge: Edge, node: int) -> int:
    return edge.target if edge.source == node else edge.source


def _tree(
    n: int, edges: Sequence[Edge], is_trusted: Callable[[Edge], bool]
) -> tuple[_Parents, set[int]]:
    adjacent: list[list[tuple[int, int]]] = [[] for _ in range(n)]
    for trusted in (True, False):
        for k, edge in enumerate(edges):
            if not edge.is_loop and is_trusted(edge) is trusted:
                adjacent[edge.source].append((edge.target, k))
                adjacent[edge.target].append((edge.source, k))
    trusted_edges = {k for k, edge in enumerate(edges) if is_trusted(edge)}
    parents: _Parents = [None] * n
    in_tree: set[int] = set()
    order = sorted(range(n), key=lambda i: -len({there for there, _ in adjacent[i]}))
    for start in order:
        if parents[start] is not None:
            continue
        parents[start] = (start, -1, 0)
        # A second queue holds the blamed edges until the trusted ones reach no further.
        queue, later = deque([start]), deque[tuple[int, int, int]]()
        while queue or later:
            if not queue:
                here, there, k = later.popleft()
                if parents[there] is None:
                    parents[there] = (here, k, _depth(parents, here) + 1)
                    in_tree.add(k)
                    queue.append(there)
                continue
            here = queue.popleft()
            for there, k in adjacent[here]:
                if parents[there] is not None:
                    continue
                if k not in trusted_edges:
                    later.append((here, there, k))
                    continue
                parents[there] = (here, k, _depth(parents, here) + 1)
                in_tree.add(k)
                queue.append(there)
    return parents, in_tree


def _depth(parents: _Parents, node: int) -> int:
    entry = parents[node]
    return 0 if entry is None else entry[2]


def _paths(
    source: int, target: int, parents: _Parents
) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Return (node, edge upwards) from both ends to where their branches meet."""
    ends = [source, target]
    paths: tuple[list[tuple[int, int]], list[tuple[int, int]]] = ([], [])
    while ends[0] != ends[1]:
        deeper = 0 if _depth(parents, ends[0]) >= _depth(parents, ends[1]) else 1
        entry = parents[ends[deeper]]
        if entry is None:
            break
        paths[deeper].append((ends[deeper], entry[1]))
        ends[deeper] = entry[0]
    return paths
