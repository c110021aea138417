"""Write the page: collect rows in one pass, keep what fits, fill the template."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from syncaudit.model import Verdict
from syncaudit.report.before_after import before_after
from syncaudit.report.clip_card import clip_card
from syncaudit.report.clip_table import ClipTable
from syncaudit.report.courses import Courses
from syncaudit.report.overview import Overview
from syncaudit.report.page import write_page
from syncaudit.report.picture import Picture
from syncaudit.report.worst import WorstClips

__all__ = ["CARDS", "PictureMaker", "write_report"]

# How many clips of each verdict can be unfolded in the table: 180 cards are about 2 MB of page.
CARDS = {Verdict.REJECT: 100, Verdict.UNVERIFIED: 40, Verdict.PASS: 40}

PictureMaker = Callable[[str, Sequence[str]], Sequence[Picture]]
"""Gives pictures of a clip, of the sources named first; none where they cannot be had."""


def write_report(
    verdicts: Iterable[Mapping[str, Any]],
    summary: Mapping[str, Any],
    path: str | Path,
    *,
    pictures: PictureMaker | None = None,
) -> None:
    """Write one self-contained HTML page about a run.

    Nothing is loaded from elsewhere, and every text of the data is escaped: names come from
    strangers.

    Parameters
    ----------
    verdicts : iterable of mapping
        Rows of ``verdicts.jsonl`` (`ClipVerdict.to_json`), read once; memory stays bounded.
    summary : mapping
        Content of ``summary.json``; ``tolerances_s`` (seconds by source) draws the bands.
    path : str or Path
        File to write; replaced in one step.
    pictures : callable, optional
        Asked for pictures of the few worst clips.
    """
    tolerances = summary.get("tolerances_s") or {}
    overview, table, worst = Overview(summary), ClipTable(tolerances), WorstClips()
    courses = Courses(summary.get("recordings") or (), tolerances)
    cards: list[dict[str, Any]] = []
    room = dict(CARDS)
    for row in verdicts:
        overview.add(row)
        courses.add(row)
        worst.add(row)
        verdict = Verdict(row["verdict"])
        name = None
        if room[verdict] > 0:
            room[verdict] -= 1
            name = f"card-{len(cards)}"
            cards.append(clip_card(row, tolerances) | {"element": name})
        table.add(row, name)
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
        worst=[_worst_card(row, tolerances, pictures) for row in worst.rows()],
        cards=cards,
        left_out=listed["left_out"],
        # Columns of a hundred thousand clips: no blanks between them.
        columns=htmlsafe_json_dumps(listed["columns"], separators=(",", ":")),
    )


def _worst_card(
    row: Mapping[str, Any], tolerances_s: Mapping[str, float], pictures: PictureMaker | None
) -> dict[str, Any]:
    # A clip whose audit was never finished may have killed the process that opened it.
    may_open = pictures is not None and row.get("record") is not None
    found = pictures(row["clip_id"], _cameras(row)) if pictures is not None and may_open else ()
    return clip_card(row, tolerances_s) | {
        "before_after": before_after(row),
        "pictures": [
            {
                "source": picture.source,
                "words": picture.words,
                "is_accused": row["sources"][picture.source]["verdict"] == "reject",
                "verdict": row["sources"][picture.source]["verdict"],
                "data": base64.b64encode(picture.jpeg).decode("ascii"),
                "width_px": picture.width_px,
                "height_px": picture.height_px,
            }
            for picture in found
        ],
    }


# A file that one of these is said of was not decoded to the end.
_UNREADABLE = frozenset({"unreadable", "corrupt", "missing_file", "empty", "timeout"})


def _cameras(row: Mapping[str, Any]) -> list[str]:
    """Return the cameras that were decoded, those that are rejected first."""
    unreadable = {r["source"] for r in row["reasons"] if r["code"] in _UNREADABLE}
    names = [
        name
        for name, source in row["sources"].items()
        if source["kind"] == "camera" and name not in unreadable
    ]
    return sorted(names, key=lambda name: row["sources"][name]["verdict"] != "reject")
