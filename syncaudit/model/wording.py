"""Word offsets, durations and drifts for people: they read words, not signs.

What follows ``±`` is one standard error, and so are bars and bands of plots: the same figure in
sentences, tables, pages and files (`offset_std_s`). Every screen and page says so once.
"""

from __future__ import annotations

import math

__all__ = [
    "MS_PER_H_PER_PPM",
    "PLUS_MINUS",
    "rounded",
    "word_correction",
    "word_count",
    "word_direction",
    "word_drift",
    "word_duration",
    "word_measure",
    "word_offset",
]

MS_PER_H_PER_PPM = 3.6
PLUS_MINUS = "± is 1 standard error"

# Smallest size that reads better in the unit: below 0.1 ms in us, from 1 s on in s.
_UNITS = ((1.0, 1.0, "s"), (1e-4, 1e-3, "ms"), (0.0, 1e-6, "us"))


def word_duration(seconds: float) -> str:
    """Return a duration in the unit that reads best, with three digits: ``35.1 ms``."""
    size, unit = _unit(abs(seconds))
    return f"{_three_digits(seconds / size)} {unit}"


def word_measure(seconds: float, std_s: float | None) -> str:
    """Return size and standard error in one unit: ``35.1 ± 0.6 ms``; the sign is dropped."""
    if std_s is None or std_s <= 0.0 or not math.isfinite(std_s):
        return word_duration(abs(seconds))
    size, unit = _unit(max(abs(seconds), std_s))
    value, std = rounded(abs(seconds) / size, std_s / size)
    return f"{value} ± {std} {unit}"


def word_direction(offset_s: float) -> str:
    """Return ``early`` or ``late``: stamps that need a positive offset added are early."""
    return "early" if offset_s >= 0.0 else "late"


def word_correction(offset_s: float, std_s: float | None = None) -> str:
    """Return ``35.1 ± 0.6 ms early`` for a correction of +35.1 ms (formats, section 1)."""
    return f"{word_measure(offset_s, std_s)} {word_direction(offset_s)}"


def word_offset(name: str, offset_s: float, offset_std_s: float | None = None) -> str:
    """Return what an offset means: ``cam_rear timestamps 35.1 ± 0.6 ms early``.

    Parameters
    ----------
    name : str
        Source or clock.
    offset_s, offset_std_s : float
        What must be added to its stamps, and the standard error.
    """
    return f"{name} timestamps {word_correction(offset_s, offset_std_s)}"


def word_drift(drift_ppm: float, drift_std_ppm: float | None = None) -> str:
    """Return a drift in both units: ``19.8 ± 3.1 ppm (71 ms/h)``."""
    if drift_std_ppm is None or drift_std_ppm <= 0.0 or not math.isfinite(drift_std_ppm):
        ppm = _three_digits(drift_ppm)
    else:
        value, std = rounded(abs(drift_ppm), drift_std_ppm)
        ppm = f"{'-' if drift_ppm < 0.0 else ''}{value} ± {std}"
    return f"{ppm} ppm ({_three_digits(drift_ppm * MS_PER_H_PER_PPM)} ms/h)"


def word_count(n: int, noun: str) -> str:
    """Return a number with its noun: ``1 gap``, ``3 gaps``."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def _unit(seconds: float) -> tuple[float, str]:
    if seconds == 0.0:
        return 1e-3, "ms"
    for least, size, unit in _UNITS:
        if seconds >= least:
            return size, unit
    return 1.0, "s"  # not a number


def _three_digits(value: float) -> str:
    if not math.isfinite(value):
        return str(value)
    if abs(value) >= 100.0:
        return f"{value:.0f}"
    text = f"{value:.3g}"
    return "0" if float(text) == 0.0 else text


def rounded(value: float, std: float) -> tuple[str, str]:
    """Round a size to the digits that its error supports: one, or two where that starts with 1."""
    exponent = math.floor(math.log10(std))
    if std / 10.0**exponent < 1.95:
        exponent -= 1
    decimals = max(0, -exponent)
    return f"{value:.{decimals}f}", f"{std:.{decimals}f}"
