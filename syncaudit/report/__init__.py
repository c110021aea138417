"""What a run tells people and CI servers: one HTML page, JUnit XML, SARIF."""

from syncaudit.report.html import write_report
from syncaudit.report.junit import write_junit
from syncaudit.report.sarif import write_sarif

__all__ = ["write_junit", "write_report", "write_sarif"]
