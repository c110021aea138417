"""Offsets of the clocks of one recording over time, as lanes stacked vertically."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup, escape

from syncaudit.formatting import signed_ms, word_correction, word_tick
from syncaudit.report.axes import AXIS_PX, Scale, band, shorten, svg

_WIDTH = 960.0
_LEFT, _RIGHT = 64.0, 8.0
_HEAD = 22.0  # name and drift above a lane
_LANE = 66.0
_GAP = 12.0
# Time units; the first that a recording spans at least twice is used.
_UNITS = ((3600.0, "h"), (60.0, "min"), (1.0, "s"))


@dataclass(frozen=True, slots=True, kw_only=True)
class CoursePoint:
    """The offset of a clock in one clip."""

    at_ns: int  # middle of the clip
    offset_s: float  # correction to add and its standard error
    std_s: float
    verdict: str  # verdict on the source, for the colour
    is_measured: bool  # whether the clip measured it itself
    pooled_s: float | None  # correction estimated from all clips of the recording


def course_plot(
    lanes: Mapping[str, Sequence[CoursePoint]],
    *,
    words: Mapping[str, str],
    steps: Mapping[str, Sequence[Mapping[str, Any]]],
    tolerances_s: Mapping[str, float | None],
    label: str,
) -> Markup | None:
    """Return one lane per clock: marks of clips, the line of the recording, its steps.

    Each lane has a point at least, and they are in order of time. `words` stand above a lane,
    `steps` are jumps between clips (``after_ns``, ``before_ns``, ``step_s``), a tolerance is half
    the width of the band about zero, and `label` is for screen readers.
    """
    if not lanes:
        return None
    times = [point.at_ns for lane in lanes.values() for point in lane]
    first_ns, span_s = min(times), max(1.0, (max(times) - min(times)) * 1e-9)
    across = Scale(-0.01 * span_s, 1.01 * span_s, _LEFT, _WIDTH - _RIGHT)
    parts: list[str] = []
    y = 0.0
    for name, lane in lanes.items():
        parts.append(
            f'<text class="name" x="{_LEFT:.0f}" y="{y + 14:.1f}">{escape(shorten(name, 40))}'
            f'<tspan class="words" dx="12">{escape(words[name])}</tspan></text>'
        )
        top = y + _HEAD
        up = _upwards(lane, top)
        parts += _frame(up, top, tolerances_s[name])
        parts += _steps(steps[name], across, first_ns, top)
        parts += _line(lane, across, up, first_ns)
        parts += [_mark(point, name, across, up, first_ns) for point in lane if point.is_measured]
        y = top + _LANE + _GAP
    parts += _time_axis(across, span_s, y - _GAP)
    return svg(parts, _WIDTH, y - _GAP + AXIS_PX, label)


def _upwards(lane: Sequence[CoursePoint], top: float) -> Scale:
    """Return a scale that shows the change of an offset rather than its distance from zero."""
    values = [p.offset_s for p in lane] + [p.pooled_s for p in lane if p.pooled_s is not None]
    low, high = min(values), max(values)
    room = max(0.12 * (high - low), 0.5e-3)
    low, high = low - room, high + room
    if low > 0.0 and low < 2 * (high - low):
        low = -room
    if high < 0.0 and -high < 2 * (high - low):
        high = room
    return Scale(low, high, top + _LANE, top)


def _frame(up: Scale, top: float, tolerance_s: float | None) -> list[str]:
    right = _WIDTH - _RIGHT
    parts = [
        f'<rect class="lane" x="{_LEFT}" y="{top:.1f}" width="{right - _LEFT:.1f}" '
        f'height="{_LANE:.1f}"/>'
    ]
    if tolerance_s is not None:
        high, low = up.px(tolerance_s), up.px(-tolerance_s)
        if low - high > 0.05:
            parts.append(band(_LEFT, high, right - _LEFT, low - high))
    for tick in up.ticks_s(4):
        y = up.px(tick)
        kind = "zero" if abs(tick) < 1e-12 else "grid"
        parts.append(
            f'<line class="{kind}" x1="{_LEFT}" y1="{y:.1f}" x2="{right:.1f}" y2="{y:.1f}"/>'
            f'<text class="tick side" x="{_LEFT - 6:.1f}" y="{y + 4:.1f}">'
            f"{word_tick(tick, with_unit=True)}</text>"
        )
    return parts


def _steps(
    steps: Sequence[Mapping[str, Any]], across: Scale, first_ns: int, top: float
) -> list[str]:
    parts = []
    for step in steps:
        x = across.px(((step["after_ns"] + step["before_ns"]) / 2 - first_ns) * 1e-9)
        words = f"the clock jumps by {signed_ms(step['step_s'])} between two clips"
        parts.append(
            f'<g class="step"><title>{escape(words)}</title>'
            f'<line x1="{x:.1f}" y1="{top:.1f}" x2="{x:.1f}" y2="{top + _LANE:.1f}"/></g>'
        )
    return parts


def _line(lane: Sequence[CoursePoint], across: Scale, up: Scale, first_ns: int) -> list[str]:
    places = [
        f"{across.px((point.at_ns - first_ns) * 1e-9):.1f} {up.px(point.pooled_s):.1f}"
        for point in lane
        if point.pooled_s is not None
    ]
    return [f'<path class="pooled" d="M{"L".join(places)}"/>'] if len(places) > 1 else []


def _mark(point: CoursePoint, name: str, across: Scale, up: Scale, first_ns: int) -> str:
    x = across.px((point.at_ns - first_ns) * 1e-9)
    y = up.px(point.offset_s)
    top = up.px(point.offset_s + point.std_s)
    bottom = up.px(point.offset_s - point.std_s)
    words = f"{name}: {word_correction(point.offset_s, point.std_s)}, {point.verdict}"
    return (
        f'<g class="mark {escape(point.verdict)}"><title>{escape(words)}</title>'
        f'<line x1="{x:.1f}" y1="{top:.1f}" x2="{x:.1f}" y2="{bottom:.1f}"/>'
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.6"/></g>'
    )


def _time_axis(across: Scale, span_s: float, bottom: float) -> list[str]:
    size, unit = next(((s, u) for s, u in _UNITS if span_s >= 2 * s), _UNITS[-1])
    inner = Scale(0.0, span_s / size, across.px(0.0), across.px(span_s))
    return [
        f'<text class="tick" x="{inner.px(tick):.1f}" y="{bottom + 17:.1f}">'
        f"{tick:g}{f' {unit}' if k == 0 else ''}</text>"
        for k, tick in enumerate(inner.ticks_s(8))
    ]
