"""Combine many pair measurements into one consistent set of clocks (design, section 2)."""

from syncaudit.graph.common_errors import common_errors
from syncaudit.graph.course import follow_clock
from syncaudit.graph.solve import solve_clocks

__all__ = ["common_errors", "follow_clock", "solve_clocks"]
