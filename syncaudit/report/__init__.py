"""The report of a run, and the sheet to judge speech by, as self-contained HTML pages."""

from syncaudit.report.html import write_report
from syncaudit.report.phrases import word_correction
from syncaudit.report.speech_sheet import LABELS, TierRow, Utterance, write_speech_sheet

__all__ = [
    "LABELS",
    "TierRow",
    "Utterance",
    "word_correction",
    "write_report",
    "write_speech_sheet",
]
