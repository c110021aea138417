"""What the plot of a measurement shows, in words; and why there is none."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from syncaudit.model import PairMeasurement
from syncaudit.model.wording import word_count
from syncaudit_gui.viewmodel.wording import SECONDS_FROM_S, word_offset

__all__ = ["word_agreement", "word_no_plot", "word_residuals"]


def word_agreement(offsets_s: NDArray[np.float64], agreement: NDArray[np.float64]) -> str:
    """Return where a curve is highest: ``Agreement is best at +34.9 ms: 0.93``."""
    if not np.isfinite(agreement).any():
        return "The two overlap at no offset."
    best = int(np.nanargmax(agreement))
    at_s = float(offsets_s[best])
    unit = "" if abs(at_s) >= SECONDS_FROM_S else " ms"
    return f"Agreement is best at {word_offset(at_s, None).strip()}{unit}: {agreement[best]:.2f}."


def word_residuals(residuals_s: NDArray[np.float64]) -> str:
    """Return how many events agree, and how well: ``12 events, 0.13 ms rms``."""
    if not residuals_s.size:
        return "No event of one lies near one of the other."
    rms_s = float(np.sqrt(np.mean(residuals_s**2)))
    return f"{word_count(residuals_s.size, 'event')} in common, {1e3 * rms_s:.2f} ms rms."


def word_no_plot(pair: PairMeasurement, *, can_audit: bool) -> str:
    """Return why nothing can be drawn of a measurement.

    Parameters
    ----------
    pair : PairMeasurement
        The measurement.
    can_audit : bool
        Whether the evidence is not there because the clip was not audited here.
    """
    if can_audit:
        return "Audit the clip to see the curve behind these figures."
    if pair.method == "speech" and "margin" not in pair.diagnostics:
        return "The aligner put this text in time, so its offset is 0: there is nothing to compare."
    if pair.method == "flash":
        return "No events of both are left to be compared."
    return f"One side of '{pair.method}' is too short, still or silent: there is no curve."
