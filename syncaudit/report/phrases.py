"""Words for the figures of a verdict row, shared by the page and the terminal."""

from __future__ import annotations

from syncaudit.model.wording import word_direction, word_measure

__all__ = ["word_correction", "word_rate"]


def word_correction(offset_s: float, std_s: float | None) -> str:
    """Return ``35.1 ± 0.6 ms early`` for a correction of +35.1 ms (formats, section 1)."""
    return f"{word_measure(offset_s, std_s)} {word_direction(offset_s)}"


def word_rate(rate_hz: float) -> str:
    """Return ``12.5 Hz``, ``48000 Hz``: four digits, and never an exponent."""
    return f"{rate_hz:.0f} Hz" if rate_hz >= 1000 else f"{rate_hz:.4g} Hz"
