"""Find which clock stepped when several pairs saw a step.

A step of clock s changes the offset of a pair (s, t) by +k, one of clock t by -k. Sources vouch for
or against each other: every edge of a clock has one vote at most on whether it stepped. An edge
that saw the step votes for it; one that saw none votes by how much better its slope through the
clip fits the step than none. A step k at the time t after the middle of a clip of length T adds
``6 k (T^2 / 4 - t^2) / T^3`` to the slope of a straight line (least squares with evenly spread
information), so that an edge too noisy to see the step votes neither way. One vote is a likelihood
ratio of 100, however far the slope is off: an edge in a hundred is wrong altogether.

A step that other measurements of the same two clocks outvote is none. Of all explanations of the
steps seen, the one with the fewest stepping clocks and the most votes is chosen. Clocks that come
within one vote of it remain suspects.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from syncaudit.graph.edges import Edge

# Steps within this time of each other are one event: change points are found to about a second.
SAME_EVENT_S = 2.0

_SIGNIFICANT = 3.0
# Log-likelihood ratio of one vote: blaming one clock is a hundred times likelier than another.
_VOTE = math.log(100.0)
# Vote against a step of an edge without one that does not tell its slope: its estimator looked for
# steps, with a power that is not known.
_QUIET_VOTE = -0.5
# One sigma of the slope between two clocks that do not step: quartz is good to 100 ppm each.
_QUARTZ_PPM = 100.0 * math.sqrt(2.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockStep:
    """Step of one clock's correction."""

    # Change of the correction and its standard error.
    size_s: float
    std_s: float
    after_s: float  # seconds after the clock's anchor
    # Whether the solution's instant lies after the step: the same for all clocks that stepped at
    # once, whatever their own timestamps of it.
    is_past: bool
    seen_by: frozenset[int]  # indices of the edges that saw it
    is_own: bool = False  # whether the clock's own timestamps show it
    after_std_s: float = 0.0  # standard error of `after_s`

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


@dataclass(frozen=True, slots=True, kw_only=True)
class SteppedClocks:
    """Clocks that stepped, and those that may have stepped instead."""

    steps: Mapping[int, ClockStep]  # of the clocks that are blamed
    suspects: Mapping[int, ClockStep]  # of the clocks that one vote more might have blamed instead


def attribute_steps(
    edges: Sequence[Edge],
    trust: Callable[[int], tuple[int, ...]] | None = None,
    span_s: float = 0.0,
) -> SteppedClocks:
    """Return which clocks stepped.

    Parameters
    ----------
    edges : sequence of Edge
        Used edges between different clocks, with and without steps.
    trust : callable, optional
        Sort key of a clock, smaller is more trusted; in a tie the least trusted is blamed.
    span_s : float
        Length of the clip, in the middle of which the anchors of the clocks lie; 0 if not known.
    """
    seen = [
        edge
        for edge in edges
        if edge.step_s is not None
        and edge.step_std_s is not None
        and not edge.is_loop
        and abs(edge.step_s) > _SIGNIFICANT * edge.step_std_s
    ]
    seen = [edge for edge in seen if not _is_denied(edge, seen, edges, span_s)]
    found: dict[int, ClockStep] = {}
    suspects: dict[int, ClockStep] = {}
    for event in _events(seen):
        seen_now = {edge.index for edge in event}
        quiet = [edge for edge in edges if not edge.is_loop and edge.index not in seen_now]
        blamed, others = _blame(event, quiet, trust, span_s)
        _keep_surest(found, _sizes(event, blamed))
        for clock in others:
            _keep_surest(suspects, _sizes(event, [clock]))
    return SteppedClocks(steps=found, suspects=suspects)


def _is_denied(edge: Edge, seen: Sequence[Edge], edges: Sequence[Edge], span_s: float) -> bool:
    """Return whether other measurements of the same two clocks outvote a step between them.

    Whichever clock stepped, all of them would show it. Their offsets then contradict each other.
    """
    ends = {edge.source, edge.target}
    step_s, after_s = edge.step_s or 0.0, edge.step_after_s or 0.0
    votes = sum({other.source, other.target} == ends for other in seen)
    quiet = sum(
        _quiet_vote(other, _turned(step_s, other, edge.source), after_s, span_s)
        for other in edges
        if other.slope_ppm is not None and {other.source, other.target} == ends
    )
    return votes + quiet <= 0.0


def _keep_surest(known: dict[int, ClockStep], steps: Mapping[int, ClockStep]) -> None:
    """Keep the most significant step of every clock."""
    for clock, step in steps.items():
        other = known.get(clock)
        if other is None or abs(step.size_s) / step.std_s > abs(other.size_s) / other.std_s:
            known[clock] = step


def _events(seen: Sequence[Edge]) -> list[list[Edge]]:
    """Return the steps that may have happened at once: while nothing moves, nobody sees when."""
    events: list[list[Edge]] = []
    latest = -math.inf
    for edge in sorted(seen, key=lambda e: (_likely_span(e)[0], e.index)):
        first, last = _likely_span(edge)
        if first - latest > SAME_EVENT_S:
            events.append([])
            latest = last
        events[-1].append(edge)
        latest = max(latest, last)
    return events


def _likely_span(edge: Edge) -> tuple[float, float]:
    """Return the earliest and the latest instant of a step, as it may be evenly likely between."""
    after_s, reach_s = edge.step_after_s or 0.0, math.sqrt(3.0) * edge.step_at_std_s
    return after_s - reach_s, after_s + reach_s


def _blame(
    event: Sequence[Edge],
    quiet: Sequence[Edge],
    trust: Callable[[int], tuple[int, ...]] | None,
    span_s: float,
) -> tuple[list[int], set[int]]:
    """Choose clocks greedily until every step seen is explained.

    Returns
    -------
    blamed : list of int
        The clocks chosen.
    suspects : set of int
        Clocks that one vote more might have chosen instead.
    """
    blamed: list[int] = []
    suspects: set[int] = set()
    left = list(event)
    after_s = float(np.median([edge.step_after_s or 0.0 for edge in event]))
    while left:
        candidates = sorted({c for e in left for c in (e.source, e.target)} - set(blamed))
        scores, explained = {}, {}
        for clock in candidates:
            size_s, explained[clock] = _agreeing(left, clock)
            scores[clock] = len(explained[clock]) + sum(
                _quiet_vote(e, _turned(size_s, e, clock), after_s, span_s)
                for e in quiet
                if clock in (e.source, e.target)
            )
        # A clock whose own timestamps jump is not one of those that only the majority accuses.
        jumping = {c for c in candidates if _jumps(event, c) and scores[c] > 0.0}
        candidates = [c for c in candidates if c in jumping or not jumping]
        best = max(scores[c] for c in candidates)
        tied = [c for c in candidates if scores[c] >= best - 1e-9]
        clock = tied[0] if trust is None else max(tied, key=trust)
        blamed.append(clock)
        suspects |= {c for c in candidates if scores[c] > best - 1.0}
        indices = {e.index for e in explained[clock]}
        left = [e for e in left if e.index not in indices]
        # What is left between two blamed clocks is the difference of their steps.
        left = [e for e in left if not (e.source in blamed and e.target in blamed)]
    return blamed, suspects - set(blamed)


def _jumps(event: Sequence[Edge], clock: int) -> bool:
    """Return whether a clock's own timestamps show a step."""
    return any(clock in edge.jumping for edge in event)


def _turned(size_s: float, edge: Edge, clock: int) -> float:
    """Return the step of an edge if a clock at one of its ends stepped, or the reverse."""
    return size_s if edge.source == clock else -size_s


def _quiet_vote(edge: Edge, size_s: float, after_s: float, span_s: float) -> float:
    """Return the vote of an edge without a step on whether it stepped, -1 to 1."""
    if edge.slope_ppm is None or edge.slope_std_ppm is None or not span_s > 0.0:
        return _QUIET_VOTE
    since_middle = min(1.0, abs(2.0 * after_s / span_s))
    expected_ppm = 1.5e6 * size_s * (1.0 - since_middle**2) / span_s
    std_ppm = math.hypot(edge.slope_std_ppm, _QUARTZ_PPM)
    chi2 = [((edge.slope_ppm - each) / std_ppm) ** 2 for each in (0.0, expected_ppm)]
    return float(np.clip(0.5 * (chi2[0] - chi2[1]) / _VOTE, -1.0, 1.0))


def _agreeing(edges: Sequence[Edge], clock: int) -> tuple[float, list[Edge]]:
    """Return the size of a clock's step, the weighted median, and the edges that agree on it."""
    touching = [e for e in edges if clock in (e.source, e.target)]
    signed = {e.index: _turned(e.step_s or 0.0, e, clock) for e in touching}
    ordered = sorted(touching, key=lambda e: signed[e.index])
    weights = np.array([(e.step_std_s or 1.0) ** -2 for e in ordered])
    middle = ordered[int(np.searchsorted(np.cumsum(weights), 0.5 * float(weights.sum())))]
    size_s = signed[middle.index]
    return size_s, [
        e
        for e in touching
        if abs(signed[e.index] - size_s)
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
            is_own=_jumps(event, clock),
            after_std_s=float(np.median([edge.step_at_std_s for edge in event])),
        )
    return steps
