"""The table of verdicts that `validate` prints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from syncaudit.batch import BatchSummary
from syncaudit.cli.console import printable
from syncaudit.cli.fleet_table import MOST_LINES, cause_table, clip_lines
from syncaudit.cli.glyphs import STYLES, glyph, verdict_text
from syncaudit.formatting import (
    PLUS_MINUS,
    word_correction,
    word_count,
    word_drift,
    word_measure,
    word_span,
)
from syncaudit.model import ClipVerdict, Finding, ReasonCode, SourceVerdict, Verdict
from syncaudit.report.reasons import word_unmeasured

__all__ = ["print_outcome", "print_totals", "source_lines", "verdict_table"]

IN_DETAIL_UP_TO = 3
_AT_ONCE = 100  # clips of one table, which is laid out as a whole
_NOTES = f"early: the timestamps are too small, so add the offset; {PLUS_MINUS}."
SHOW_MOVING = 10
SHOW_REPEATED = 3
# A finding of more characters takes more than one line on a narrow terminal.
WIDE_FINDING = 40
LONG_WARNING = 120
_FROM_LAST_RUN = "kept from the last run"

_PURPOSES = {
    "report.html": "the report: open it in a browser",
    "passed.jsonl": "manifest of the clips that passed",
    "rejected.jsonl": "manifest of the clips that were rejected",
    "unverified.jsonl": "manifest of the clips that hold too little evidence",
    "verdicts.parquet": "every figure, one row a clip (also verdicts.jsonl)",
    "keep.json": "the episodes to keep, for LeRobot's own tools",
    "recordings.jsonl": "the clocks of recordings of several clips",
    "common_offsets.json": "the offsets that all clips share, as a calibration",
    "changes.jsonl": "the clips whose verdict is another now",
    "errors.log": "defects of syncaudit itself: please report them",
}


def print_outcome(
    console: Console,
    summary: BatchSummary,
    out: str,
    *,
    is_detailed: bool = False,
    kept: str = _FROM_LAST_RUN,
) -> None:
    """Print what is wrong with which source, the worst clips, totals, and where outputs lie.

    Parameters
    ----------
    console : Console
        Where to.
    summary : BatchSummary
        The run.
    out : str
        The output folder as the user named it.
    is_detailed : bool
        Print every source of every clip, as of a few clips is done anyway.
    kept : str
        What became of the verdicts that were there already.
    """
    if is_detailed or summary.done <= IN_DETAIL_UP_TO:
        verdicts = summary.verdicts()
        while some := list(islice(verdicts, _AT_ONCE)):
            console.print(verdict_table(some))
            console.print()
        console.print(Text(_NOTES, style="dim"))
    elif causes := summary.tally.causes.to_view():
        console.print(cause_table(causes))
        console.print()
        worst = [
            clip for clip in summary.tally.worst.clips() if not _is_common(clip, summary.data_sets)
        ]
        for line in clip_lines(worst, console.width):
            console.print(line, no_wrap=True)
        hidden = summary.counts[Verdict.REJECT] - min(len(worst), MOST_LINES)
        if hidden > 0:
            more = word_count(hidden, "more rejected clip")
            console.print(Text(f"... and {more}; every source of every clip: --details", "dim"))
        console.print(Text(f"{PLUS_MINUS}.", style="dim"))
    print_totals(console, summary, out, kept=kept)


def print_totals(
    console: Console, summary: BatchSummary, out: str, *, kept: str = _FROM_LAST_RUN
) -> None:
    """Print what all clips share, what moves over recordings, totals, and where outputs lie."""
    console.print()
    for line in common_lines(summary.data_sets):
        console.print(line)
    for line in recording_lines(summary.recordings):
        console.print(line, soft_wrap=True)
    console.print(_totals(summary, kept))
    for line in _remark_lines(summary):
        console.print(line)
    for why, n_videos in summary.tally.fallbacks.most_common(SHOW_MOVING):
        console.print(
            Text(f"The CPU decoded {word_count(n_videos, 'video')}: {printable(why)}", style="dim")
        )
    for line in _repeated_lines(summary.about.get("repeated_clips")):
        console.print(line)
    _print_outputs(console, summary, out)


def _remark_lines(summary: BatchSummary) -> list[Text]:
    """Say what clips that passed warn of: of each kind how many, and the first."""
    lines = []
    for code, n_clips in summary.tally.passed_with.most_common(SHOW_MOVING):
        clip_id, message = summary.tally.first_with[code]
        lines.append(
            Text(
                f"! {word_count(n_clips, 'clip')} passed with a warning ({code}), the first "
                f"{printable(clip_id)}: {_shortened(message)}",
                style=STYLES[Verdict.UNVERIFIED],
            )
        )
    return lines


def _shortened(message: str) -> str:
    """Return the first sentence of a warning, cut where it is long: the report has all."""
    first = printable(message).partition(". ")[0].partition("\n")[0]
    return first if len(first) <= LONG_WARNING else f"{first[: LONG_WARNING - 1]}…"


def _repeated_lines(repeated: Any) -> list[Text]:
    """Say which clips show the same data as another, the first of them."""
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
        lines.append(f"... and {word_count(more, 'more clip')} with the data of another")
    return [Text(line, style="yellow") for line in lines]


def _is_common(clip: ClipVerdict, data_sets: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether a clip is rejected for nothing but what its whole data set shares."""
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
    """Say which offsets all clips of a data set share, and once what to do about them."""
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
    """Say which clocks drift or jump over recordings, beyond two standard errors."""
    lines = []
    for recording in recordings:
        for name, clock in recording["clocks"].items():
            said = []
            drift, std = clock["drift_ppm"], clock["drift_std_ppm"]
            if drift is not None and abs(drift) > 2.0 * std:
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


def verdict_table(clips: Iterable[ClipVerdict]) -> Table:
    """Return a table with one section a clip and one line a source.

    Parameters
    ----------
    clips : iterable of ClipVerdict
        What to show.
    """
    table = Table(box=box.SIMPLE_HEAD, expand=False, pad_edge=False, show_edge=False)
    table.add_column("clip", max_width=28, overflow="fold")
    table.add_column("source", no_wrap=True, max_width=18)
    table.add_column("finding", overflow="fold")
    for clip in clips:
        heads = [verdict_text(clip.verdict), Text(printable(clip.clip_id))]
        body = _clip_lines(clip)
        first = body[0][1].plain
        if len(body) == 1 or "\n" in first or len(first) > WIDE_FINDING:
            heads = [Text("\n").join(heads)]
        for index, (name, text) in enumerate(body):
            head = heads[index] if index < len(heads) else Text()
            table.add_row(head, name, text, end_section=index == len(body) - 1)
    return table


def _clip_lines(clip: ClipVerdict) -> list[tuple[Text, Text]]:
    lines = [
        (Text("clip", style="dim"), _sentence(finding, clip.verdict))
        for finding in clip.reasons
        if finding.source not in clip.sources
    ]
    is_unseen = any(
        reason.source is None and reason.code is ReasonCode.UNOBSERVABLE for reason in clip.reasons
    )
    lines += [
        (Text("clip", style="dim"), _warned(finding))
        for finding in clip.warnings
        if finding.source not in clip.sources
    ]
    for name, source in clip.sources.items():
        findings = [reason for reason in clip.reasons if reason.source == name]
        if is_unseen and source.verdict is Verdict.UNVERIFIED and not findings:
            continue
        said = source_lines(source, findings, clip.reference)
        known = source.why_unmeasured  # its own line says that
        said += [
            _warned(finding)
            for finding in clip.warnings
            if finding.source == name and not (known and known in finding.message)
        ]
        text = Text("\n").join(said)
        lines.append((Text(printable(name)), text))
    return lines or [(Text(), Text("no source", style="dim"))]


def source_lines(
    source: SourceVerdict, findings: Iterable[Finding], reference: str | None
) -> list[Text]:
    """Return what is known of one source, a line each: its offset, then its findings."""
    findings = list(findings)
    verdict, offset_s = source.verdict, source.offset_s if source.is_observable else None
    sign = Text(f"{glyph(verdict)} ", style=STYLES[verdict])
    lines: list[Text] = []
    if source.clock == reference and reference is not None:
        lines.append(Text.assemble(sign, ("reference clock", "dim")))
    elif offset_s is not None and not _moves(findings):
        stated = next((f for f in findings if f.code is ReasonCode.OFFSET), None)
        words = f"timestamps {word_correction(offset_s, source.offset_std_s)}"
        if stated is not None and stated.limit is not None:
            words += f"; limit {stated.limit * 1e3:g} ms"
        style = STYLES[verdict] if stated is not None else ""
        lines.append(Text.assemble(sign, (words, style)))
        findings = [f for f in findings if f is not stated]
    elif not findings:
        lines.append(Text.assemble(sign, (word_unmeasured(source), "dim")))
    for finding in findings:
        mark = sign if not lines else Text("  ")
        lines.append(Text.assemble(mark, _sentence(finding, verdict)))
    return lines


def _moves(findings: Sequence[Finding]) -> bool:
    """Tell whether the clock moves within the clip: one offset would say that it is right."""
    codes = {finding.code for finding in findings}
    return bool(codes & {ReasonCode.DRIFT, ReasonCode.STEP}) and ReasonCode.OFFSET not in codes


def _warned(finding: Finding) -> Text:
    return Text(f"  ! {_shortened(finding.message)}", style=STYLES[Verdict.UNVERIFIED])


def _sentence(finding: Finding, verdict: Verdict) -> Text:
    return Text(printable(finding.message), style=STYLES[verdict])


def _totals(summary: BatchSummary, kept: str) -> Text:
    text = Text(f"{summary.done} of {word_count(summary.total, 'clip')}: ")
    for index, (verdict, count) in enumerate(summary.counts.items()):
        text.append(", " if index else "")
        text.append(f"{glyph(verdict)} {count} {verdict}", style=STYLES[Verdict(verdict)])
    if summary.tally.reasons:
        reasons = ", ".join(f"{code} {n}" for code, n in summary.tally.reasons.most_common())
        text.append(f" ({reasons})")
    fresh = summary.done - summary.reused
    if summary.reused:
        text.append(f"; {summary.reused} {kept}")
    if fresh:
        text.append(f"; {word_span(summary.wall_s)}")
    if summary.stopped:
        text.append(f"\nThe run was {summary.stopped}: run it again to go on.", style="bold yellow")
    return text


def _print_outputs(console: Console, summary: BatchSummary, out: str) -> None:
    console.print(Text(f"In {printable(out)}:"), soft_wrap=True)
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column(style="dim", overflow="fold")
    for name, purpose in _PURPOSES.items():
        if (summary.out / name).exists():
            grid.add_row(f"  {name}", purpose)
    console.print(grid)
