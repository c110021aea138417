"""Solve the corrections of all clocks relative to an arbitrary root of every component."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from syncaudit.graph.adjustment import CRITICAL, Adjustment, adjust, fit
from syncaudit.graph.edges import Edge, Graph
from syncaudit.graph.loops import blocks_of, find_loops
from syncaudit.graph.steps import SteppedClocks, attribute_steps
from syncaudit.model import EdgeResidual, LoopClosure
from syncaudit.model.arrays import Floats

# Weight reported for a measurement that was left out: it must be above zero.
_NO_WEIGHT = 1e-6

_Key = TypeVar("_Key", bound=Hashable)


class _Equations:
    """Linear equations of all edges between different clocks.

    Parameters
    ----------
    graph : Graph
        Clocks and their groups.
    edges : sequence of Edge
        Edges between different clocks.
    stepped : SteppedClocks
        Steps of clocks, known beforehand.
    """

    def __init__(self, graph: Graph, edges: Sequence[Edge], stepped: SteppedClocks) -> None:
        self.graph = graph
        self.edges = edges
        self.steps, self.suspects = stepped.steps, stepped.suspects
        # The first clock of each component (group) carries no unknown: that is the gauge.
        self.x_column = self._columns(graph.component, 0)
        self.d_column = self._columns(graph.drift_group, len(self.x_column))
        rows = [(edge, False) for edge in edges]
        rows += [(edge, True) for edge in edges if edge.drift_ppm is not None]
        self.rows = rows
        self.row_of = {(edge.index, is_drift): r for r, (edge, is_drift) in enumerate(rows)}
        self.A = np.zeros((len(rows), len(self.x_column) + len(self.d_column)))
        self.y = np.zeros(len(rows))
        self.variance = np.ones(len(rows))
        for r, (edge, is_drift) in enumerate(rows):
            if is_drift:
                drift_ppm = edge.drift_ppm or 0.0
                self._add(r, self.d_column, edge.source, 1.0)
                self._add(r, self.d_column, edge.target, -(1.0 + 1e-6 * drift_ppm))
                self.y[r] = drift_ppm
                self.variance[r] = (edge.drift_std_ppm or 1.0) ** 2
            else:
                self._add(r, self.x_column, edge.source, 1.0)
                self._add(r, self.x_column, edge.target, -1.0)
                self._add(r, self.d_column, edge.source, 1e-6 * edge.source_s)
                self._add(r, self.d_column, edge.target, -1e-6 * edge.target_s)
                self.y[r] = edge.y_s - self._stepped(edge)
                self.variance[r] = edge.std_s**2 + self._step_variance(edge)

    @staticmethod
    def _columns(group: Sequence[int], start: int) -> dict[int, int]:
        free = (i for i, first in enumerate(group) if i != first)
        return {i: k for k, i in enumerate(free, start)}

    def _add(self, row: int, columns: Mapping[int, int], clock: int, value: float) -> None:
        if clock in columns:
            self.A[row, columns[clock]] += value

    def _stepped(self, edge: Edge) -> float:
        source, target = self.steps.get(edge.source), self.steps.get(edge.target)
        added_s = 0.0 if source is None else source.added_to(edge, edge.source_s)
        return added_s - (0.0 if target is None else target.added_to(edge, edge.target_s))

    def _step_variance(self, edge: Edge) -> float:
        """Return what a step adds to the variance of an edge's offset."""
        if edge.step_s is None or edge.step_std_s is None:
            # The edge was fitted without the step. A suspect's would be instead of it.
            ends = (edge.source, edge.target)
            variances = [
                sum((0.5 * steps[c].size_s) ** 2 for c in ends if c in steps)
                for steps in (self.steps, self.suspects)
            ]
            return max(variances)
        if not self._stepped(edge):
            return 0.0
        # Both sides of a step are measured separately, so its variance is the sum of theirs. The
        # variance of the side at which the edge does not hold is never assumed smaller.
        return max(0.0, edge.step_std_s**2 - 2.0 * edge.std_s**2)

    def adjust(self) -> Adjustment:
        """Solve the equations and blame contradictions."""
        group = np.array([edge.index for edge, _ in self.rows], dtype=np.int64)
        return adjust(self.A, self.y, self.variance, group)

    def outliers(self, solved: Adjustment) -> set[int]:
        """Return the indices of the measurements that are left out."""
        return {
            edge.index for (edge, _), bad in zip(self.rows, solved.is_outlier, strict=True) if bad
        }

    def freed(self, edge: Edge, x: Floats) -> float:
        """Return an edge's offset without what drift and steps explain."""
        if edge.is_loop:
            return edge.y_s
        row = self.row_of[edge.index, False]
        drift = sum(
            self.A[row, self.d_column[c]] * x[self.d_column[c]]
            for c in (edge.source, edge.target)
            if c in self.d_column
        )
        return float(self.y[row] - drift)

    def inflated(self, solved: Adjustment, blocks: Mapping[int, int]) -> Floats:
        """Widen the variances of a block whose residuals are larger than stated."""
        variance = solved.variance.copy()
        keys = [(blocks.get(edge.index), is_drift) for edge, is_drift in self.rows]
        sums = _sums(solved, keys)
        for r, key in enumerate(keys):
            if key[0] is not None and key in sums and sums[key][1] > 0.5:
                variance[r] *= max(1.0, sums[key][0] / sums[key][1])
        return variance

    def full(self, x: Floats, covariance: Floats) -> tuple[Floats, Floats, Floats]:
        """Put back zeros for the unknowns that the gauge removed."""
        n = len(self.graph.clocks)
        place = np.array([*self.x_column, *(n + clock for clock in self.d_column)], dtype=np.int64)
        values = np.zeros(2 * n)
        values[place] = x
        wide = np.zeros((2 * n, 2 * n))
        wide[np.ix_(place, place)] = covariance
        return values[:n], values[n:], wide

    def residual(self, edge: Edge, solved: Adjustment) -> EdgeResidual:
        """Return the fit of one measurement."""
        row = self.row_of[edge.index, False]
        drift_row = self.row_of.get((edge.index, True))
        rows = [row] if drift_row is None else [row, drift_row]
        is_outlier = bool(solved.is_outlier[row])
        return EdgeResidual(
            index=edge.index,
            residual_s=float(solved.fit.residuals[row]),
            z=float(solved.z[row]),
            weight=_NO_WEIGHT
            if is_outlier
            else max(_NO_WEIGHT, float(self.variance[row] / solved.variance[row])),
            is_contradicted=is_outlier or bool(np.any(solved.is_ambiguous[rows])),
            is_outlier=is_outlier,
            drift_residual_ppm=None
            if drift_row is None
            else float(solved.fit.residuals[drift_row]),
        )

    def chi2(self, solved: Adjustment) -> tuple[tuple[int, float, float], ...]:
        """Return component, weighted sum of squares and degrees of freedom of each component."""
        sums = _sums(solved, [self.graph.component[edge.source] for edge, _ in self.rows])
        return tuple((component, a, b) for component, (a, b) in sums.items())


def _sums(solved: Adjustment, keys: Sequence[_Key]) -> dict[_Key, list[float]]:
    """Return the weighted sum of squares, and the degrees of freedom, of the rows of each key."""
    sums: dict[_Key, list[float]] = {}
    for r, key in enumerate(keys):
        if not solved.is_outlier[r]:
            total = sums.setdefault(key, [0.0, 0.0])
            total[0] += float(solved.fit.residuals[r] ** 2 / solved.variance[r])
            total[1] += float(solved.redundancy[r])
    return sums


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Network:
    """Solved corrections, steps, residuals and loops.

    `x_s` and `drift_ppm` are in the order of the clocks; `covariance` is of both, (2n, 2n).
    """

    x_s: Floats
    drift_ppm: Floats
    covariance: Floats
    stepped: SteppedClocks
    residuals: tuple[EdgeResidual, ...]
    loops: list[LoopClosure]
    support: tuple[int, ...]
    chi2: tuple[tuple[int, float, float], ...]  # component, sum of squares, degrees of freedom


def solve_network(graph: Graph, trust: Sequence[tuple[int, ...]], span_s: float = 0.0) -> Network:
    """Return corrections, residuals and loops of a graph.

    `trust`: sort key of each clock; the smallest is the most trusted. `span_s`: length of the clip;
    0 if not known.
    """
    between = [edge for edge in graph.edges if not edge.is_loop]
    outliers: set[int] = set()
    for _ in range(2):
        # A step seen only by a blamed measurement is no longer supported.
        rest = [edge for edge in between if edge.index not in outliers]
        stepped = attribute_steps(rest, trust.__getitem__, span_s)
        equations = _Equations(graph, between, stepped)
        solved = equations.adjust()
        outliers = equations.outliers(solved)
        if not outliers or not stepped.steps:
            break
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
    used = [edge for edge in between if edge.index not in outliers]
    support = Counter(end for edge in used for end in (edge.source, edge.target))
    return Network(
        x_s=x,
        drift_ppm=drift,
        covariance=covariance,
        stepped=stepped,
        residuals=tuple(
            _loop_residual(edge) if edge.is_loop else equations.residual(edge, solved)
            for edge in graph.edges
        ),
        loops=loops,
        support=tuple(support[clock] for clock in range(len(graph.clocks))),
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
