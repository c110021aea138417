"""Combine many pair measurements into one consistent set of clocks (design, section 2)."""
