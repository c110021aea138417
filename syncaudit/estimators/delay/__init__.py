"""Measure the delay between two signals of one motion: search, fit, steps, errors, refusals."""
