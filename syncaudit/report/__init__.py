"""Reports for people and CI servers: HTML pages, a speech labelling sheet, JUnit, SARIF."""

from syncaudit.report.causes import Causes, WorstClips
from syncaudit.report.ci_files import write_junit, write_markdown, write_sarif
from syncaudit.report.html import Thumbnail, ThumbnailMaker, write_report
from syncaudit.report.reasons import ACTIONS
from syncaudit.report.speech_sheet import TierRow, Utterance, write_speech_sheet

__all__ = [
    "ACTIONS",
    "Causes",
    "Thumbnail",
    "ThumbnailMaker",
    "TierRow",
    "Utterance",
    "WorstClips",
    "write_junit",
    "write_markdown",
    "write_report",
    "write_sarif",
    "write_speech_sheet",
]
