"""Knocks that a microphone hears and an accelerometer feels."""

from syncaudit.estimators.knocks.measure import METHOD, estimate_knocks

__all__ = ["METHOD", "estimate_knocks"]
