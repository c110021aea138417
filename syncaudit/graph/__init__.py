"""One consistent set of clocks out of many pair measurements (design, section 2)."""

from syncaudit.graph.course import follow_clock
from syncaudit.graph.solve import solve_clocks

__all__ = ["follow_clock", "solve_clocks"]
