"""Shared parts of the page's drawings: scales in milliseconds, tolerance bands, inline SVG.

Drawings are made here as SVG rather than by a plotting library in the page: a library is a program
of 3-5 MB, while a page of drawings that take their colours from the style sheet is a few hundred
kB, works without a script, prints, and turns dark with the reader's system.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup, escape

from syncaudit.formatting import word_tick

AXIS_PX = 26.0
"""Height of the row of numbers below a drawing."""

_FINE_S = 1e-3  # below this range every tick label has its unit


class Scale:
    """Map seconds to pixels, clamped to the ends of the scale."""

    def __init__(self, low_s: float, high_s: float, start_px: float, stop_px: float) -> None:
        self.low_s, self.high_s = low_s, high_s
        self._start_px = start_px
        self._factor = (stop_px - start_px) / (high_s - low_s)

    def px(self, seconds: float) -> float:
        """Return the position of a value."""
        return self._start_px + self._factor * (
            min(max(seconds, self.low_s), self.high_s) - self.low_s
        )

    def is_inside(self, seconds: float) -> bool:
        """Return whether a value lies within the scale."""
        return self.low_s <= seconds <= self.high_s

    def ticks_s(self, most: int = 5) -> list[float]:
        """Return up to `most` round values, or a few more if that gives rounder ones."""
        rough = (self.high_s - self.low_s) / most
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(m * power for m in (1.0, 2.0, 5.0, 10.0) if m * power >= rough * 0.999)
        first, last = math.ceil(self.low_s / step - 1e-9), math.floor(self.high_s / step + 1e-9)
        return [k * step for k in range(first, last + 1)]


def bottom_axis(scale: Scale, top_px: float, bottom_px: float) -> list[str]:
    """Return grid lines of milliseconds with their labels below."""
    parts = []
    for tick in scale.ticks_s():
        x = scale.px(tick)
        kind = "zero" if tick == 0 else "grid"
        parts.append(
            f'<line class="{kind}" x1="{x:.1f}" y1="{top_px:.1f}" '
            f'x2="{x:.1f}" y2="{bottom_px:.1f}"/>'
        )
        with_unit = tick == 0 or scale.high_s < _FINE_S
        text = word_tick(tick, with_unit=with_unit)
        parts.append(f'<text class="tick" x="{x:.1f}" y="{bottom_px + 16:.1f}">{text}</text>')
    return parts


def band(x: float, y: float, width: float, height: float) -> str:
    """Return the grey tolerance band."""
    return f'<rect class="band" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"/>'


def shorten(text: str, length: int = 20) -> str:
    """Return `text`, cut with an ellipsis if it is longer than `length`."""
    return text if len(text) <= length else f"{text[: length - 1]}…"


def svg(parts: Sequence[str], width_px: float, height_px: float, label: str) -> Markup:
    """Return a drawing; all external text in `parts` must have gone through `escape`."""
    head = (
        f'<svg class="plot" viewBox="0 0 {width_px:.0f} {height_px:.0f}" role="img" '
        f'aria-label="{escape(label)}">'
    )
    return Markup(head + "".join(parts) + "</svg>")  # noqa: S704  # escaped by the callers
