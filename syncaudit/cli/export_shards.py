"""`syncaudit export-shards`: write clips that passed as WebDataset shards."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.text import Text

from syncaudit.cli.console import printable, stderr, stdout
from syncaudit.cli.exit_codes import ExitCode
from syncaudit.cli.options import Partial, Quiet, Verdicts
from syncaudit.errors import StreamReadError, UsageError
from syncaudit.formatting import word_count

if TYPE_CHECKING:
    from syncaudit.datasets.export import Exported

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_SHOWN = 5
# A run may be merged from rejudged runs, which may be merged themselves, and so on.
_MOST_STEPS = 8


def export_shards(
    verdicts: Verdicts,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the shards.")],
    manifest: Annotated[
        str | None,
        typer.Argument(help="The manifest; default: the rows beside the verdicts."),
    ] = None,
    max_size: Annotated[
        str, typer.Option(help="Size at which the next shard begins: 500M, 1G.")
    ] = "1G",
    max_count: Annotated[
        int, typer.Option(min=1, help="Maximum number of clips per shard.")
    ] = 10_000,
    include: Annotated[
        list[str] | None,
        typer.Option(help="Also pack these verdicts: unverified (or reject). Repeatable."),
    ] = None,
    partial: Partial = False,
    root: Annotated[
        list[str] | None,
        typer.Option(
            help=(
                "Pack only files in these folders; default: the manifest's folder, and those "
                "that 'validate' trusted. Repeatable."
            )
        ),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Write WebDataset shards of the clips that passed, and of no others.

    Samples of shards are copied with all their members, byte by byte; for other clips, the
    files that the manifest names are packed. `syncaudit validate` reads the shards back.

    A clip without a verdict, or whose row is not the one that was judged, is left out and
    reported (exit code 1). A stopped export resumes
    when it is started again. `shards.json` lists the shards with their SHA-256.

    **Examples**

    - `syncaudit export-shards out/ --out shards/`

    - `syncaudit export-shards out/ manifest.jsonl --out shards/ --max-size 500M`

    - `syncaudit export-shards out/ --out shards/ --include unverified`
    """
    from syncaudit.cli.inputs import load_clips
    from syncaudit.cli.judged import outputs_of
    from syncaudit.cli.progress import ImportView
    from syncaudit.cli.rooted import roots_of
    from syncaudit.datasets import clip_to_row
    from syncaudit.datasets.export import ExportOptions
    from syncaudit.datasets.export import export_shards as export
    from syncaudit.ingest import VerdictIndex
    from syncaudit.model import Verdict
    from syncaudit.readers.access import within_roots
    from syncaudit.readers.uris import parent_of, resolve

    admit = {str(Verdict.PASS), *(include or ())}
    index = VerdictIndex.load(verdicts, admit=admit, unknown="drop", partial=partial)
    with outputs_of(verdicts, partial=partial) as judged:
        clips = judged[0]
    changed: set[str] = set()
    if manifest is not None:
        rows = {clip.clip_id: clip for clip in clips}
        clips = load_clips(manifest)
        changed = {
            clip.clip_id
            for clip in clips
            if clip.clip_id in rows and clip_to_row(clip) != clip_to_row(rows[clip.clip_id])
        }
    if out.resolve() == Path(resolve(verdicts)).resolve():
        raise UsageError(f"{out} holds the verdicts", hint="Choose another --out folder.")
    options = ExportOptions(max_bytes=_bytes_of(max_size), max_clips=max_count, include=admit)
    places = root or _roots_in(verdicts) or [parent_of(resolve(manifest or f"{verdicts}/x"))]
    roots = roots_of("", places)
    with ImportView(stderr(), is_quiet=quiet) as view, within_roots(roots):
        done = export(
            clips,
            lambda clip_id: None if clip_id in changed else index.verdict(clip_id),
            out,
            options,
            on_clip=view,
        )
    if not quiet:
        _print_outcome(stdout(), done, str(out))
    is_complete = done.n_clips and not done.failed and not done.left_out.get("unknown")
    raise typer.Exit(ExitCode.DONE if is_complete else ExitCode.REJECTED)


def _roots_in(verdicts: str, depth: int = 0) -> list[str]:
    """Return the roots stated by a run, or by those that it was merged or judged from."""
    import json

    from syncaudit.batch.summary import stated_roots
    from syncaudit.readers.uris import read_bytes, resolve

    try:
        summary = json.loads(read_bytes(f"{resolve(verdicts).rstrip('/')}/summary.json"))
    except (StreamReadError, ValueError, RecursionError):
        return []
    if not isinstance(summary, dict) or depth > _MOST_STEPS:
        return []
    if roots := stated_roots(summary):
        return list(roots)
    merged = summary.get("merged")  # written by a version that did not pass roots on
    earlier = [*(merged if isinstance(merged, list) else ()), summary.get("judged_from")]
    found = (_roots_in(each, depth + 1) for each in earlier if isinstance(each, str) and each)
    return [place for places in found for place in places]


def _bytes_of(text: str) -> int:
    """Parse a size such as ``500M`` into bytes."""
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([kmgt]?)b?", text.strip().lower())
    size = 0 if found is None else int(float(found[1]) * _UNITS[found[2]])
    if size < 1:
        raise UsageError(f"--max-size is '{text}'", hint="Expected a size such as 500M or 1.5G.")
    return size


def _print_outcome(console: Console, done: Exported, out: str) -> None:
    lines = [
        f"{printable(out)}: {word_count(done.n_clips, 'clip')} in "
        f"{word_count(len(done.shards), 'shard')}, {done.n_bytes / 1e6:.1f} MB"
    ]
    for name, count in sorted(done.left_out.items()):
        what = "without a verdict on this row" if name == "unknown" else name
        lines.append(f"  {word_count(count, 'clip')} left out: {what}")
    for clip_id, why in list(done.failed.items())[:_SHOWN]:
        lines.append(f"  {clip_id} could not be packed: {why}")
    if len(done.failed) > _SHOWN:
        lines.append(f"  and {len(done.failed) - _SHOWN} more, all in shards.json")
    for line in lines:
        console.print(Text(printable(line)), soft_wrap=True)
