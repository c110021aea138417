"""Before and after: a source above its counterpart, at raw and at corrected timestamps."""

from __future__ import annotations

from markupsafe import Markup, escape

from syncaudit.formatting import word_correction
from syncaudit.model import ClipVerdict, Verdict
from syncaudit.model.comparison import Comparison, compare_pair, pair_to_show
from syncaudit.report.axes import Scale, shorten, svg

_WIDTH, _HEIGHT = 960.0, 190.0
_GAP, _HEAD, _FOOT = 24.0, 46.0, 22.0
_ARROW = 6.0


def before_after(clip: ClipVerdict) -> Markup | None:
    """Return the drawing of the first rejected source whose measurement can be shown."""
    rejected = {name for name, source in clip.sources.items() if source.verdict is Verdict.REJECT}
    named = [reason.source for reason in clip.reasons if reason.source in rejected]
    pairs = [pair for pair in clip.pairs if pair.accepted and (pair.excerpt or pair.evidence)]
    for source in dict.fromkeys((*filter(None, named), *sorted(rejected))):
        pair = pair_to_show(pairs, source, clip.reference, rejected)
        found = None if pair is None else compare_pair(pair, clip.at_ns or 0)
        if pair is not None and found is not None and found.is_seen_raw:
            at_ns = (clip.at_ns or 0) + round(1e9 * (found.peak_s - found.offset_s))
            own_s = clip.sources[source].offset_std_s or 0.0  # from all its measurements combined
            return _drawing(found, max(own_s, pair.offset_std_at(at_ns)))
    return None


def _drawing(found: Comparison, std_s: float | None) -> Markup:
    half = 0.5 * (_WIDTH - _GAP)
    words = word_correction(found.offset_s, std_s)
    parts: list[str] = []
    for number, title in enumerate(("as timestamped", "corrected")):
        left = number * (half + _GAP)
        across = Scale(*found.visible_s, left, left + half)
        parts.append(
            f'<rect class="lane" x="{left:.1f}" y="{_HEAD}" width="{half:.1f}" '
            f'height="{_HEIGHT - _HEAD - _FOOT:.1f}"/>'
            f'<text class="words" x="{left:.1f}" y="14">{title}</text>'
        )
        parts += _sides(found, across, moved_s=found.offset_s if number else 0.0)
        if not number:
            parts += _arrow(found, across, words)
    parts += _legend(found, half + _GAP)
    span_ms = 1e3 * (found.visible_s[1] - found.visible_s[0])
    parts.append(
        f'<text class="tick side" x="{_WIDTH:.1f}" y="{_HEIGHT - 5:.1f}">'
        f"{span_ms:.0f} ms of {escape(found.quantity)}</text>"
    )
    label = f"{found.source} over {found.target}, {found.quantity}: {words}, and corrected"
    return svg(parts, _WIDTH, _HEIGHT, label)


def _sides(found: Comparison, across: Scale, *, moved_s: float) -> list[str]:
    """Return the target and, above it, the source moved by a correction."""
    top, bottom = _HEAD + 12.0, _HEIGHT - _FOOT - 8.0
    low, high = found.extremes()
    parts = []
    for side, times_s in ((1, found.target_s), (0, found.source_s + moved_s)):
        kind = "target" if side else "source"
        inside = [k for k, t in enumerate(times_s.tolist()) if across.is_inside(t)]
        if found.values is None:
            middle = 0.5 * (top + bottom)
            end = bottom if side else top
            parts += [
                f'<path class="signal {kind}" d="M{across.px(float(times_s[k])):.1f} {middle:.1f}'
                f'V{end:.1f}"/>'
                for k in inside
            ]
            continue
        up = Scale(low, high, bottom, top)
        places = [
            f"{across.px(float(times_s[k])):.1f} {up.px(float(found.values[side][k])):.1f}"
            for k in inside
        ]
        if places:
            parts.append(f'<path class="signal {kind}" d="M{"L".join(places)}"/>')
    return parts


def _arrow(found: Comparison, across: Scale, words: str) -> list[str]:
    """Return an arrow from the raw to the corrected timestamp, as long as the offset."""
    begin, end = across.px(found.peak_s - found.offset_s), across.px(found.peak_s)
    y = _HEAD - 10.0
    back = _ARROW if end >= begin else -_ARROW
    right = max(begin, end) + 10.0
    is_room = right < 0.6 * 0.5 * (_WIDTH - _GAP)
    x = right if is_room else min(begin, end) - 10.0
    anchor = "start" if is_room else "end"
    return [
        f'<path class="drop" d="M{x0:.1f} {y:.1f}V{_HEIGHT - _FOOT:.1f}"/>' for x0 in (begin, end)
    ] + [
        f'<path class="arrow" d="M{begin:.1f} {y:.1f}H{end:.1f}m{-back:.1f} -4l{back:.1f} 4'
        f'l{-back:.1f} 4"/>'
        f'<text class="name" text-anchor="{anchor}" x="{x:.1f}" y="{y + 5:.1f}">'
        f"{escape(words)}</text>"
    ]


def _legend(found: Comparison, left: float) -> list[str]:
    parts = []
    x = left + 110.0
    for kind, name in (("source", found.source), ("target", found.target)):
        shown = shorten(name)
        parts.append(
            f'<path class="signal {kind}" d="M{x:.1f} 10h18"/>'
            f'<text x="{x + 24:.1f}" y="14">{escape(shown)}</text>'
        )
        x += 50.0 + 8.0 * len(shown)
    return parts
