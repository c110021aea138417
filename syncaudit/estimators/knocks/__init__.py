"""Measure a microphone against an accelerometer by common knocks."""

from syncaudit.estimators.knocks.measure import METHOD, estimate_knocks

__all__ = ["METHOD", "estimate_knocks"]
