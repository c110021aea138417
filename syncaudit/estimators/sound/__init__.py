"""Measure two microphones that record the same sounds."""

from syncaudit.estimators.sound.measure import METHOD, estimate_microphones

__all__ = ["METHOD", "estimate_microphones"]
