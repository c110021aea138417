"""Clocks as nodes and measurements as edges of a graph; `edge_building` says how they arise."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Edge", "Graph"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """One accepted measurement between two clocks, relative to their anchors.

    Parameters
    ----------
    index : int
        Index among the measurements given to the solver.
    source, target : int
        Numbers of the clocks; equal for two sources of one clock.
    source_s, target_s : float
        Seconds after the anchor of the source's (target's) clock of the instant measured.
    y_s, std_s : float
        ``target_s - source_s`` and its standard error.
    drift_ppm, drift_std_ppm : float, optional
        Relative rate.
    is_drift_assumed : bool
        Whether the rate is a crystal's promise, not a measurement.
    step_s, step_std_s, step_after_s : float, optional
        Step of the offset and its instant after the source clock's anchor.
    step_at_std_s : float
        Standard error of that instant.
    """

    index: int
    source: int
    target: int
    source_s: float
    target_s: float
    y_s: float
    std_s: float
    drift_ppm: float | None = None
    drift_std_ppm: float | None = None
    is_drift_assumed: bool = False
    step_s: float | None = None
    step_std_s: float | None = None
    step_after_s: float | None = None
    step_at_std_s: float = 0.0

    @property
    def is_loop(self) -> bool:
        """Whether both sources are stamped by the same clock."""
        return self.source == self.target


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """Clocks, their anchors and edges.

    Parameters
    ----------
    clocks : tuple of str
        Names, in order of first mention.
    anchors_ns : tuple of int
        Stamp of each clock at the common instant.
    edges : tuple of Edge
        Every usable measurement.
    component, drift_group : tuple of int
        Number of the connected component, and of the group within which drift is observable.
    """

    clocks: tuple[str, ...]
    anchors_ns: tuple[int, ...]
    edges: tuple[Edge, ...]
    component: tuple[int, ...]
    drift_group: tuple[int, ...]
