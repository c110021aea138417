"""Figures and names in narrow places: signed milliseconds, ppm, clock times, evidence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import takewhile

import numpy as np

from syncaudit.formatting import rounded, word_count
from syncaudit.model import AgreementCurve, EventResiduals, PairMeasurement

MINUS = "−"
# Offsets from this size are given in seconds.
SECONDS_FROM_S = 10.0
# Searches with larger steps locate the peak to 5 ms.
FINE_STEP_S = 0.005


def word_offset(offset_s: float, offset_std_s: float | None) -> str:
    """Return a signed offset ± 1 standard error in ms: ``+34.9 ± 0.4``; in s from 10 s.

    The digits are those of `syncaudit.formatting.word_measure`.
    """
    scale, unit = (1.0, " s") if abs(offset_s) >= SECONDS_FROM_S else (1e3, "")
    value = scale * offset_s
    if offset_std_s is None or offset_std_s <= 0.0 or not math.isfinite(offset_std_s):
        return f"{_signed(value, 1)}{unit}"
    size, std = rounded(abs(value), scale * offset_std_s)
    return f"{_sign(value, size)}{size} ± {std}{unit}"


def word_drift(drift_ppm: float | None, drift_std_ppm: float | None) -> str:
    """Return a drift ± 1 standard error in ppm: ``+190 ± 20``; a dash if it is unknown."""
    if drift_ppm is None:
        return "–"
    if not drift_std_ppm or not math.isfinite(drift_std_ppm):
        return _signed(drift_ppm, 0 if abs(drift_ppm) >= 100.0 else 1)
    size, std = rounded(abs(drift_ppm), drift_std_ppm)
    return f"{_sign(drift_ppm, size)}{size} ± {std}"


def word_nudge(nudge_s: float) -> str:
    """Return a nudge in ms; a dot if there is none."""
    return "·" if nudge_s == 0.0 else _signed(1e3 * nudge_s, 1)


def word_agreement(curve: AgreementCurve) -> str:
    """Describe the peak of a curve: ``Agreement is best at +34.9 ms: 0.93``.

    Coarse searches do not resolve tenths of a millisecond; the estimate next to it does.
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
    """Describe how many events agree, and how well: ``12 events in common, 0.13 ms rms``."""
    return f"{word_count(found.n_events, 'event')} in common, {1e3 * found.rms_s:.2f} ms rms."


def word_no_plot(pair: PairMeasurement, *, can_audit: bool) -> str:
    """Explain why nothing can be plotted for a measurement.

    With `can_audit`, evidence may be missing because an older version judged the clip.
    """
    if can_audit:
        return "Audit the clip to see the curve behind these figures."
    if pair.method == "speech" and "margin" not in pair.diagnostics:
        return "The aligner timed this text, so its offset is 0: nothing to compare."
    if pair.method == "flash":
        return "No common events are left to compare."
    return f"One side of '{pair.method}' is too short, still or silent: no curve."


def word_time(time_s: float, *, digits: int = 3) -> str:
    """Return a position: ``18.200 s``, ``12:05.000`` above a minute, ``1:02:05.000`` for hours."""
    sign, rest_s = (MINUS if time_s < 0.0 else ""), round(abs(time_s), digits)
    if rest_s < 60.0:
        return f"{sign}{rest_s:.{digits}f} s"
    minutes, seconds = divmod(rest_s, 60.0)
    width = digits + 3 if digits else 2
    tail = f"{seconds:0{width}.{digits}f}"
    hours, minutes = divmod(int(minutes), 60)
    return f"{sign}{hours}:{minutes:02d}:{tail}" if hours else f"{sign}{minutes}:{tail}"


def word_span(span_s: float) -> str:
    """Return a signed length: ``+35.1 ms``, ``−1.250 s``."""
    if abs(span_s) < 1.0:
        return f"{_signed(1e3 * span_s, 2)} ms"
    return f"{_signed(span_s, 4)} s"


def word_value(value: float) -> str:
    """Return a measured value with three digits: ``−12.3``; a dash if there is none."""
    if not math.isfinite(value):
        return "–"
    text = f"{value + 0.0:.3g}" if abs(value) < 1e3 else f"{value:.4g}"
    return text.replace("-", MINUS)


def word_age(age_s: float) -> str:
    """Return the age of a frame: ``+42 ms``, ``+1.3 s``."""
    return f"+{1e3 * age_s:.0f} ms" if age_s < 1.0 else f"+{age_s:.1f} s"


def short_names(names: Sequence[str]) -> list[str]:
    """Return names without the words that all of them begin and end with.

    ``cam_front_left`` and ``cam_rear`` become ``front_left`` and ``rear``; each keeps a word.
    """
    words = [name.split("_") for name in names]
    if len(words) < 2:
        return list(names)
    n_most = min(map(len, words)) - 1
    n_first = n_common([part[:n_most] for part in words])
    n_last = n_common([part[::-1][: n_most - n_first] for part in words])
    return ["_".join(part[n_first : len(part) - n_last]) for part in words]


def n_common(rows: Sequence[Sequence[str]]) -> int:
    """Return the number of words, or letters, that all rows begin with."""
    return sum(1 for _ in takewhile(lambda column: len(set(column)) == 1, zip(*rows, strict=False)))


def _signed(value: float, digits: int) -> str:
    text = f"{abs(value):.{digits}f}"
    return f"{_sign(value, text)}{text}"


def _sign(value: float, text: str) -> str:
    if float(text) == 0.0:
        return " "
    return "+" if value > 0.0 else MINUS
