"""What is wrong with many clips, on one screen: causes by source, and the worst clips."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from syncaudit.cli.console import printable
from syncaudit.cli.glyphs import STYLES, glyph
from syncaudit.formatting import word_correction, word_count
from syncaudit.model import ClipVerdict, Verdict
from syncaudit.report import ACTIONS

__all__ = ["MOST_LINES", "cause_table", "clip_lines"]

# A screen holds some 24 lines; the report has all.
_MOST_CAUSES = 12
MOST_LINES = 10


def cause_table(causes: Sequence[Mapping[str, Any]]) -> Table:
    """Return a table with a line for every reason and source (`report.Causes.to_view`)."""
    table = Table(box=box.SIMPLE_HEAD, expand=False, pad_edge=False, show_edge=False)
    table.add_column("cause", no_wrap=True)
    table.add_column("source", overflow="fold", max_width=18)
    table.add_column("clips", justify="right", no_wrap=True)
    table.add_column("median ± spread", no_wrap=True)
    table.add_column("what to do", overflow="fold")
    for cause in causes[:_MOST_CAUSES]:
        name, action = ACTIONS.get(cause["code"], (cause["code"], "see the report"))
        verdict = Verdict(cause["verdict"])
        table.add_row(
            Text(f"{glyph(verdict)} {name}", style=STYLES[verdict]),
            Text(printable(cause["source"]) or "clip"),
            f"{cause['clips']:,}",
            _size(cause),
            Text(action, style="dim"),
        )
    if len(causes) > _MOST_CAUSES:
        more = word_count(len(causes) - _MOST_CAUSES, "more cause")
        table.add_row(Text(f"... {more}", style="dim"), "", "", "", Text("see the report"))
    return table


def _size(cause: Mapping[str, Any]) -> str:
    if cause["offset_s"] is not None and cause["is_constant"] and cause["clips"] > 1:
        return word_correction(cause["offset_s"], cause["spread_s"])
    return str(cause["size"] or "").replace("typically ", "~ ")


def clip_lines(clips: Iterable[ClipVerdict], width: int) -> list[Text]:
    """Return a line a clip: what is worst of it, cut at the width of the terminal."""
    lines = []
    for clip in list(clips)[:MOST_LINES]:
        first, *more = clip.reasons
        said = " ".join(printable(first.message).split())
        also = f" (+{len(more)})" if more else ""
        line = Text(f"{glyph(clip.verdict)} {printable(clip.clip_id)}", style=STYLES[clip.verdict])
        line.append(f"  {said}", style="default")
        line.truncate(width - len(also), overflow="ellipsis")
        lines.append(line.append(also, style="dim"))
    return lines
