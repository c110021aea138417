"""Measure the offset of a tier of words or phones from its audio: search, fit, refuse."""

from syncaudit.estimators.speech.answer import METHOD
from syncaudit.estimators.speech.measure import measure_speech

__all__ = ["METHOD", "measure_speech"]
