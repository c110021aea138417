"""Write the page: collect rows in one pass, keep what fits, fill the template."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from syncaudit.model import Verdict
from syncaudit.report.clip_card import clip_card
from syncaudit.report.overview import Overview
from syncaudit.report.page import write_page

__all__ = ["CARDS", "write_report"]

# How many clips of each verdict are shown one by one: 320 cards are about 3 MB of page.
CARDS = {Verdict.REJECT: 200, Verdict.UNVERIFIED: 60, Verdict.PASS: 60}


def write_report(
    verdicts: Iterable[Mapping[str, Any]], summary: Mapping[str, Any], path: str | Path
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
    """
    tolerances = summary.get("tolerances_s") or {}
    overview = Overview(tolerances)
    cards: dict[str, list[dict[str, Any]]] = {str(verdict): [] for verdict in CARDS}
    for row in verdicts:
        overview.add(row)
        chosen = cards[row["verdict"]]
        if len(chosen) < CARDS[Verdict(row["verdict"])]:
            chosen.append(clip_card(row, tolerances))
    write_page(
        "page.html.j2", Path(path), summary=summary, overview=overview.to_view(), cards=cards
    )
