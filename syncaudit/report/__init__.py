"""What a run tells people and CI servers: HTML pages, a sheet to judge speech by, JUnit, SARIF."""

from syncaudit.report.html import PictureMaker, write_report
from syncaudit.report.junit import write_junit
from syncaudit.report.phrases import word_correction
from syncaudit.report.picture import Picture
from syncaudit.report.sarif import write_sarif
from syncaudit.report.speech_sheet import LABELS, TierRow, Utterance, write_speech_sheet

__all__ = [
    "LABELS",
    "Picture",
    "PictureMaker",
    "TierRow",
    "Utterance",
    "word_correction",
    "write_junit",
    "write_report",
    "write_sarif",
    "write_speech_sheet",
]
