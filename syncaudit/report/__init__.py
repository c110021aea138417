"""The report of a run as one self-contained HTML page."""

from syncaudit.report.html import write_report

__all__ = ["write_report"]
