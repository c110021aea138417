"""`syncaudit merge`: merge the outputs of shards."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Annotated

import typer

from syncaudit.cli.console import stdout
from syncaudit.cli.exit_codes import FailOn, code_for
from syncaudit.cli.options import Details, FailOnOption, Force, Prune, Quiet


def merge(
    folders: Annotated[
        list[str], typer.Argument(help="Output folders of 'validate', one per shard.")
    ],
    out: Annotated[
        str, typer.Option("--out", "-o", help="Folder or fsspec URL for the joined outputs.")
    ],
    fail_on: FailOnOption = FailOn.REJECT,
    details: Details = False,
    prune: Prune = False,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Join the outputs of several runs into what one run would have written.

    Shards of one manifest (`validate --shard I/N`) come out in its order. Clips of one recording
    are combined over all folders.

    **Example**: `syncaudit merge part*/ --out out/`
    """
    from syncaudit.batch import OutputFolder, merge_shards, read_shard
    from syncaudit.cli.judged import outputs_of
    from syncaudit.cli.verdict_table import print_outcome
    from syncaudit.datasets import clip_to_row

    place = OutputFolder(out, force=force)
    place.check_apart(folders)
    with place, ExitStack() as opened:
        shards = []
        for folder in folders:
            clips, verdicts = opened.enter_context(outputs_of(folder))
            shards.append(read_shard(verdicts.path.parent, clips, name=folder))
        to_row = place.to_row(clip_to_row)
        summary = merge_shards(shards, out=place.folder, to_row=to_row, prune=prune, force=force)
        if not quiet:
            print_outcome(stdout(), summary, out, is_detailed=details, kept="joined")
    raise typer.Exit(code_for(summary.counts, fail_on=fail_on))
