"""`syncaudit merge`: join the outputs of shards."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from syncaudit.cli.exit_codes import FailOn, code_for

__all__ = ["merge"]


def merge(
    folders: Annotated[
        list[Path], typer.Argument(help="Output folders of 'validate', one a shard.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the joined outputs.")],
    fail_on: Annotated[
        FailOn, typer.Option("--fail-on", help="Which verdicts make the exit code 1.")
    ] = FailOn.REJECT,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Only errors.")] = False,
) -> None:
    """Join the outputs of several runs into what one run would have written.

    Shards of one manifest (`validate --shard I/N`) come out in its order. Clips of one recording
    are pooled over all folders.

    **Example**: `syncaudit merge part*/ --out out/`
    """
    from syncaudit.batch import merge_shards, read_shard
    from syncaudit.cli.console import stdout
    from syncaudit.cli.inputs import load_judged
    from syncaudit.cli.verdict_table import print_outcome
    from syncaudit.datasets import clip_to_row

    shards = []
    for folder in folders:
        clips, verdicts = load_judged(folder)
        shards.append(read_shard(verdicts.path.parent, clips))
    summary = merge_shards(shards, out=out, to_row=clip_to_row)
    if not quiet:
        print_outcome(stdout(), summary, str(out))
    raise typer.Exit(code_for(summary.counts, fail_on=fail_on))
