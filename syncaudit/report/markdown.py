"""A run in Markdown, for the summary page of a CI job or the comment on a pull request."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from syncaudit.model import ClipVerdict, Verdict
from syncaudit.report.reasons import ACTIONS
from syncaudit.writing import replacing_text

MARK = "<!-- syncaudit -->"
"""First line, by which a later run recognises a file that it may overwrite."""

_MOST_CAUSES = 20
_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>~@&$:])")


def write_markdown(
    counts: Mapping[str, int],
    causes: Sequence[Mapping[str, Any]],
    worst: Iterable[ClipVerdict],
    path: Path,
) -> None:
    """Write counts, causes by source, and the worst clips.

    `causes` are those of `Causes.to_view`. The file is replaced in one step.
    """
    lines = [MARK, "## syncaudit", ""]
    lines += ["| " + " | ".join(map(str, Verdict)) + " |", "| --- " * len(Verdict) + "|"]
    lines += ["| " + " | ".join(f"{counts[verdict]:,}" for verdict in Verdict) + " |", ""]
    if causes:
        lines += ["| cause | source | clips | size | what to do |", "| --- " * 5 + "|"]
        for cause in causes[:_MOST_CAUSES]:
            name, action = ACTIONS.get(cause["code"], (cause["code"], "see the report"))
            cells = (
                f"{cause['verdict']}: {name}",
                _plain(cause["source"]),
                f"{cause['clips']:,}",
                cause["size"] or "",
                action,
            )
            lines.append("| " + " | ".join(cells) + " |")
        more = len(causes) - _MOST_CAUSES
        lines += [f"\n... and {more} more, see the report", ""] if more > 0 else [""]
    for clip in worst:
        first = clip.reasons[0].message if clip.reasons else str(clip.verdict)
        lines.append(f"- **{_plain(clip.clip_id)}**: {_plain(first)}")
    with replacing_text(path) as file:
        file.write("\n".join(lines).rstrip("\n") + "\n")


def _plain(text: str) -> str:
    """Escape untrusted text so that Markdown shows it literally, on one line."""
    shown = "".join(char if char.isprintable() else " " for char in text)
    return _SPECIAL.sub(r"\\\1", " ".join(shown.split()))
