"""Find which clock stepped when several pairs saw a step.

A step of clock s changes the offset of a pair (s, t) by +k, one of clock t by -k. Of all
explanations of the steps seen, the one with the fewest stepping clocks is chosen, and a clock with
many edges without a step is not blamed lightly.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from syncaudit.graph.edges import Edge

# Steps within this time of each other are one event: change points are found to about a second.
SAME_EVENT_S = 2.0

_SIGNIFICANT = 3.0
_QUIET_EDGE = 0.5  # weight of an edge without a step against one with a step


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockStep:
    """Step of one clock's correction.

    Parameters
    ----------
    size_s, std_s : float
        Change of the correction and its standard error.
    after_s, after_std_s : float
        Seconds after the clock's anchor, and their standard error.
    is_past : bool
        Whether the solution's instant lies after the step: the same for all clocks that stepped at
        once, whatever their own timestamps of it.
    seen_by : frozenset of int
        Indices of the edges that saw it.
    """

    size_s: float
    std_s: float
    after_s: float
    is_past: bool
    seen_by: frozenset[int]
    after_std_s: float = 0.0

    def added_to(self, edge: Edge, at_s: float) -> float:
        """Return what the step adds to the correction of an edge.

        Parameters
        ----------
        edge : Edge
            Touches the clock. If it saw the step, it determines on which side of it its offset
            holds: change points of several edges differ by more than a step takes.
        at_s : float
            Instant of the edge after the clock's anchor.
        """
        if edge.index in self.seen_by and edge.step_after_s is not None:
            is_past = edge.source_s >= edge.step_after_s
        else:
            is_past = at_s >= self.after_s
        return self.size_s * (is_past - self.is_past)


def attribute_steps(
    edges: Sequence[Edge], trust: Callable[[int], tuple[int, ...]] | None = None
) -> dict[int, ClockStep]:
    """Return the step of every clock that stepped.

    Parameters
    ----------
    edges : sequence of Edge
        Used edges between different clocks, with and without steps.
    trust : callable, optional
        Sort key of a clock, smaller is more trusted; in a tie the least trusted is blamed.
    """
    seen = [
        edge
        for edge in edges
        if edge.step_s is not None
        and edge.step_std_s is not None
        and not edge.is_loop
        and abs(edge.step_s) > _SIGNIFICANT * edge.step_std_s
    ]
    found: dict[int, ClockStep] = {}
    for event in _events(seen):
        seen_now = {edge.index for edge in event}
        quiet = [edge for edge in edges if not edge.is_loop and edge.index not in seen_now]
        blamed = _blame(event, quiet, trust)
        for clock, step in _sizes(event, blamed).items():
            known = found.get(clock)
            if known is None or abs(step.size_s) / step.std_s > abs(known.size_s) / known.std_s:
                found[clock] = step
    return found


def _events(seen: Sequence[Edge]) -> list[list[Edge]]:
    events: list[list[Edge]] = []
    last = -math.inf
    for edge in sorted(seen, key=lambda e: (e.step_after_s or 0.0, e.index)):
        after = edge.step_after_s or 0.0
        if after - last > SAME_EVENT_S:
            events.append([])
        events[-1].append(edge)
        last = after
    return events


def _signed(edge: Edge, clock: int) -> float:
    size = edge.step_s or 0.0
    return size if edge.source == clock else -size


def _blame(
    event: Sequence[Edge], quiet: Sequence[Edge], trust: Callable[[int], tuple[int, ...]] | None
) -> list[int]:
    """Choose clocks greedily until every step seen is explained."""
    blamed: list[int] = []
    left = list(event)
    while left:
        candidates = sorted({c for e in left for c in (e.source, e.target)} - set(blamed))
        scores = {}
        for clock in candidates:
            touching = [e for e in left if clock in (e.source, e.target)]
            n_quiet = sum(1 for e in quiet if clock in (e.source, e.target))
            scores[clock] = len(_agreeing(touching, clock)) - _QUIET_EDGE * n_quiet
        best = max(scores.values())
        tied = [c for c in candidates if scores[c] >= best - 1e-9]
        clock = tied[0] if trust is None else max(tied, key=trust)
        blamed.append(clock)
        touching = [e for e in left if clock in (e.source, e.target)]
        explained = {e.index for e in _agreeing(touching, clock)}
        left = [e for e in left if e.index not in explained]
        # What is left between two blamed clocks is the difference of their steps.
        left = [e for e in left if not (e.source in blamed and e.target in blamed)]
    return blamed


def _agreeing(touching: Sequence[Edge], clock: int) -> list[Edge]:
    """Return the edges whose steps agree on one size for the clock, around the weighted median."""
    if not touching:
        return []
    ordered = sorted(touching, key=lambda e: _signed(e, clock))
    weights = np.array([(e.step_std_s or 1.0) ** -2 for e in ordered])
    middle = ordered[int(np.searchsorted(np.cumsum(weights), 0.5 * float(weights.sum())))]
    size = _signed(middle, clock)
    return [
        e
        for e in touching
        if abs(_signed(e, clock) - size)
        <= 4.0 * math.hypot(e.step_std_s or 0.0, middle.step_std_s or 0.0)
    ]


def _sizes(event: Sequence[Edge], blamed: Sequence[int]) -> dict[int, ClockStep]:
    column = {clock: k for k, clock in enumerate(blamed)}
    A = np.zeros((len(event), len(blamed)))
    for row, edge in enumerate(event):
        if edge.source in column:
            A[row, column[edge.source]] = 1.0
        if edge.target in column:
            A[row, column[edge.target]] = -1.0
    is_past = float(np.median([edge.step_after_s or 0.0 for edge in event])) <= 0.0
    std = np.array([edge.step_std_s or 1.0 for edge in event])
    y = np.array([edge.step_s or 0.0 for edge in event])
    covariance = np.linalg.pinv((A / std[:, None]).T @ (A / std[:, None]))
    sizes = covariance @ ((A / std[:, None] ** 2).T @ y)
    steps = {}
    for clock, k in column.items():
        instants = [
            (e.step_after_s or 0.0)
            if e.source == clock
            else (e.step_after_s or 0.0) - e.source_s + e.target_s
            for e in event
            if clock in (e.source, e.target)
        ]
        steps[clock] = ClockStep(
            size_s=float(sizes[k]),
            std_s=math.sqrt(max(float(covariance[k, k]), 1e-18)),
            after_s=float(np.median(instants)),
            is_past=is_past,
            seen_by=frozenset(edge.index for edge in event),
            after_std_s=float(np.median([edge.step_at_std_s for edge in event])),
        )
    return steps
