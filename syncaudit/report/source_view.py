"""One source in words and figures: what its timestamps claim and what its content shows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup, escape

from syncaudit.formatting import (
    signed_ms,
    word_correction,
    word_direction,
    word_drift,
    word_ms,
    word_rate,
    word_share,
)
from syncaudit.model import Verdict
from syncaudit.report.axes import AXIS_PX, Scale, band, bottom_axis, svg
from syncaudit.report.clip_card import WITNESSES
from syncaudit.report.distribution import Distribution
from syncaudit.report.source_tally import SourceTally

_ODD = (
    ("gaps", "gap"),
    ("missing", "missing sample"),
    ("duplicates", "equal stamp"),
    ("doubled", "doubled sample"),
    ("backwards", "stamp out of order"),
)
_WIDTH = 480.0
_BODY = 96.0
_TOP = 16.0  # room for the count above the highest column
_SIDE = 10.0
_BINS = 41  # odd: one lies about zero
_ORDER = ("pass", "unverified", "reject")  # from the axis up


def source_view(tally: SourceTally) -> dict[str, Any]:
    """Return the page's view of one source over all clips."""
    offsets = tally.all_offsets_s()
    median = offsets.median()
    plot = None
    if len(offsets):
        label = f"histogram of the offsets of {tally.name} over {len(offsets)} clips"
        plot = histogram(tally.offsets_s, tally.tolerance_s, label=label)
    return {
        "name": tally.name,
        "kind": tally.kind,
        "counts": {str(verdict): tally.verdicts[verdict] for verdict in Verdict},
        "tolerance": None if tally.tolerance_s is None else f"±{tally.tolerance_s * 1e3:g} ms",
        # Timestamps claim to be true, i.e. to have zero offset.
        "claim": signed_ms(0.0) if tally.audited else None,
        "stamps": _stamp_lines(tally),
        "is_made_up": bool(tally.made_up),
        "witness": WITNESSES.get(tally.kind, "content"),
        "shown": None if median is None else signed_ms(median),
        "is_outside": median is not None
        and tally.tolerance_s is not None
        and abs(median) > tally.tolerance_s,
        "farthest": signed_ms(tally.worst_s)
        if tally.tolerance_s is not None
        and abs(tally.worst_s) > tally.tolerance_s
        and len(offsets) > 1
        else None,
        "content": _content_lines(tally, offsets),
        "plot": plot,
        "n_offsets": len(offsets),
        "worst": None
        if tally.worst_clip is None
        else word_correction(tally.worst_s, tally.worst_std_s),
        "worst_clip": tally.worst_clip,
    }


def _stamp_lines(tally: SourceTally) -> list[str]:
    if not tally.audited:
        return ["no stamps to examine"]
    rate = tally.rates_hz.median()
    pace = "" if rate is None else f" at {word_rate(rate)}"
    everywhere = tally.clean == tally.audited
    among = "all" if everywhere else f"{tally.clean:,} of {tally.audited:,}"
    found = [_many(tally.counts[key], noun) for key, noun in _ODD if tally.counts[key]]
    is_even = tally.made_up == tally.audited and not found and not tally.stepped
    lines = [
        f"perfectly even{pace}"
        if is_even
        else f"irregular{pace}"
        if not tally.clean
        else f"regular{pace} in {among} clips"
        if tally.audited > 1
        else f"regular{pace}"
    ]
    if found:
        lines.append(", ".join(found))
    if tally.stepped:
        lines.append(f"clock jumps in {_many(tally.stepped, 'clip')}")
    if tally.made_up:
        lines.append(f"made up from index and rate in {_many(tally.made_up, 'clip')}")
    jitter = tally.jitters_s.median()
    if jitter is not None:
        worst = tally.jitters_s.extreme() or jitter
        beyond = f", up to {word_ms(worst)}" if worst > 2 * jitter and worst > 1e-4 else ""
        lines.append(f"jitter {word_ms(jitter)}{beyond}")
    return lines


def _content_lines(tally: SourceTally, offsets: Distribution) -> list[str]:
    n = len(offsets)
    lines = []
    median, spread, std = offsets.median(), offsets.spread(), tally.stds_s.median()
    if median is not None and n == 1:
        lines.append(f"{word_correction(median, std)} in 1 clip")
    elif median is not None and spread is not None:
        error = "" if std is None else f", error of each {word_ms(std)}"
        side = f"{word_direction(median)}, " if signed_ms(median) != signed_ms(0.0) else ""
        lines.append(f"{side}median of {n:,} clips")
        lines.append(f"spread {word_ms(spread)}{error}")
    if n and tally.tolerance_s is not None:
        beyond = offsets.beyond(tally.tolerance_s)
        share = f" ({word_share(beyond, n)})" if beyond and n > 1 else ""
        lines.append(f"{beyond:,} of {n:,} beyond ±{tally.tolerance_s * 1e3:g} ms{share}")
    drift = tally.drifts_ppm.extreme()
    if drift is not None:
        n_drifts = len(tally.drifts_ppm)
        std = tally.drift_stds_ppm.median()
        lines.append(
            f"drift {word_drift(drift, std)}"
            if n_drifts == 1
            else f"drift up to {word_drift(drift)} in {n_drifts:,} clips"
        )
    if tally.as_reference:
        lines.append(f"reference clock of {_many(tally.as_reference, 'clip')}")
    lines += [f"{words} in {_many(count, 'clip')}" for words, count in tally.unmeasured.items()]
    return lines


def _many(n: int, noun: str) -> str:
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def histogram(
    offsets_s: Mapping[str, Distribution], tolerance_s: float | None, *, label: str
) -> Markup:
    """Return a histogram of clips over their offset, each column split by the source's verdict.

    There must be an offset; the tolerance is half the width of the band about zero, and `label` is
    for screen readers.
    """
    reach_s = _reach_s(offsets_s, tolerance_s)
    scale = Scale(-reach_s, reach_s, _SIDE, _WIDTH - _SIDE)
    bottom = _TOP + _BODY
    parts = bottom_axis(scale, _TOP, bottom)
    if tolerance_s is not None:
        left, right = scale.px(-tolerance_s), scale.px(tolerance_s)
        parts.insert(0, band(left, _TOP, right - left, _BODY))
    counts = {
        verdict: offsets_s[verdict].counts(-reach_s, reach_s, _BINS)
        for verdict in _ORDER
        if verdict in offsets_s
    }
    totals = [sum(column) for column in zip(*counts.values(), strict=True)]
    highest = max(totals)
    step = 2 * reach_s / _BINS
    for k, total in enumerate(totals):
        low_s = -reach_s + k * step
        is_end = k in (0, _BINS - 1)
        parts += _column(scale, low_s, step, {v: c[k] for v, c in counts.items()}, highest, is_end)
        if total == highest and k == totals.index(highest):
            x = min(max(scale.px(low_s + step / 2), 3 * _SIDE), _WIDTH - 3 * _SIDE)
            parts.append(f'<text class="tick" x="{x:.1f}" y="{_TOP - 4:.1f}">{total:,}</text>')
    return svg(parts, _WIDTH, bottom + AXIS_PX, label)


def _reach_s(offsets_s: Mapping[str, Distribution], tolerance_s: float | None) -> float:
    """Return the half width shown: one absurd clip must not squeeze all others."""
    everything = Distribution()
    for distribution in offsets_s.values():
        everything.merge(distribution)
    ends = [abs(everything.quantile(share) or 0.0) for share in (0.01, 0.99)]
    farthest = abs(everything.extreme() or 0.0)
    least = max(1.6 * (tolerance_s or 0.0), 1e-4)
    return max(least, min(1.04 * farthest, 1.6 * max(ends)))


def _column(
    scale: Scale, low_s: float, step: float, counts: Mapping[str, int], highest: int, is_end: bool
) -> list[str]:
    left, right = scale.px(low_s), scale.px(low_s + step)
    top = _TOP + _BODY
    parts = []
    reach = f"{signed_ms(low_s)} to {signed_ms(low_s + step)}" + (" and beyond" if is_end else "")
    for verdict, count in counts.items():
        if not count:
            continue
        # One clip among a hundred thousand must still be visible.
        height = max(_BODY * count / highest, 1.5)
        top -= height
        words = f"{reach}: {count:,} {verdict}"
        parts.append(
            f'<rect class="column {escape(verdict)}" x="{left + 0.6:.1f}" y="{top:.1f}" '
            f'width="{right - left - 1.2:.1f}" height="{height:.1f}">'
            f"<title>{escape(words)}</title></rect>"
        )
    return parts
