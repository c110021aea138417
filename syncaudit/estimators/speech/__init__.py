"""How far a tier of words or phones is off its audio: search, fit, refuse."""

from syncaudit.estimators.speech.measure import METHOD, measure_speech

__all__ = ["METHOD", "measure_speech"]
