"""Solve the corrections of all clocks relative to an arbitrary root of every component."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syncaudit.graph.adjustment import CRITICAL, fit
from syncaudit.graph.edges import Edge, Graph
from syncaudit.graph.equations import Equations
from syncaudit.graph.loops import blocks_of, find_loops
from syncaudit.graph.steps import ClockStep, attribute_steps
from syncaudit.model import EdgeResidual, LoopClosure

__all__ = ["Network", "solve_network"]

_Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Network:
    """Solved corrections, steps, residuals and loops.

    `x_s` and `drift_ppm` belong to the clocks in order; `covariance` is of both, (2n, 2n).
    """

    x_s: _Floats
    drift_ppm: _Floats
    covariance: _Floats
    steps: Mapping[int, ClockStep]
    residuals: tuple[EdgeResidual, ...]
    loops: list[LoopClosure]
    support: tuple[int, ...]
    chi2: tuple[tuple[int, float, float], ...]  # component, sum of squares, degrees of freedom


def solve_network(graph: Graph, trust: Sequence[tuple[int, ...]]) -> Network:
    """Return corrections, residuals and loops of a graph.

    Parameters
    ----------
    graph : Graph
        Clocks and edges.
    trust : sequence of tuple
        Sort key of each clock; the smallest is the most trusted.
    """
    between = [edge for edge in graph.edges if not edge.is_loop]
    steps = attribute_steps(between, trust.__getitem__)
    equations = Equations(graph, between, steps)
    solved = equations.adjust()
    outliers = equations.outliers(solved)
    if outliers and steps:
        # A step that only a blamed measurement saw has no witness left.
        steps = attribute_steps([e for e in between if e.index not in outliers], trust.__getitem__)
        equations = Equations(graph, between, steps)
        solved = equations.adjust()
        outliers = equations.outliers(solved)
    loops = find_loops(
        graph.clocks,
        graph.edges,
        lambda edge: equations.freed(edge, solved.fit.x),
        lambda edge: edge.index not in outliers,
    )
    blocks = blocks_of([loop for loop in loops if not outliers.intersection(loop.measurements)])
    inflated = equations.inflated(solved, blocks)
    final = fit(equations.A, equations.y, inflated, ~solved.is_outlier)
    x, drift, covariance = equations.full(solved.fit.x, final.covariance)
    support = [0] * len(graph.clocks)
    for edge in between:
        if edge.index not in outliers:
            support[edge.source] += 1
            support[edge.target] += 1
    return Network(
        x_s=x,
        drift_ppm=drift,
        covariance=covariance,
        steps=steps,
        residuals=tuple(
            _loop_residual(edge) if edge.is_loop else equations.residual(edge, solved)
            for edge in graph.edges
        ),
        loops=loops,
        support=tuple(support),
        chi2=equations.chi2(solved),
    )


def _loop_residual(edge: Edge) -> EdgeResidual:
    """Judge two sources of one clock: their offset must be zero."""
    z = edge.y_s / edge.std_s
    return EdgeResidual(
        index=edge.index,
        residual_s=edge.y_s,
        z=z,
        weight=1.0,
        is_contradicted=abs(z) > CRITICAL,
    )
