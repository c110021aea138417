"""Show one clip on the page: timestamps beside content, measurements, findings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup, escape

from syncaudit.formatting import word_correction, word_count, word_drift, word_duration, word_rate
from syncaudit.model import ClipVerdict, PairMeasurement, SourceVerdict, StampAudit, Verdict
from syncaudit.report.axes import AXIS_PX, Scale, band, bottom_axis, shorten, svg
from syncaudit.report.reasons import word_unmeasured

WITNESSES = {
    "camera": "pixels",
    "imu": "motion",
    "can": "signals",
    "audio": "sound",
    "transcript": "speech",
    "events": "events",
    "state": "motion",
}
"""The content that reveals the true time of a source, by kind."""

# Timestamps with less jitter than this fraction of a sample interval are called regular.
_REGULAR_SHARE = 0.05
_MAX_EVIDENCE = 10
_WIDTH = 600.0
_WORDS = 178.0  # right margin
_ROW = 24.0
_LETTER = 7.6  # typical width of a bold letter
_LABELS = (90.0, 230.0)  # smallest and largest left margin


def clip_card(clip: ClipVerdict, tolerances_s: Mapping[str, float]) -> dict[str, Any]:
    """Return the view of one clip."""
    points = [
        Point(
            label=name,
            offset_s=source.offset_s,
            std_s=source.offset_std_s or 0.0,
            verdict=source.verdict,
            tolerance_s=tolerances_s.get(name),
            is_reference=source.clock == clip.reference,
        )
        for name, source in clip.sources.items()
        if source.is_observable and source.offset_s is not None
    ]
    label = f"offsets of clip {clip.clip_id}"
    return {
        "clip_id": clip.clip_id,
        "recording_id": clip.recording_id,
        "verdict": clip.verdict,
        "reference": clip.reference,
        "seconds": clip.seconds,
        "codes": sorted({reason.code for reason in clip.reasons}),
        "headline": clip.reasons[0].message if clip.reasons else "",
        "reasons": clip.reasons,
        "warnings": clip.warnings,
        "sources": [
            {
                "name": name,
                "kind": source.kind,
                "verdict": source.verdict,
                "stamps": stamp_words(source.timing),
                "witness": WITNESSES.get(source.kind, "content"),
                "content": content_words(source, clip.reference),
            }
            for name, source in clip.sources.items()
        ],
        "accepted": [_pair(pair) for pair in clip.pairs if pair.accepted],
        "refused": [_pair(pair) for pair in clip.pairs if not pair.accepted],
        "plot": forest_plot(points, label=label) if points else None,
        "evidence": _evidence(clip),
    }


def _evidence(clip: ClipVerdict) -> Markup | None:
    """Return the measurements behind the verdict as intervals, rejected sources first."""
    rejected = {name for name, source in clip.sources.items() if source.verdict is Verdict.REJECT}
    pairs = [
        pair
        for pair in clip.pairs
        if pair.accepted and pair.offset_s is not None and not pair.is_baseline_only
    ]
    pairs.sort(key=lambda pair: not rejected & {pair.source, pair.target})
    points = [
        Point(
            label=f"{pair.source} → {pair.target}",
            offset_s=pair.offset_s or 0.0,
            std_s=pair.offset_std_s or 0.0,
            verdict="reject" if rejected & {pair.source, pair.target} else "measured",
        )
        for pair in pairs[:_MAX_EVIDENCE]
    ]
    label = f"measurements of clip {clip.clip_id}"
    return forest_plot(points, label=label) if points else None


def stamp_words(timing: StampAudit | None) -> str:
    """Describe what the timestamps alone claim: ``regular at 12 Hz`` or what is odd about them."""
    if timing is None:
        return "not examined"
    if not timing.samples:
        return "no samples"
    rate = timing.rate_hz
    pace = f"{timing.samples} samples" + ("" if rate is None else f" at {word_rate(rate)}")
    odd = [
        word_count(count, noun)
        for count, noun in (
            (timing.gaps, "gap"),
            (timing.missing, "missing sample"),
            (timing.duplicates, "duplicate"),
            (timing.doubled, "doubled sample"),
            (timing.backwards, "stamp out of order"),
        )
        if count
    ]
    if timing.steps:
        odd.append(word_count(len(timing.steps), "clock step"))
    jitter = timing.jitter_s
    if jitter is not None and rate and jitter * rate > _REGULAR_SHARE:
        odd.append(f"jitter {word_duration(jitter)}")
    if timing.is_irregular:
        odd.append("no regular clock")
    if timing.is_synthetic:
        odd.append("made up from index and rate")
    return f"{pace}, {', '.join(odd) if odd else 'regular'}"


def content_words(source: SourceVerdict, reference: str | None) -> str:
    """Describe what the content shows about the source's clock."""
    if source.clock == reference:
        return "reference clock"
    if not source.is_observable or source.offset_s is None:
        return word_unmeasured(source)
    words = word_correction(source.offset_s, source.offset_std_s)
    if source.drift_ppm is not None:
        words += f", drift {word_drift(source.drift_ppm, source.drift_std_ppm)}"
    return words


def _pair(pair: PairMeasurement) -> dict[str, Any]:
    offset_s = pair.offset_s
    return {
        "name": f"{pair.source} → {pair.target}",
        "method": pair.method,
        "offset": None if offset_s is None else word_correction(offset_s, pair.offset_std_s),
        "why": pair.why,
        "is_baseline_only": pair.is_baseline_only,
        "diagnostics": [
            (name, f"{value:.4g}") for name, value in pair.diagnostics.items() if value is not None
        ],
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One estimate to draw."""

    label: str  # source or pair
    offset_s: float  # estimate and standard error
    std_s: float
    verdict: str  # determines the colour
    tolerance_s: float | None = None  # band of its own row
    is_reference: bool = False  # zero by definition


def forest_plot(points: Sequence[Point], *, label: str) -> Markup:
    """Return one row per source: name, offset with standard error and tolerance, words.

    Left of zero the timestamps are late, right of zero early; the grey band is the tolerance; a
    bar extends one standard error to either side.

    There must be a point; `label` is for screen readers.
    """
    tolerances = [point.tolerance_s for point in points if point.tolerance_s is not None]
    ends = [abs(point.offset_s) + point.std_s for point in points]
    reach_s = 1.08 * max([*ends, *(1.6 * tolerance for tolerance in tolerances), 1e-4])
    margin = min(max(_LETTER * max(len(p.label) for p in points) + 12, _LABELS[0]), _LABELS[1])
    letters = int(_LABELS[1] / _LETTER)
    scale = Scale(-reach_s, reach_s, margin, _WIDTH - _WORDS)
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
