"""Solve the corrections of all clocks by weighted least squares, with blame for contradictions.

Corrections are relative to an arbitrary root of every component.

Normalised residuals decide (W. Baarda, "A testing procedure for use in geodetic networks", 1968):
``t = r / (std * sqrt(redundancy))`` is N(0, 1) without blunders, and t^2 is what the sum of squares
loses when this equation alone is left out (leave-one-out). An equation that nothing checks
(redundancy 0, a bridge of the graph) has no t and can never be called an outlier.

The strongest contradiction is taken first. If leaving out this equation is the only way to make it
vanish, it is to blame and gets no weight. If leaving out another one would do as well (two parallel
edges, a single loop), it is not known which is wrong: every one of them may carry the whole
blunder, so each variance grows by the square of the blunder that it would have to explain, and the
solution's standard errors with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from syncaudit.graph.edges import Edge, Graph, blocks_of, find_loops
from syncaudit.graph.steps import SteppedClocks, attribute_steps
from syncaudit.model import EdgeResidual, LoopClosure
from syncaudit.model.arrays import Bools, Floats, Ints

_Key = TypeVar("_Key", bound=Hashable)

# |t| above which residuals contradict: 6e-5 two-sided, so that 500 edges give a false alarm in at
# most 3 %.
CRITICAL = 4.0

# Blaming one equation must be a hundred times likelier than blaming another: 2 ln(100).
_AMBIGUOUS_MARGIN = 9.2

# Redundancy below which an equation counts as unchecked (rounding of the normal equations).
_REDUNDANT = 1e-6


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
        is_contradicted=abs(z) > CRITICAL,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fit:
    """Least squares with the active equations."""

    x: Floats  # shape (k,): unknowns
    covariance: Floats  # shape (k, k): of the unknowns, with the variances as given
    residuals: Floats  # shape (m,): measured minus solved, of every equation
    leverage_var: Floats  # shape (m,): variance of the solved value of every equation


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Adjustment:
    """What the equations agree on and which of them contradict."""

    fit: Fit  # with the final weights
    variance: Floats  # shape (m,): final variance of every equation
    redundancy: Floats  # shape (m,): share of every equation that the others check, 0 to 1
    # shape (m,): normalised residual with the variances as given; for an outlier, that of its
    # prediction; 0 if nothing checks the equation
    z: Floats
    # shape (m,): blamed alone; blamed together with others that might be wrong instead
    is_outlier: Bools
    is_ambiguous: Bools


def fit(A: Floats, y: Floats, variance: Floats, is_active: Bools) -> Fit:
    """Solve the active equations.

    Parameters
    ----------
    A : ndarray, shape (m, k)
        Design matrix.
    y, variance : ndarray, shape (m,)
        Right-hand side and its variances.
    is_active : ndarray of bool, shape (m,)
        Equations that are used.
    """
    if A.shape[1] == 0:
        empty = np.zeros(0)
        return Fit(
            x=empty,
            covariance=np.zeros((0, 0)),
            residuals=y.copy(),
            leverage_var=np.zeros(y.shape[0]),
        )
    weights = np.where(is_active, 1.0 / variance, 0.0)
    weighted = A * weights[:, None]
    normal = A.T @ weighted
    # Offsets and drifts differ by many orders of magnitude: scale the diagonal to one.
    scale = 1.0 / np.sqrt(np.maximum(np.diag(normal), 1e-300))
    scaled = normal * np.outer(scale, scale)
    covariance = _inverse(scaled) * np.outer(scale, scale)
    x = covariance @ (weighted.T @ y)
    # One step of iterative refinement removes the rounding of the normal equations.
    x = x + covariance @ (weighted.T @ (y - A @ x))
    return Fit(
        x=x,
        covariance=covariance,
        residuals=y - A @ x,
        leverage_var=np.einsum("ij,ij->i", A @ covariance, A),
    )


def _inverse(normal: Floats) -> Floats:
    """Invert normal equations, which are regular except for rounding."""
    try:
        root = np.linalg.inv(np.linalg.cholesky(normal))
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.pinv(normal, rcond=1e-13, hermitian=True), dtype=np.float64)
    return root.T @ root


def adjust(A: Floats, y: Floats, variance: Floats, group: Ints) -> Adjustment:
    """Solve all equations and find which contradict the others.

    Parameters
    ----------
    A, y, variance
        As for `fit`.
    group : ndarray of int, shape (m,)
        Equations of one measurement share a number: if one is to blame, all are left out.
    """
    m = y.shape[0]
    is_outlier = np.zeros(m, dtype=np.bool_)
    is_ambiguous = np.zeros(m, dtype=np.bool_)
    widened = variance.copy()
    for _ in range(2 * m):
        solved = fit(A, y, widened, ~is_outlier)
        t = _normalised(solved, widened, ~is_outlier & ~is_ambiguous)
        if m == 0 or float(np.max(np.abs(t))) <= CRITICAL:
            break
        worst = int(np.argmax(np.abs(t)))
        suspects = _equally_likely(A, solved, widened, t, worst)
        if np.count_nonzero(suspects) <= 1 or len(np.unique(group[suspects])) == 1:
            is_outlier |= group == group[worst]
        else:
            redundancy = 1.0 - solved.leverage_var / widened
            blunder = solved.residuals[suspects] / redundancy[suspects]
            widened[suspects] += blunder**2
            is_ambiguous |= suspects
    solved = fit(A, y, widened, ~is_outlier)
    redundancy = np.where(is_outlier, 0.0, 1.0 - solved.leverage_var / widened)
    redundancy[redundancy < _REDUNDANT] = 0.0
    return Adjustment(
        fit=solved,
        variance=widened,
        redundancy=redundancy,
        z=_final_z(A, y, variance, solved, is_outlier),
        is_outlier=is_outlier,
        is_ambiguous=is_ambiguous,
    )


def _normalised(solved: Fit, variance: Floats, is_tested: Bools) -> Floats:
    redundancy = 1.0 - solved.leverage_var / variance
    is_checked = is_tested & (redundancy > _REDUNDANT)
    t = np.zeros_like(variance)
    t[is_checked] = solved.residuals[is_checked] / np.sqrt(
        variance[is_checked] * redundancy[is_checked]
    )
    return t


def _equally_likely(A: Floats, solved: Fit, variance: Floats, t: Floats, worst: int) -> Bools:
    """Return the equations whose removal would explain the worst residual equally well."""
    residual_var = variance - solved.leverage_var
    cross = -(A @ (solved.covariance @ A[worst]))
    cross[worst] = residual_var[worst]
    norm = np.sqrt(np.maximum(residual_var, 1e-300) * residual_var[worst])
    correlation = np.clip(cross / norm, -1.0, 1.0)
    left = np.sqrt(np.maximum(1.0 - correlation**2, 1e-12))
    worst_without = np.abs(t[worst] - correlation * t) / left
    is_likely: Bools = (np.abs(t) > 0.0) & (t**2 > t[worst] ** 2 - _AMBIGUOUS_MARGIN)
    # If both residuals are the same number, leaving out either has the same effect.
    is_likely &= (worst_without <= CRITICAL) | (np.abs(correlation) > 1.0 - 1e-9)
    is_likely[worst] = True
    return is_likely


def _final_z(A: Floats, y: Floats, variance: Floats, solved: Fit, is_outlier: Bools) -> Floats:
    stated = fit(A, y, variance, ~is_outlier)
    z = _normalised(stated, variance, ~is_outlier)
    spread = np.sqrt(variance + solved.leverage_var)
    z[is_outlier] = solved.residuals[is_outlier] / spread[is_outlier]
    return z
