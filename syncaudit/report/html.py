"""Write the page: collect rows in one pass, keep what fits, fill the template."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from syncaudit.model import Verdict
from syncaudit.report.clip_card import clip_card
from syncaudit.report.overview import Overview

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
    import jinja2

    tolerances = summary.get("tolerances_s") or {}
    overview = Overview(tolerances)
    cards: dict[str, list[dict[str, Any]]] = {str(verdict): [] for verdict in CARDS}
    for row in verdicts:
        overview.add(row)
        chosen = cards[row["verdict"]]
        if len(chosen) < CARDS[Verdict(row["verdict"])]:
            chosen.append(clip_card(row, tolerances))
    folder = resources.files("syncaudit.report")
    environment = jinja2.Environment(
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        loader=jinja2.FunctionLoader(lambda name: (folder / name).read_text(encoding="utf-8")),
    )
    page = environment.get_template("page.html.j2").stream(
        summary=summary, overview=overview.to_view(), cards=cards
    )
    target = Path(path)
    draft = target.with_name(f".{target.name}.tmp")
    with draft.open("wb") as file:
        # Lone surrogates of broken file names cannot be written; they become question marks.
        page.dump(file, encoding="utf-8", errors="replace")
    draft.replace(target)
