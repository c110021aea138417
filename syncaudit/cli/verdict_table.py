"""The table of verdicts that `validate` prints."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from syncaudit.batch import BatchSummary
from syncaudit.cli.console import STYLES, glyph, printable, verdict_text
from syncaudit.cli.fleet_table import (
    MOST_LINES,
    SHOW_MOVING,
    cause_table,
    clip_lines,
    common_lines,
    is_common,
    recording_lines,
    repeated_lines,
    shortened,
    warning_lines,
)
from syncaudit.formatting import PLUS_MINUS, word_correction, word_count, word_span
from syncaudit.model import ClipVerdict, Finding, ReasonCode, SourceVerdict, Verdict
from syncaudit.report.reasons import word_unmeasured

IN_DETAIL_UP_TO = 3
_AT_ONCE = 100  # clips per table, which is laid out as a whole
_NOTES = f"early: the timestamps are too small, so add the offset; {PLUS_MINUS}."
# A longer finding takes more than one line on a narrow terminal.
WIDE_FINDING = 40
_FROM_LAST_RUN = "kept from the last run"

_PURPOSES = {
    "report.html": "the report: open it in a browser",
    "passed.jsonl": "manifest of the clips that passed",
    "rejected.jsonl": "manifest of the clips that were rejected",
    "unverified.jsonl": "manifest of the clips with too little evidence",
    "verdicts.parquet": "every figure, one row per clip (also verdicts.jsonl)",
    "keep.json": "the episodes to keep, for LeRobot's own tools",
    "recordings.jsonl": "the clocks of recordings of several clips",
    "common_offsets.json": "the offsets that all clips share, as a calibration",
    "changes.jsonl": "the clips whose verdict changed",
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
    """Print what is wrong with which source, the worst clips, totals, and the output location.

    With `is_detailed` every source of every clip is listed, as it always is for a few clips. `kept`
    describes what happened to existing verdicts.
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
            clip for clip in summary.tally.worst.clips() if not is_common(clip, summary.data_sets)
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
    """Print what all clips share, what moves over recordings, totals, and the output location."""
    console.print()
    for line in common_lines(summary.data_sets):
        console.print(line)
    for line in recording_lines(summary.recordings):
        console.print(line, soft_wrap=True)
    console.print(_totals(summary, kept))
    for line in warning_lines(summary):
        console.print(line)
    for why, n_videos in summary.tally.fallbacks.most_common(SHOW_MOVING):
        console.print(
            Text(f"The CPU decoded {word_count(n_videos, 'video')}: {printable(why)}", style="dim")
        )
    for line in repeated_lines(summary.about.get("repeated_clips")):
        console.print(line)
    _print_outputs(console, summary, out)


def verdict_table(clips: Iterable[ClipVerdict]) -> Table:
    """Return a table with a section for each clip and a row for each source."""
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
        said = _source_lines(source, findings, clip.reference)
        known = source.why_unmeasured  # shown in its own line
        said += [
            _warned(finding)
            for finding in clip.warnings
            if finding.source == name and not (known and known in finding.message)
        ]
        text = Text("\n").join(said)
        lines.append((Text(printable(name)), text))
    return lines or [(Text(), Text("no source", style="dim"))]


def _source_lines(
    source: SourceVerdict, findings: Iterable[Finding], reference: str | None
) -> list[Text]:
    """Return the results for one source, one line each: its offset, then its findings."""
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
    """Return whether the clock moves within the clip, so that a single offset would mislead."""
    codes = {finding.code for finding in findings}
    return bool(codes & {ReasonCode.DRIFT, ReasonCode.STEP}) and ReasonCode.OFFSET not in codes


def _warned(finding: Finding) -> Text:
    return Text(f"  ! {shortened(finding.message)}", style=STYLES[Verdict.UNVERIFIED])


def _sentence(finding: Finding, verdict: Verdict) -> Text:
    return Text(printable(finding.message), style=STYLES[verdict])


def _totals(summary: BatchSummary, kept: str) -> Text:
    text = Text(f"{summary.done} of {word_count(summary.total, 'clip')}: ")
    for index, (verdict, count) in enumerate(summary.counts.items()):
        text.append(", " if index else "")
        text.append(f"{glyph(verdict)} {count} {verdict}", style=STYLES[verdict])
    if summary.tally.reasons:
        reasons = ", ".join(f"{code} {n}" for code, n in summary.tally.reasons.most_common())
        text.append(f" ({reasons})")
    fresh = summary.done - summary.reused
    if summary.reused:
        text.append(f"; {summary.reused} {kept}")
    if fresh:
        text.append(f"; {word_span(summary.wall_s)}")
    if summary.stopped:
        text.append(
            f"\nThe run was {summary.stopped}: run it again to resume.", style="bold yellow"
        )
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
