"""Summarise many clips on one screen: causes, the worst clips, what clips share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import NormalDist
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from syncaudit.batch import BatchSummary
from syncaudit.cli.console import STYLES, glyph, printable
from syncaudit.formatting import word_correction, word_count, word_drift, word_measure
from syncaudit.model import ClipVerdict, ReasonCode, Verdict
from syncaudit.report import ACTIONS

# A screen holds about 24 lines; the report has all.
_MOST_CAUSES = 12
MOST_LINES = 10
SHOW_MOVING = 10
SHOW_REPEATED = 3
LONG_WARNING = 120


def cause_table(causes: Sequence[Mapping[str, Any]]) -> Table:
    """Return a table with a row for every reason and source (`report.Causes.to_view`)."""
    table = Table(box=box.SIMPLE_HEAD, expand=False, pad_edge=False, show_edge=False)
    table.add_column("cause", no_wrap=True)
    table.add_column("source", overflow="fold", max_width=18)
    table.add_column("clips", justify="right", no_wrap=True)
    table.add_column("median ± spread", no_wrap=True)
    table.add_column("what to do", overflow="fold")
    lines = _grouped(causes)
    for cause, *others in lines[:_MOST_CAUSES]:
        name, action = ACTIONS.get(cause["code"], (cause["code"], "see the report"))
        verdict = Verdict(cause["verdict"])
        fewest = min((one["clips"] for one in others), default=cause["clips"])
        clips = (
            f"{cause['clips']:,}"
            if fewest == cause["clips"]
            else f"{fewest:,}-{cause['clips']:,} each"
        )
        table.add_row(
            Text(f"{glyph(verdict)} {name}", style=STYLES[verdict]),
            Text(f"{len(others) + 1} sources" if others else printable(cause["source"]) or "clip"),
            clips,
            _size(cause),
            Text(action, style="dim"),
        )
    if len(lines) > _MOST_CAUSES:
        more = word_count(len(lines) - _MOST_CAUSES, "more cause")
        table.add_row(Text(f"... {more}", style="dim"), "", "", "", Text("see the report"))
    return table


def _grouped(causes: Sequence[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    """Group causes into rows: those without a size by their reason, the others individually."""
    lines: dict[object, list[Mapping[str, Any]]] = {}
    for cause in causes:
        source = cause["source"] if _size(cause) or not cause["source"] else None
        lines.setdefault((cause["code"], cause["verdict"], source), []).append(cause)
    return list(lines.values())


def _size(cause: Mapping[str, Any]) -> str:
    if cause["offset_s"] is not None and cause["is_constant"] and cause["clips"] > 1:
        return word_correction(cause["offset_s"], cause["spread_s"])
    return str(cause["size"] or "").replace("typically ", "~ ")


def clip_lines(clips: Iterable[ClipVerdict], width: int) -> list[Text]:
    """Return one line per clip with its worst finding, cut at the width of the terminal."""
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


def warning_lines(summary: BatchSummary) -> list[Text]:
    """Summarise the warnings of clips that passed: the number of each kind, and the first."""
    lines = []
    for code, n_clips in summary.tally.passed_with.most_common(SHOW_MOVING):
        clip_id, message = summary.tally.first_with[code]
        lines.append(
            Text(
                f"! {word_count(n_clips, 'clip')} passed with a warning ({code}); the first "
                f"is {printable(clip_id)}: {shortened(message)}",
                style=STYLES[Verdict.UNVERIFIED],
            )
        )
    return lines


def shortened(message: str) -> str:
    """Return the first sentence of a warning, cut if it is long; the report has all of it."""
    first = printable(message).partition(". ")[0].partition("\n")[0]
    return first if len(first) <= LONG_WARNING else f"{first[: LONG_WARNING - 1]}…"


def repeated_lines(repeated: Any) -> list[Text]:
    """List the first clips that repeat the data of another clip."""
    if not repeated:
        return []
    lines = [
        f"{printable(one['clip_id'])} has the same data as {printable(one['same_as'])}"
        + ("" if one["source"] is None else f" ({printable(one['source'])})")
        + ": was the row copied?"
        for one in repeated["first"][:SHOW_REPEATED]
    ]
    more = repeated["clips"] - len(lines)
    if more > 0:
        lines.append(f"... and {word_count(more, 'more clip')} with the same data as another")
    return [Text(line, style="yellow") for line in lines]


def is_common(clip: ClipVerdict, data_sets: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether a clip is rejected only for offsets that its whole data set shares."""
    shared = {
        name
        for one in data_sets
        for clock in one["common"]
        if clip.clip_id not in {other["clip_id"] for other in one["clocks"][clock]["unlike"]}
        for name in one["clocks"][clock]["sources"]
    }
    return all(
        reason.code is ReasonCode.OFFSET and reason.source in shared for reason in clip.reasons
    )


def common_lines(data_sets: Sequence[Mapping[str, Any]]) -> list[Text]:
    """Describe the offsets shared by all clips of a data set, and once what to do about them."""
    lines = []
    for one in data_sets:
        where = f"{printable(one['dataset'])}: " if len(data_sets) > 1 else ""
        lines += [
            Text(f"{where}{printable(sentence)}.", style=STYLES[Verdict.REJECT])
            for sentence in one["common"].values()
        ]
    if lines:
        cures = [one["cure"] for one in data_sets if one["cure"]]
        lines.append(Text(cures[0].replace("`", "'"), style="dim"))
    return lines


def recording_lines(recordings: Sequence[Mapping[str, Any]]) -> list[Text]:
    """Describe clocks that drift or step over recordings, beyond chance for this many clocks."""
    lines = []
    n_clocks = sum(len(recording["clocks"]) for recording in recordings)
    z = NormalDist().inv_cdf(1.0 - 0.025 / max(1, n_clocks))
    for recording in recordings:
        for name, clock in recording["clocks"].items():
            said = []
            drift, std = clock["drift_ppm"], clock["drift_std_ppm"]
            if drift is not None and abs(drift) > z * std:
                said.append(f"drifts {word_drift(drift, std)}")
            said += [
                f"jumps {word_measure(step['step_s'], step['step_std_s'])}"
                for step in clock["steps"]
            ]
            if said:
                clips = word_count(recording["clips"], "clip")
                lines.append(
                    Text(
                        f"{printable(recording['recording_id'])} ({clips}): "
                        f"{printable(name)} {', '.join(said)}"
                    )
                )
    more = len(lines) - SHOW_MOVING
    return lines[:SHOW_MOVING] + (
        [Text(f"... and {more} more clocks that move, see recordings.jsonl")] if more > 0 else []
    )
