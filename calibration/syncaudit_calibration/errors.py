"""The error for an impossible calibration, with its reasons and what to record next."""

from __future__ import annotations

from collections.abc import Mapping

from syncaudit.errors import SyncAuditError


class CalibrationError(SyncAuditError):
    """The recording does not determine how the clocks are related; nothing is written.

    Parameters
    ----------
    message : str
        What is missing.
    hint : str
        What to record or to state next time.
    refused : mapping of str to str
        Reason per source.
    """

    def __init__(self, message: str, *, hint: str, refused: Mapping[str, str]) -> None:
        super().__init__(message, hint=hint)
        self.refused = dict(refused)
