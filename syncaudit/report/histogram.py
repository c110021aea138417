"""The offsets of one source over all clips, as a drawing of counts beside the tolerance."""

from __future__ import annotations

from collections.abc import Mapping

from markupsafe import Markup, escape

from syncaudit.formatting import signed_ms
from syncaudit.report.axes import AXIS_PX, Scale, band, bottom_axis, svg
from syncaudit.report.distribution import Distribution

__all__ = ["histogram"]

_WIDTH = 480.0
_BODY = 96.0
_TOP = 16.0  # room for the figure of the highest column
_SIDE = 10.0
_BINS = 41  # odd: one lies about zero
_ORDER = ("pass", "unverified", "reject")  # from the axis up


def histogram(
    offsets_s: Mapping[str, Distribution], tolerance_s: float | None, *, label: str
) -> Markup:
    """Return columns of clips over their offset, each split by the source's verdict.

    Parameters
    ----------
    offsets_s : mapping of str to Distribution
        Offsets by verdict; at least one value in all.
    tolerance_s : float, optional
        Half width of the band about zero.
    label : str
        What the picture shows, for screen readers.
    """
    reach_s = _reach_s(offsets_s, tolerance_s)
    scale = Scale.about_zero(reach_s, _SIDE, _WIDTH - _SIDE)
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
    scale: Scale,
    low_s: float,
    step: float,
    counts: Mapping[str, int],
    highest: int,
    is_end: bool,
) -> list[str]:
    left, right = scale.px(low_s), scale.px(low_s + step)
    top = _TOP + _BODY
    parts = []
    reach = f"{signed_ms(low_s)} to {signed_ms(low_s + step)}" + (" and beyond" if is_end else "")
    for verdict, count in counts.items():
        if not count:
            continue
        # One clip among a hundred thousand must still be seen.
        height = max(_BODY * count / highest, 1.5)
        top -= height
        words = f"{reach}: {count:,} {verdict}"
        parts.append(
            f'<rect class="column {escape(verdict)}" x="{left + 0.6:.1f}" y="{top:.1f}" '
            f'width="{right - left - 1.2:.1f}" height="{height:.1f}">'
            f"<title>{escape(words)}</title></rect>"
        )
    return parts
