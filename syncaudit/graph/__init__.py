"""Combine many pair measurements into one consistent set of clocks (design, section 2)."""

from syncaudit.graph.solve import solve_clocks

__all__ = ["solve_clocks"]
