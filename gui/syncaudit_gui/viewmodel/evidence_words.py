"""What the plot of a measurement shows, in words; and why there is none."""

from __future__ import annotations

import numpy as np

from syncaudit.model import AgreementCurve, EventResiduals, PairMeasurement
from syncaudit.model.wording import word_count
from syncaudit_gui.viewmodel.wording import SECONDS_FROM_S, word_offset

__all__ = ["word_agreement", "word_no_plot", "word_residuals"]

# Searches in wider steps place the peak to 5 ms.
FINE_STEP_S = 0.005


def word_agreement(curve: AgreementCurve) -> str:
    """Return where a curve is highest: ``Agreement is best at +34.9 ms: 0.93``.

    Coarse searches say no tenths of a millisecond, which the estimate beside them does.
    """
    at_s, best = curve.peak_s, float(np.nanmax(curve.agreement))
    if curve.step_s < FINE_STEP_S or abs(at_s) >= SECONDS_FROM_S:
        where = f"at {word_offset(at_s, None).strip()}"
    else:
        nearby = word_offset(0.005 * round(at_s / 0.005), None)
        where = f"near {nearby.strip().removesuffix('.0')}"
    unit = "" if abs(at_s) >= SECONDS_FROM_S else " ms"
    return f"Agreement is best {where}{unit}: {best:.2f}."


def word_residuals(found: EventResiduals) -> str:
    """Return how many events agree, and how well: ``12 events in common, 0.13 ms rms``."""
    return f"{word_count(found.n_events, 'event')} in common, {1e3 * found.rms_s:.2f} ms rms."


def word_no_plot(pair: PairMeasurement, *, can_audit: bool) -> str:
    """Return why nothing can be drawn of a measurement.

    Parameters
    ----------
    pair : PairMeasurement
        The measurement.
    can_audit : bool
        Whether the evidence may not be there because an older version judged the clip.
    """
    if can_audit:
        return "Audit the clip to see the curve behind these figures."
    if pair.method == "speech" and "margin" not in pair.diagnostics:
        return "The aligner put this text in time, so its offset is 0: there is nothing to compare."
    if pair.method == "flash":
        return "No events of both are left to be compared."
    return f"One side of '{pair.method}' is too short, still or silent: there is no curve."
