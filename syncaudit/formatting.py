"""Format figures with unit and error for display: offsets in words, not signs.

What follows ``±`` is one standard error, and so are bars and bands of plots: the same figure in
sentences, tables, pages and files (`offset_std_s`). Every screen and page states this once.
"""

from __future__ import annotations

import math
import signal
from collections.abc import Sequence

MS_PER_H_PER_PPM = 3.6
PLUS_MINUS = "± is 1 standard error"

# Smallest size that reads better in the unit: below 0.1 ms in us, at least 1 s in s.
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
    """Return ``early`` or ``late``: timestamps that need a positive offset added are early."""
    return "early" if offset_s >= 0.0 else "late"


def word_correction(offset_s: float, std_s: float | None = None) -> str:
    """Return ``35.1 ± 0.6 ms early`` for a correction of +35.1 ms (formats, section 1)."""
    return f"{word_measure(offset_s, std_s)} {word_direction(offset_s)}"


def word_offset(name: str, offset_s: float, offset_std_s: float | None = None) -> str:
    """Describe what must be added to timestamps: ``cam_rear timestamps 35.1 ± 0.6 ms early``."""
    return f"{name} timestamps {word_correction(offset_s, offset_std_s)}"


def word_drift(drift_ppm: float, drift_std_ppm: float | None = None) -> str:
    """Format a drift in both units: ``19.8 ± 3.1 ppm (71 ms/h)``."""
    if drift_std_ppm is None or drift_std_ppm <= 0.0 or not math.isfinite(drift_std_ppm):
        ppm = _three_digits(drift_ppm)
    else:
        value, std = rounded(abs(drift_ppm), drift_std_ppm)
        ppm = f"{'-' if drift_ppm < 0.0 else ''}{value} ± {std}"
    return f"{ppm} ppm ({_three_digits(drift_ppm * MS_PER_H_PER_PPM)} ms/h)"


def word_count(n: int, noun: str) -> str:
    """Format a number with its noun: ``1 gap``, ``3 gaps``."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def word_names(names: Sequence[str]) -> str:
    """Format a list of names: ``a``, ``a and b``, ``a, b and c``."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def word_rate(rate_hz: float) -> str:
    """Format a rate with four digits, never with an exponent: ``12.5 Hz``, ``48000 Hz``."""
    return f"{rate_hz:.0f} Hz" if rate_hz >= 1000 else f"{rate_hz:.4g} Hz"


def word_span(seconds: float) -> str:
    """Format an amount of data by its duration: ``40 s``, ``12 min``, ``3.4 h``."""
    if seconds < 120.0:
        return f"{seconds:.0f} s"
    if seconds < 7200.0:
        return f"{seconds / 60.0:.0f} min"
    hours = seconds / 3600.0
    return f"{hours:.1f} h" if hours < 100.0 else f"{hours:,.0f} h"


def signed_ms(seconds: float) -> str:
    """Format milliseconds with sign and one decimal: ``+34.9 ms``, ``−0.4 ms``, ``0.0 ms``."""
    ms = seconds * 1e3
    text = f"{ms:+,.0f}" if abs(ms) >= 1000.0 else f"{ms:+.1f}"
    return "0.0 ms" if text in ("+0.0", "-0.0") else f"{text} ms".replace("-", "−")


def word_share(part: float, whole: float) -> str:
    """Format a share: ``12 %``, ``< 0.1 %`` if it is small but not zero, ``0 %``."""
    percent = 100.0 * part / whole if whole else 0.0
    if percent == 0.0 or percent == 100.0:
        return f"{percent:.0f} %"
    if percent < 0.1:
        return "< 0.1 %"
    if percent > 99.9:
        return "> 99.9 %"
    return f"{percent:.1f} %" if percent < 9.95 or percent > 99.0 else f"{percent:.0f} %"


def word_ms(seconds: float) -> str:
    """Format a size in milliseconds, for table columns: ``0.42 ms``, ``35.1 ms``."""
    ms = abs(seconds) * 1e3
    if 0.0 < ms < 0.005:
        return "< 0.01 ms"
    return f"{ms:.2f} ms" if ms < 9.995 else f"{ms:.1f} ms" if ms < 99.95 else f"{ms:,.0f} ms"


def word_tick(seconds: float, *, with_unit: bool) -> str:
    """Format the label of a tick in milliseconds, with its sign."""
    number = "0" if abs(seconds) < 1e-12 else f"{seconds * 1e3:+g}".replace("-", "−")
    return f"{number} ms" if with_unit else number


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
    """Round a size to the digits that its error supports: one, or two if that starts with 1."""
    exponent = math.floor(math.log10(std))
    if std / 10.0**exponent < 1.95:
        exponent -= 1
    decimals = max(0, -exponent)
    return f"{value:.{decimals}f}", f"{std:.{decimals}f}"


def signal_name(number: int) -> str:
    """Return the name of a signal that ended a process."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
