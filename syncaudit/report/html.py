"""Write the page: collect rows in one pass, keep what fits, fill the template."""

from __future__ import annotations

import base64
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from syncaudit.model import ClipVerdict, ReasonCode, SourceKind, Verdict
from syncaudit.report.before_after import before_after
from syncaudit.report.causes import WorstClips
from syncaudit.report.clip_card import clip_card
from syncaudit.report.clip_table import ClipTable
from syncaudit.report.courses import Courses, clip_course
from syncaudit.report.overview import Overview
from syncaudit.report.page import write_page
from syncaudit.report.strictness import Strictness
from syncaudit.report.trends import Trends

# Clips of each verdict that can be unfolded in the table: 180 cards take about 2 MB of the page.
CARDS = {Verdict.REJECT: 100, Verdict.UNVERIFIED: 40, Verdict.PASS: 40}


@dataclass(frozen=True, slots=True, kw_only=True)
class Thumbnail:
    """One frame, reduced and compressed."""

    source: str  # camera
    jpeg: bytes
    width_px: int  # its size
    height_px: int
    words: str  # which frame it is


ThumbnailMaker = Callable[[str, Sequence[str]], Sequence[Thumbnail]]
"""Returns images of a clip from the sources named first; none if there are none."""


def write_report(
    verdicts: Iterable[ClipVerdict],
    summary: Mapping[str, Any],
    path: str | Path,
    *,
    thumbnails: ThumbnailMaker | None = None,
) -> None:
    """Write one self-contained HTML page about a run.

    Nothing is loaded from elsewhere, and all text from the data is escaped, as names are
    untrusted.

    `verdicts` are read once, and memory stays bounded; `summary` is the content of
    ``summary.json``, whose ``tolerances_s`` draw the bands; `thumbnails` is called for images of
    the few worst clips. The file is replaced in one step.
    """
    tolerances = summary.get("tolerances_s") or {}
    overview, table, worst = Overview(summary), ClipTable(tolerances), WorstClips()
    trends, strictness = Trends(tolerances), Strictness()
    courses = Courses(summary.get("recordings") or (), tolerances)
    cards: list[dict[str, Any]] = []
    room = dict(CARDS)
    for clip in verdicts:
        overview.add(clip)
        courses.add(clip)
        trends.add(clip)
        strictness.add(clip)
        worst.add(clip)
        name = None
        if room[clip.verdict] > 0:
            room[clip.verdict] -= 1
            name = f"card-{len(cards)}"
            cards.append(clip_card(clip, tolerances) | {"element": name})
        table.add(clip, name)
    from jinja2.utils import htmlsafe_json_dumps  # heavy

    listed = table.to_view()
    lines = courses.to_view()
    write_page(
        "page.html.j2",
        Path(path),
        script="page.js",
        summary=summary,
        overview=overview.to_view(),
        courses=lines,
        trends=trends.to_view(),
        strictness=strictness.to_view(),
        worst=[
            _worst_card(clip, tolerances, thumbnails)
            | {"commands": _commands(clip.clip_id, summary.get("manifest"))}
            for clip in worst.clips()
        ],
        cards=cards,
        left_out=listed["left_out"],
        # Columns of a hundred thousand clips: no spaces between them.
        columns=htmlsafe_json_dumps(listed["columns"], separators=(",", ":")),
    )


def _worst_card(
    clip: ClipVerdict, tolerances_s: Mapping[str, float], thumbnails: ThumbnailMaker | None
) -> dict[str, Any]:
    drawing = before_after(clip)
    found: Sequence[Thumbnail] = ()
    # Frames show less than signals do. A clip whose audit was never finished may have crashed the
    # process that opened it.
    if drawing is None and thumbnails is not None and clip.record is not None:
        found = thumbnails(clip.clip_id, _cameras(clip))
    return clip_card(clip, tolerances_s) | {
        "before_after": drawing,
        "course": clip_course(clip, tolerances_s),
        "pictures": [
            {
                "source": frame.source,
                "words": frame.words,
                "is_accused": clip.sources[frame.source].verdict is Verdict.REJECT,
                "verdict": clip.sources[frame.source].verdict,
                "data": base64.b64encode(frame.jpeg).decode("ascii"),
                "width_px": frame.width_px,
                "height_px": frame.height_px,
            }
            for frame in found
        ],
    }


def _commands(clip_id: str, manifest: object) -> list[str]:
    """Return commands that open a clip in the viewer, and in Foxglove and Rerun."""
    if not isinstance(manifest, str):
        return []
    at = f"{shlex.quote(manifest)} --clip {shlex.quote(clip_id)}"
    return [
        f"syncaudit view {at}",
        f"syncaudit inspect {at} --mcap found.mcap",
        f"syncaudit inspect {at} --rerun found.rrd",
    ]


# A file with one of these codes was not fully decoded.
_UNREADABLE = frozenset(
    {
        ReasonCode.UNREADABLE,
        ReasonCode.CORRUPT,
        ReasonCode.MISSING_FILE,
        ReasonCode.EMPTY,
        ReasonCode.TIMEOUT,
    }
)


def _cameras(clip: ClipVerdict) -> list[str]:
    """Return the cameras that were decoded, rejected ones first."""
    unreadable = {r.source for r in clip.reasons if r.code in _UNREADABLE}
    names = [
        name
        for name, source in clip.sources.items()
        if source.kind == SourceKind.CAMERA and name not in unreadable
    ]
    return sorted(names, key=lambda name: clip.sources[name].verdict is not Verdict.REJECT)
