"""`syncaudit apply`: write corrected timestamps and a manifest that names them."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from syncaudit.cli.options import Partial

_SHOW_ALL_UP_TO = 20


class Written(StrEnum):
    """Kind of output of `apply`."""

    STAMPS = "stamps"
    LEROBOT = "lerobot"


def apply(
    corrections: Annotated[
        str,
        typer.Argument(
            metavar="CALIBRATION_OR_VERDICTS",
            help="Calibration (JSON), verdicts.jsonl or .parquet, or the folder of a validate run.",
        ),
    ],
    manifest: Annotated[
        str,
        typer.Argument(help="Clip manifest (.jsonl or .parquet, any fsspec URL), or its folder."),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for timestamps and manifest.")],
    every_figure: Annotated[
        bool,
        typer.Option(
            "--all", help="With verdicts: also correct offsets within their own error (1.96 sigma)."
        ),
    ] = False,
    written: Annotated[
        Written,
        typer.Option(
            "--as",
            help="What to write: timestamps beside the originals, or the LeRobot data set of "
            "the clips, with its rows paired again.",
        ),
    ] = Written.STAMPS,
    interpolate: Annotated[
        bool,
        typer.Option(
            "--interpolate",
            help="With --as lerobot: interpolate states and commands to the frame times instead "
            "of taking the nearest row.",
        ),
    ] = False,
    partial: Partial = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print errors only: no progress, no table.")
    ] = False,
) -> None:
    """Correct stamps: write them beside the originals, with a manifest that points at them.

    Originals are never touched: images and sound are named where they lie, tables of stamps
    are copied with their stamps changed. An intended offset (expected_offset_s) stays. What an
    offset and a drift cannot mend (a clock that jumps, jitter, lost frames) is told by name.

    **Examples**

    - `syncaudit apply calibration.json manifest.jsonl --out corrected/`

    - `syncaudit apply out/ manifest.jsonl --out corrected/` (each clip by its own verdict)

    - `syncaudit validate corrected/ --out checked/` (what is left)

    A row of LeRobot is one instant: there a lag is mended by pairing the rows anew. `--as lerobot`
    writes a whole data set in the layout of the same version; its videos are cut or linked, never
    encoded again.

    - `syncaudit apply out/common_offsets.json out/ --as lerobot --out repaired/`

    **Outputs**: manifest.jsonl, corrections.jsonl (what was added to which source), and a folder
    a clip.
    """
    from rich.text import Text

    from syncaudit.cli.console import printable, stderr, stdout
    from syncaudit.cli.inputs import load_clips
    from syncaudit.errors import UsageError
    from syncaudit_calibration.apply import ClipOutcome, apply_corrections, load_corrections
    from syncaudit_calibration.apply.lerobot import repair_lerobot
    from syncaudit_calibration.apply.outcomes import Tally, outcome_table

    if interpolate and written is not Written.LEROBOT:
        raise UsageError(
            "--interpolate applies to rows, not to timestamps",
            hint="Add --as lerobot, or leave it out.",
        )
    known = load_corrections(corrections, is_every_figure=every_figure, partial=partial)
    clips = load_clips(manifest)
    tally, shown = Tally(), list[ClipOutcome]()
    is_short = len(clips) <= _SHOW_ALL_UP_TO

    def keep(outcome: ClipOutcome) -> None:
        tally.add(outcome)
        is_remarkable = any(source.is_remarkable for source in outcome.sources.values())
        if is_short or (is_remarkable and len(shown) < _SHOW_ALL_UP_TO):
            shown.append(outcome)
        progress.update(f"{tally.n_clips} of {len(clips)} clips corrected ...")

    console = stderr()
    console.quiet = quiet
    with console.status(f"0 of {len(clips)} clips corrected ...") as progress:
        if written is Written.LEROBOT:
            repair_lerobot(clips, known, out, is_interpolated=interpolate, on_clip=keep)
        else:
            apply_corrections(clips, known, out, inputs=(corrections, manifest), on_clip=keep)
    if quiet:
        return
    terminal = stdout()
    if shown:
        terminal.print(outcome_table(shown, only_remarkable=not is_short))
        terminal.print()
    terminal.print(Text(tally.words()))
    place = printable(str(out))
    if written is Written.STAMPS:
        terminal.print(Text(f"In {place}: manifest.jsonl, corrections.jsonl"), soft_wrap=True)
    else:
        terminal.print(Text(f"In {place}: a LeRobot data set, corrections.jsonl"), soft_wrap=True)
    terminal.print(
        Text(f"Check what is left: syncaudit validate {place} --out DIR"), soft_wrap=True
    )
