"""Audits in a separate process, so that the window never blocks; no Qt in here."""

from syncaudit_gui.audits.process import (
    AuditFailed,
    AuditMessage,
    AuditProcess,
    AuditProgress,
    AuditResult,
)

__all__ = ["AuditFailed", "AuditMessage", "AuditProcess", "AuditProgress", "AuditResult"]
