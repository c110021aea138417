"""Words for the figures of a verdict row, shared by the page and the terminal."""

from __future__ import annotations

from syncaudit.model import SourceVerdict, Verdict
from syncaudit.model.wording import word_correction

__all__ = [
    "signed_ms",
    "word_correction",
    "word_ms",
    "word_rate",
    "word_share",
    "word_span",
    "word_unmeasured",
]


def word_unmeasured(source: SourceVerdict) -> str:
    """Return what stands for a source of whose clock its clip shows no offset by itself."""
    pooled = source.recording
    if pooled is not None and pooled.offset_s is not None:
        return f"{word_correction(pooled.offset_s, pooled.offset_std_s)}, by recording"
    if source.verdict is not Verdict.PASS:
        return source.why_unmeasured or "nothing to measure it by"
    return "fits its audio" if source.kind == "transcript" else "agrees with its baseline"


def word_rate(rate_hz: float) -> str:
    """Return ``12.5 Hz``, ``48000 Hz``: four digits, and never an exponent."""
    return f"{rate_hz:.0f} Hz" if rate_hz >= 1000 else f"{rate_hz:.4g} Hz"


def word_span(seconds: float) -> str:
    """Return how much data that is: ``40 s``, ``12 min``, ``3.4 h``."""
    if seconds < 120.0:
        return f"{seconds:.0f} s"
    if seconds < 7200.0:
        return f"{seconds / 60.0:.0f} min"
    hours = seconds / 3600.0
    return f"{hours:.1f} h" if hours < 100.0 else f"{hours:,.0f} h"


def signed_ms(seconds: float) -> str:
    """Return ``+34.9 ms``, ``−0.4 ms``, ``0.0 ms``: with its sign and a tenth of a millisecond."""
    ms = seconds * 1e3
    text = f"{ms:+,.0f}" if abs(ms) >= 1000.0 else f"{ms:+.1f}"
    return "0.0 ms" if text in ("+0.0", "-0.0") else f"{text} ms".replace("-", "−")


def word_share(part: float, whole: float) -> str:
    """Return ``12 %``, ``< 0.1 %`` where something is there but little, ``0 %``."""
    percent = 100.0 * part / whole if whole else 0.0
    if percent == 0.0 or percent == 100.0:
        return f"{percent:.0f} %"
    if percent < 0.1:
        return "< 0.1 %"
    if percent > 99.9:
        return "> 99.9 %"
    return f"{percent:.1f} %" if percent < 9.95 or percent > 99.0 else f"{percent:.0f} %"


def word_ms(seconds: float) -> str:
    """Return a size in milliseconds, for columns that are read down: ``0.42 ms``, ``35.1 ms``."""
    ms = abs(seconds) * 1e3
    if 0.0 < ms < 0.005:
        return "< 0.01 ms"
    return f"{ms:.2f} ms" if ms < 9.995 else f"{ms:.1f} ms" if ms < 99.95 else f"{ms:,.0f} ms"
