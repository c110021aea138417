"""`syncaudit diff`: what changed between two runs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from syncaudit.cli.console import printable, stdout, transition_text, verdict_text
from syncaudit.cli.exit_codes import ExitCode
from syncaudit.cli.options import AsJson, Partial
from syncaudit.errors import UsageError
from syncaudit.formatting import signed_ms, word_count

if TYPE_CHECKING:
    from syncaudit.evaluation.comparison import ClipChange, Comparison, Reason, SourceShifts

# Clips and reasons that are listed individually; --json has all.
SHOWN = 20


def diff(
    old: Annotated[str, typer.Argument(help="Output folder of the earlier run.")],
    new: Annotated[str, typer.Argument(help="Output folder of the later run.")],
    golden: Annotated[
        str | None,
        typer.Option(help="Clips that must not change: a manifest, or one clip_id per line."),
    ] = None,
    partial: Partial = False,
    as_json: AsJson = False,
) -> None:
    """Compare two runs: changed verdicts, reasons, and offsets beyond their errors.

    Two policies, two versions of syncaudit, or two deliveries of the same clips. With --golden
    only those clips are compared, and one that is missing from either run is an error.

    Exit code 0: nothing changed; 1: something did, or the later run lacks clips.

    **Examples**

    - `syncaudit diff out/ strict/`

    - `syncaudit diff last_week/ out/ --golden golden.jsonl`
    """
    from syncaudit.evaluation.comparison import compare_runs
    from syncaudit.evaluation.judged import read_judged
    from syncaudit.readers.clip_list import read_clip_ids

    wanted = None if golden is None else read_clip_ids(golden)
    before = list(read_judged(old, partial=partial))
    if wanted is not None and (lost := sorted(wanted - {clip.clip_id for clip in before})):
        raise UsageError(
            f"{len(lost)} of {len(wanted)} golden clips are not in the earlier run: "
            + ", ".join(lost[:SHOWN]),
            path=old,
            hint="Audit them, or take them off the list.",
        )
    found = compare_runs(before, read_judged(new, partial=partial), only=wanted)
    if as_json:
        typer.echo(json.dumps(found.to_json(), indent=2, ensure_ascii=False, allow_nan=False))
    else:
        _print(stdout(), found)
    raise typer.Exit(ExitCode.DONE if found.is_same else ExitCode.REJECTED)


def _print(console: Console, found: Comparison) -> None:

    for (before, after), n in found.transitions.items():
        if before is not after:
            console.print(transition_text(n, before, after))
    for counts, title in ((found.new, "new reasons"), (found.gone, "reasons gone")):
        if counts:
            console.print(Text(f"{title}: {_reasons(counts)}"))
    moved = {name: one for name, one in found.sources.items() if one.has_moved}
    if moved:
        console.print()
        console.print(_source_table(moved))
    if found.changes:
        console.print()
    for change in found.changes[:SHOWN]:
        head = verdict_text(change.before)
        if change.after is not change.before:
            head = Text.assemble(head, " → ", verdict_text(change.after))
        console.print(
            Text.assemble("  ", head, f"  {printable(change.clip_id)}: {_what(change)}"),
            soft_wrap=True,
        )
    if len(found.changes) > SHOWN:
        console.print(f"  ... and {len(found.changes) - SHOWN:,} more: --json")
    for names, where in ((found.only_old, "earlier"), (found.only_new, "later")):
        if names:
            listed = ", ".join(printable(name) for name in names[:3])
            more = f" and {len(names) - 3:,} more" if len(names) > 3 else ""
            clips = word_count(len(names), "clip")
            console.print(f"{clips} only in the {where} run: {listed}{more}")
    if found.n_other_reference:
        clips = word_count(found.n_other_reference, "clip")
        console.print(f"{clips} with another reference clock, whose offsets are not compared")
    clips = word_count(found.n_compared, "clip")
    n = len(found.changes)
    console.print(f"{clips} compared: {'nothing changed' if not n else f'{n:,} changed'}")


def _source_table(sources: Mapping[str, SourceShifts]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, expand=False, pad_edge=False, show_edge=False)
    table.add_column("offset of", overflow="fold")
    for title in ("clips", "beyond errors", "median change", "largest", "std error"):
        table.add_column(title, justify="right", no_wrap=True)
    for name, one in sources.items():
        table.add_row(
            printable(name),
            f"{one.n:,}",
            f"{one.n_beyond:,}",
            signed_ms(one.median_s),
            signed_ms(one.largest_s),
            f"x {one.std_ratio:.2f}",
        )
    return table


def _reasons(counts: Mapping[Reason, int]) -> str:
    words = [f"{_reason(reason)} ({n:,})" for reason, n in list(counts.items())[:SHOWN]]
    return printable(", ".join(words)) + (" ..." if len(counts) > SHOWN else "")


def _reason(reason: Reason) -> str:
    code, source = reason
    return code if source is None else f"{code} of {source}"


def _what(change: ClipChange) -> str:
    words = [f"new {_reason(reason)}" for reason in change.new]
    words += [f"no {_reason(reason)}" for reason in change.gone]
    words += [
        f"{name} {signed_ms(shift.before_s)} → {signed_ms(shift.after_s)}"
        for name, shift in change.moved.items()
    ]
    return printable("; ".join(words) or "verdict alone")
