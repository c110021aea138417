"""Measure the offset of a tier of words or phones from its audio: search, fit, refuse."""
