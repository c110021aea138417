"""Write tiers as text that other tools can read: TextGrid (long), CTM, JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

from syncaudit.errors import UsageError
from syncaudit.model import Interval, Tier

# Microseconds: finer than any sample, and short enough to read.
_DECIMALS = 6


def _textgrid_text(tiers: Sequence[Tier], *, duration_s: float, name: str) -> str:  # noqa: ARG001
    """Return a long Praat TextGrid; time not covered by an interval becomes an empty one.

    `tiers`: intervals in order and without overlap, as Praat requires. `duration_s`: length of the
    sound. `name`: name of the sound; only CTM contains it.

    UsageError if intervals overlap, lie before 0 or have no length.
    """
    stop_s = max([duration_s, *(item.stop_s for tier in tiers for item in tier.intervals)])
    lines = ['File type = "ooTextFile"', 'Object class = "TextGrid"', ""]
    lines += ["xmin = 0", f"xmax = {_number(stop_s)}", "tiers? <exists>", f"size = {len(tiers)}"]
    lines += ["item []:"]
    for place, tier in enumerate(tiers, start=1):
        intervals = _without_gaps(tier, stop_s)
        lines += [
            f"    item [{place}]:",
            '        class = "IntervalTier"',
            f'        name = "{_quoted(tier.name)}"',
            "        xmin = 0",
            f"        xmax = {_number(stop_s)}",
            f"        intervals: size = {len(intervals)}",
        ]
        for item, interval in enumerate(intervals, start=1):
            lines += [
                f"        intervals [{item}]:",
                f"            xmin = {_number(interval.start_s)}",
                f"            xmax = {_number(interval.stop_s)}",
                f'            text = "{_quoted(interval.label)}"',
            ]
    return "\n".join(lines) + "\n"


def _ctm_text(tiers: Sequence[Tier], *, duration_s: float, name: str) -> str:  # noqa: ARG001
    """Return NIST CTM, one line per label; the channel is the tier, silences are left out.

    UsageError if a label or name contains blanks, which separate the columns.
    """
    lines = []
    for tier in tiers:
        for item in tier.intervals:
            if not item.label:
                continue
            for field in (name, tier.name, item.label):
                if len(field.split()) != 1:
                    raise UsageError(
                        f"CTM cannot hold '{field}': it contains spaces",
                        hint="Write a TextGrid or JSON.",
                    )
            start, length = _number(item.start_s), _number(item.stop_s - item.start_s)
            lines.append(f"{name} {tier.name} {start} {length} {item.label}")
    return "\n".join(lines) + "\n"


def _json_text(tiers: Sequence[Tier], *, duration_s: float, name: str) -> str:  # noqa: ARG001
    """Return JSON in the format of the Montreal Forced Aligner.

    ``{"start", "end", "tiers": {name: {"type": "interval", "entries": [[start, end, label]]}}}``
    """
    content = {
        "start": 0.0,
        "end": round(duration_s, _DECIMALS),
        "tiers": {
            tier.name: {
                "type": "interval",
                "entries": [
                    [round(one.start_s, _DECIMALS), round(one.stop_s, _DECIMALS), one.label]
                    for one in tier.intervals
                ],
            }
            for tier in tiers
        },
    }
    return json.dumps(content, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


# Each takes (tiers, *, duration_s, name) and returns the file's text.
TIER_WRITERS: Mapping[str, Callable[..., str]] = {
    ".textgrid": _textgrid_text,
    ".ctm": _ctm_text,
    ".json": _json_text,
}


def _without_gaps(tier: Tier, stop_s: float) -> list[Interval]:
    found: list[Interval] = []
    reached_s = 0.0
    for item in tier.intervals:
        start_s, end_s = round(item.start_s, _DECIMALS), round(item.stop_s, _DECIMALS)
        if start_s < reached_s or end_s <= start_s:
            raise UsageError(
                f"a TextGrid cannot hold '{item.label}' at {start_s:g} to {end_s:g} s in tier "
                f"'{tier.name}': intervals need a length and must not overlap",
                hint="Write JSON, which has no such limits.",
            )
        if start_s > reached_s:
            found.append(Interval(start_s=reached_s, stop_s=start_s, label=""))
        found.append(Interval(start_s=start_s, stop_s=end_s, label=item.label))
        reached_s = end_s
    if reached_s < round(stop_s, _DECIMALS):
        found.append(Interval(start_s=reached_s, stop_s=stop_s, label=""))
    return found


def _number(value: float) -> str:
    return f"{value:.{_DECIMALS}f}".rstrip("0").rstrip(".") or "0"


def _quoted(label: str) -> str:
    return label.replace('"', '""').replace("\n", " ")
