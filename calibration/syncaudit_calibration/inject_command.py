"""`syncaudit inject`: write clips with known timestamp errors."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from syncaudit.cli.options import MovedSources, Partial

if TYPE_CHECKING:
    from collections.abc import Sequence

    from syncaudit.model import Clip
    from syncaudit_calibration.inject import Injection

_SHOWN = 8


def inject(
    manifest: Annotated[
        str,
        typer.Argument(help="Clip manifest (.jsonl or .parquet, any fsspec URL), or its folder."),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for timestamps and manifest.")],
    offsets: Annotated[
        str, typer.Option("--offsets", help="Offsets in ms, applied with either sign.")
    ] = "5,10,20,50,100",
    drift_ppm: Annotated[
        str, typer.Option("--drift-ppm", help="Drifts in ppm; none by default.")
    ] = "",
    variants: Annotated[
        int, typer.Option("--variants", min=1, help="Variants per clip besides its control.")
    ] = 4,
    sources: MovedSources = None,
    verdicts: Annotated[
        str | None, typer.Option("--verdicts", help="Only clips that passed in this run.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the random draw.")] = 0,
    partial: Partial = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")] = False,
) -> None:
    """Write clips that are wrong by a known amount, to measure the filter on your own data.

    Of every clip a control (nothing moved) and variants in which one clock is early or late;
    sources, sizes and signs are drawn evenly. Only stamps are written: images and sound are
    named where they lie.

    **Examples**

    - `syncaudit inject manifest.jsonl --verdicts out/ --out trial/`, then
      `syncaudit validate trial/ --out trial/out` and
      `syncaudit evaluate trial/out --truth trial/truth.jsonl`

    - `syncaudit inject manifest.jsonl --sources camera --offsets 2,5,10,15 --out trial/`

    **Outputs**: manifest.jsonl, truth.jsonl (what was moved by how much), and a folder a variant.
    """
    import numpy as np

    from syncaudit.cli.console import stderr
    from syncaudit.cli.inputs import load_clips
    from syncaudit.evaluation.change import parse_changes
    from syncaudit.evaluation.draw import Draw
    from syncaudit_calibration.inject import inject_variants

    changes = parse_changes([f"offset={offsets}", f"drift={drift_ppm}"])
    if not changes:
        raise typer.BadParameter("neither --offsets nor --drift-ppm gives a value")
    clips = load_clips(manifest)
    if verdicts is not None:
        clips = _passed(clips, verdicts, partial=partial)
    inputs = [manifest] if verdicts is None else [manifest, verdicts]
    console = stderr()
    console.quiet = quiet
    with console.status("0 variants written ...") as progress:
        done = inject_variants(
            clips,
            out,
            draw=Draw(changes, np.random.default_rng(seed)),
            n_variants=variants,
            patterns=sources or (),
            inputs=inputs,
            on_clip=lambda now: progress.update(f"{now.n_variants} variants written ..."),
        )
    if not quiet:
        _print(done, len(clips), out)


def _passed(clips: Sequence[Clip], verdicts: str, *, partial: bool) -> Sequence[Clip]:
    """Return the clips that passed.

    UsageError if none of them passed.
    """
    from syncaudit.datasets import ClipTable
    from syncaudit.errors import UsageError
    from syncaudit.ingest import VerdictIndex

    index = VerdictIndex.load(verdicts, unknown="drop", partial=partial)
    kept = ClipTable(clip for clip in clips if index.admits(clip.clip_id))
    if not kept:
        raise UsageError(
            "no clip of the manifest passed in this run",
            path=verdicts,
            hint="Leave --verdicts out to take all clips.",
        )
    return kept


def _print(done: Injection, n_clips: int, out: Path) -> None:
    from rich.text import Text

    from syncaudit.cli.console import printable, stdout
    from syncaudit.formatting import word_count

    lines = [
        f"{word_count(n_clips, 'clip')}: {word_count(done.n_controls, 'control')}, "
        f"{word_count(done.n_variants, 'variant')}"
    ]
    lines += [f"  {kind} {name}: {n}" for (kind, name), n in sorted(done.moved.items())]
    terminal = stdout()
    for line in lines:
        terminal.print(Text(printable(line)), soft_wrap=True)
    for (name, why), n in done.left_out.most_common(_SHOWN):
        line = f"  {name} left out ({word_count(n, 'time')}): {why}"
        terminal.print(Text(printable(line), style="yellow"), soft_wrap=True)
    if len(done.left_out) > _SHOWN:
        terminal.print(Text(f"  ... and {len(done.left_out) - _SHOWN} more", style="yellow"))
    place = printable(str(out))
    terminal.print(Text(f"In {place}: manifest.jsonl, truth.jsonl"), soft_wrap=True)
    for line in (
        f"Next: syncaudit validate {place} --out {place}/out",
        f"      syncaudit evaluate {place}/out --truth {place}/truth.jsonl",
    ):
        terminal.print(Text(line), soft_wrap=True)
