"""`syncaudit judge`: apply another policy to clips that were already measured."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.text import Text

from syncaudit.cli.console import printable, stderr, stdout, transition_text, verdict_text
from syncaudit.cli.exit_codes import FailOn, code_for
from syncaudit.cli.options import FailOnOption, Force, Partial, PolicyFile, Profile, Prune, Quiet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from syncaudit.batch import Change

# Changes that are listed individually; all are in changes.jsonl.
SHOWN = 20


def judge(
    verdicts: Annotated[str, typer.Argument(help="Output folder of an earlier 'validate'.")],
    out: Annotated[
        str, typer.Option("--out", "-o", help="Folder or fsspec URL for the new outputs.")
    ],
    policy: PolicyFile = None,
    profile: Profile = None,
    workers: Annotated[
        int | None, typer.Option("--workers", "-j", min=0, help="Processes; default: as needed.")
    ] = None,
    fail_on: FailOnOption = FailOn.REJECT,
    partial: Partial = False,
    prune: Prune = False,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Judge measured clips by another policy, without opening a recording.

    Every verdict row keeps what was measured. A new policy takes milliseconds per clip;
    which clips change, and why, is printed and written to changes.jsonl.

    **Examples**

    - `syncaudit judge out/ --profile strict --out strict/`

    - `syncaudit judge out/ --policy new.toml --out new/ --workers 16`
    """
    from syncaudit.batch import OutputFolder, judge_again
    from syncaudit.cli.inputs import cores
    from syncaudit.cli.judged import outputs_of
    from syncaudit.cli.progress import ProgressView
    from syncaudit.cli.verdict_table import print_totals
    from syncaudit.datasets import clip_to_row
    from syncaudit.policy import load_policy

    rules = load_policy(None if policy is None else str(policy), profile=profile)
    place = OutputFolder(out, force=force)
    place.check_apart([verdicts])
    with place, outputs_of(verdicts, partial=partial) as (clips, known):
        if workers is None:
            workers = cores() if len(clips) > 2000 else 0
        with ProgressView(stderr(), is_quiet=quiet) as view:
            summary, changes = judge_again(
                clips,
                known,
                rules,
                out=place.folder,
                workers=workers,
                on_progress=place.sending(view),
                to_row=place.to_row(clip_to_row),
                judged_from=verdicts,
                partial=partial,
                prune=prune,
                force=force,
            )
        if not quiet:
            _print_changes(stdout(), changes)
            print_totals(stdout(), summary, out)
    raise typer.Exit(code_for(summary.counts, fail_on=fail_on))


def _print_changes(console: Console, changes: Sequence[Change]) -> None:

    if not changes:
        console.print("No clip changes its verdict.")
    kinds = Counter((change.before, change.after) for change in changes)
    for (before, after), n in sorted(kinds.items()):
        console.print(transition_text(n, before, after))
    for change in changes[:SHOWN]:
        console.print(
            Text.assemble(
                "  ",
                verdict_text(change.after),
                f" {printable(change.clip_id)}: ",
                printable("; ".join(change.why[:2]) or "no reason left"),
            ),
            soft_wrap=True,
        )
    if len(changes) > SHOWN:
        console.print(f"  ... and {len(changes) - SHOWN} more in changes.jsonl")
