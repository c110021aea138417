"""Pictures of offsets against their tolerance, as inline SVG that follows the page's colours.

Both plots share their reading: left of zero the stamps are late, right of zero early; the grey
band is the tolerance; a bar is the 95 % interval.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from syncaudit.report.phrases import word_correction

__all__ = ["Point", "forest_plot", "strip_plot"]

_INTERVAL = 1.96  # standard errors either side of a 95 % interval
_WIDTH = 720.0
_LABEL = 150.0  # left margin of the forest plot
_WORDS = 175.0  # right margin of the forest plot
_ROW = 24.0
_AXIS = 26.0
_MAX_POINTS = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One estimate to draw.

    Parameters
    ----------
    label : str
        Source or clip.
    offset_s, std_s : float
        Estimate and standard error.
    verdict : str
        Colours it.
    tolerance_s : float, optional
        Band of its own row.
    is_reference : bool
        Zero by definition.
    """

    label: str
    offset_s: float
    std_s: float
    verdict: str
    tolerance_s: float | None = None
    is_reference: bool = False


class _Scale:
    """Milliseconds to pixels, symmetric about zero; beyond the edge things are clamped."""

    def __init__(self, reach_s: float, left: float, right: float) -> None:
        self.reach_s = reach_s
        self._middle = (left + right) / 2
        self._factor = (right - left) / 2 / reach_s

    def x(self, offset_s: float) -> float:
        return self._middle + self._factor * min(max(offset_s, -self.reach_s), self.reach_s)

    def ticks_s(self) -> list[float]:
        rough = self.reach_s / 2.5
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(m * power for m in (1.0, 2.0, 5.0, 10.0) if m * power >= rough * 0.999)
        n = math.floor(self.reach_s / step)
        return [k * step for k in range(-n, n + 1)]


def forest_plot(points: Sequence[Point], *, label: str) -> Markup:
    """Return one row a source: name, interval against its tolerance, words.

    Parameters
    ----------
    points : sequence of Point
        At least one.
    label : str
        What the picture shows, for screen readers.
    """
    tolerances = [point.tolerance_s for point in points if point.tolerance_s is not None]
    ends = [abs(point.offset_s) + _INTERVAL * point.std_s for point in points]
    reach_s = 1.08 * max([*ends, *(1.6 * tolerance for tolerance in tolerances), 1e-4])
    scale = _Scale(reach_s, _LABEL, _WIDTH - _WORDS)
    height = _ROW * len(points) + _AXIS
    parts = _axis(scale, height)
    for index, point in enumerate(points):
        y = _ROW * index + _ROW / 2
        if point.tolerance_s is not None:
            parts.append(_band(scale, point.tolerance_s, y - _ROW / 2 + 2, _ROW - 4))
        parts.append(
            f'<text class="name" x="0" y="{y + 4:.1f}">{escape(_short(point.label))}</text>'
        )
        parts.append(_mark(scale, point, y, radius=4.5))
        words = "reference" if point.is_reference else word_correction(point.offset_s, point.std_s)
        at = _WIDTH - _WORDS + 12
        parts.append(f'<text class="words" x="{at:.0f}" y="{y + 4:.1f}">{escape(words)}</text>')
    return _svg(parts, height, label)


def strip_plot(points: Sequence[Point], tolerance_s: float | None, *, label: str) -> Markup:
    """Return the offsets of one source over all clips, first clip on top.

    Parameters
    ----------
    points : sequence of Point
        At least one; above 400 the worst and an even sample of the others are drawn.
    tolerance_s : float, optional
        Width of the band either side of zero.
    label : str
        What the picture shows, for screen readers.
    """
    drawn = _thin(points)
    sizes = sorted(abs(point.offset_s) + _INTERVAL * point.std_s for point in drawn)
    # One absurd clip must not squeeze all others: clamp beyond eight times the usual.
    usual = sizes[len(sizes) // 2]
    floor_s = max(1.6 * (tolerance_s or 0.0), 1e-4)
    reach_s = 1.08 * max(floor_s, min(sizes[-1], max(8 * usual, 4 * floor_s)))
    scale = _Scale(reach_s, 8.0, _WIDTH - 8.0)
    pitch = min(12.0, max(0.6, 150.0 / len(drawn)))
    body = max(28.0, pitch * len(drawn) + 8.0)
    height = body + _AXIS
    parts = _axis(scale, height)
    if tolerance_s is not None:
        parts.insert(0, _band(scale, tolerance_s, 0.0, body))
    for index, point in enumerate(drawn):
        y = body / 2 + (index - (len(drawn) - 1) / 2) * pitch
        parts.append(_mark(scale, point, y, radius=3.5 if len(drawn) < 60 else 2.4))
    return _svg(parts, height, label)


def _thin(points: Sequence[Point]) -> list[Point]:
    if len(points) <= _MAX_POINTS:
        return list(points)
    by_size = sorted(range(len(points)), key=lambda i: -abs(points[i].offset_s))
    worst = by_size[: _MAX_POINTS // 2]
    step = len(points) / (_MAX_POINTS // 2)
    even = (int(k * step) for k in range(_MAX_POINTS // 2))
    return [points[index] for index in sorted({*worst, *even})]


def _axis(scale: _Scale, height: float) -> list[str]:
    bottom = height - _AXIS
    parts = []
    for tick in scale.ticks_s():
        x = scale.x(tick)
        kind = "zero" if tick == 0 else "grid"
        parts.append(f'<line class="{kind}" x1="{x:.1f}" y1="0" x2="{x:.1f}" y2="{bottom:.1f}"/>')
        number = "0" if tick == 0 else f"{tick * 1e3:+g}".replace("-", "−")
        text = f"{number} ms" if tick == 0 or abs(scale.reach_s) < 1e-3 else number
        parts.append(f'<text class="tick" x="{x:.1f}" y="{bottom + 16:.1f}">{text}</text>')
    return parts


def _band(scale: _Scale, tolerance_s: float, top: float, height: float) -> str:
    left, right = scale.x(-tolerance_s), scale.x(tolerance_s)
    return (
        f'<rect class="band" x="{left:.1f}" y="{top:.1f}" '
        f'width="{right - left:.1f}" height="{height:.1f}"/>'
    )


def _mark(scale: _Scale, point: Point, y: float, *, radius: float) -> str:
    kind = "reference" if point.is_reference else point.verdict
    x = scale.x(point.offset_s)
    words = f"{point.label}: {word_correction(point.offset_s, point.std_s)}, {point.verdict}"
    title = f"<title>{escape(words)}</title>"
    if abs(point.offset_s) > scale.reach_s:
        sign = 1 if point.offset_s > 0 else -1
        radius = max(radius, 5.0)
        tip, tail = x, x - sign * 2 * radius
        shape = f'<path d="M{tip:.1f} {y:.1f}L{tail:.1f} {y - radius:.1f}V{y + radius:.1f}Z"/>'
        return f'<g class="mark {escape(kind)}">{title}{shape}</g>'
    left = scale.x(point.offset_s - _INTERVAL * point.std_s)
    right = scale.x(point.offset_s + _INTERVAL * point.std_s)
    bar = f'<line x1="{left:.1f}" y1="{y:.1f}" x2="{right:.1f}" y2="{y:.1f}"/>'
    dot = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}"/>'
    return f'<g class="mark {escape(kind)}">{title}{bar}{dot}</g>'


def _short(text: str, length: int = 20) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"


def _svg(parts: Sequence[str], height: float, label: str) -> Markup:
    head = (
        f'<svg class="plot" viewBox="0 0 {_WIDTH:.0f} {height:.0f}" role="img" '
        f'aria-label="{escape(label)}">'
    )
    # Every text that comes from outside went through escape().
    return Markup(head + "".join(parts) + "</svg>")  # noqa: S704  # escaped above
