"""Offsets of cameras told in frames."""

from __future__ import annotations

from syncaudit.formatting import word_count

__all__ = ["word_hidden", "word_slip"]

# Share of a frame period that no error bar need be smaller than, to call it a whole period.
_SAME_PERIOD = 0.02
# Share of a frame period within which an offset of a counter is called a whole number of them.
_NEAR_PERIOD = 0.25


def word_slip(size_s: float, std_s: float, period_s: float | None, z: float) -> str:
    """Say that a size is a whole number of frame periods, where it is known well enough to tell.

    A chance hit is one in five at worst: the interval must be shorter than a tenth of the period
    to either side.
    """
    if period_s is None or not period_s > 0.0 or z * std_s > 0.1 * period_s:
        return ""
    n = round(abs(size_s) / period_s)
    if n < 1 or abs(abs(size_s) - n * period_s) > max(z * std_s, _SAME_PERIOD * period_s):
        return ""
    what = "lost" if size_s > 0.0 else "doubled"
    return (
        f": exactly {word_count(n, 'frame period')}, likely {word_count(n, 'frame')} {what} and "
        "the rest renumbered"
    )


def word_hidden(size_s: float, period_s: float | None) -> str:
    """Say that an offset hides behind stamps that count, in frames where it is about whole."""
    hidden = "which stamps that count cannot show"
    if period_s is None or not period_s > 0.0:
        return f", {hidden}"
    n = round(abs(size_s) / period_s)
    if n < 1 or abs(abs(size_s) - n * period_s) > _NEAR_PERIOD * period_s:
        return f", {hidden}"
    return f": about {word_count(n, 'frame period')}, {hidden}"
