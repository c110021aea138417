"""Audits in a separate process, so that the window never blocks; no Qt in here."""

from syncaudit_gui.audits.process import AuditProcess
from syncaudit_gui.audits.result import AuditFailed, AuditProgress, AuditResult

__all__ = ["AuditFailed", "AuditProcess", "AuditProgress", "AuditResult"]
