"""The sources of one clip against their tolerances, as a drawing of their errors.

Left of zero the stamps are late, right of zero early; the grey band is the tolerance; a bar is
one standard error to either side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from syncaudit.formatting import word_correction
from syncaudit.report.axes import AXIS_PX, Scale, band, bottom_axis, shorten, svg

__all__ = ["Point", "forest_plot"]

_WIDTH = 600.0
_WORDS = 178.0  # right margin
_ROW = 24.0
_LETTER = 7.6  # typical width of a bold letter
_LABELS = (90.0, 230.0)  # least and largest left margin


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One estimate to draw.

    Parameters
    ----------
    label : str
        Source or pair.
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


def forest_plot(points: Sequence[Point], *, label: str) -> Markup:
    """Return one row a source: name, standard error against its tolerance, words.

    Parameters
    ----------
    points : sequence of Point
        At least one.
    label : str
        What the picture shows, for screen readers.
    """
    tolerances = [point.tolerance_s for point in points if point.tolerance_s is not None]
    ends = [abs(point.offset_s) + point.std_s for point in points]
    reach_s = 1.08 * max([*ends, *(1.6 * tolerance for tolerance in tolerances), 1e-4])
    margin = min(max(_LETTER * max(len(p.label) for p in points) + 12, _LABELS[0]), _LABELS[1])
    letters = int(_LABELS[1] / _LETTER)
    scale = Scale.about_zero(reach_s, margin, _WIDTH - _WORDS)
    bottom = _ROW * len(points)
    parts = bottom_axis(scale, 0.0, bottom)
    for index, point in enumerate(points):
        y = _ROW * index + _ROW / 2
        if point.tolerance_s is not None:
            left, right = scale.px(-point.tolerance_s), scale.px(point.tolerance_s)
            parts.append(band(left, y - _ROW / 2 + 2, right - left, _ROW - 4))
        name = shorten(point.label, letters)
        parts.append(f'<text class="name" x="0" y="{y + 4:.1f}">{escape(name)}</text>')
        parts.append(_mark(scale, point, y))
        words = "reference" if point.is_reference else word_correction(point.offset_s, point.std_s)
        at = _WIDTH - _WORDS + 12
        parts.append(f'<text class="words" x="{at:.0f}" y="{y + 4:.1f}">{escape(words)}</text>')
    return svg(parts, _WIDTH, bottom + AXIS_PX, label)


def _mark(scale: Scale, point: Point, y: float) -> str:
    kind = "reference" if point.is_reference else point.verdict
    words = f"{point.label}: {word_correction(point.offset_s, point.std_s)}, {point.verdict}"
    left = scale.px(point.offset_s - point.std_s)
    right = scale.px(point.offset_s + point.std_s)
    return (
        f'<g class="mark {escape(kind)}"><title>{escape(words)}</title>'
        f'<line x1="{left:.1f}" y1="{y:.1f}" x2="{right:.1f}" y2="{y:.1f}"/>'
        f'<circle cx="{scale.px(point.offset_s):.1f}" cy="{y:.1f}" r="4.5"/></g>'
    )
