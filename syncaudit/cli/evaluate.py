"""`syncaudit evaluate`: how often a run errs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from syncaudit.cli.exit_codes import ExitCode
from syncaudit.cli.options import AsJson, Partial

__all__ = ["evaluate"]


def evaluate(
    verdicts: Annotated[
        str,
        typer.Argument(help="Output folder of 'validate', or its verdicts.jsonl or .parquet."),
    ],
    truth: Annotated[
        str | None, typer.Option("--truth", help="truth.jsonl of 'syncaudit inject'.")
    ] = None,
    labels: Annotated[
        str | None,
        typer.Option("--labels", help="Label file of 'syncaudit view'; default: that of the run."),
    ] = None,
    originals: Annotated[
        str | None,
        typer.Option("--originals", help="Run over the unmoved clips, where controls are missing."),
    ] = None,
    partial: Partial = False,
    as_json: AsJson = False,
) -> None:
    """Measure the error rates of a run against injected errors or people's labels.

    With --truth: which injected offsets were found, from which size on in 95 % of variants, by
    how much the figures were off, and what became of controls. With --labels: precision and
    recall of the rejections, and the clips that are disputed. Brackets are 95 % intervals.

    Exit code 4: nothing that was injected could be judged.

    **Examples**

    - `syncaudit evaluate trial/out --truth trial/truth.jsonl`

    - `syncaudit evaluate out/ --labels sample.labels.jsonl`
    """
    from syncaudit.cli.console import stdout
    from syncaudit.cli.evaluation_view import print_evaluation
    from syncaudit.errors import UsageError
    from syncaudit.evaluation.evaluate import evaluate_run

    if truth is None and labels is None:
        beside = Path(verdicts) / "labels.jsonl"  # where the viewer keeps them
        if not beside.is_file():
            raise UsageError(
                "there is nothing to compare the verdicts with",
                hint="Name --truth (of 'syncaudit inject') or --labels (of 'syncaudit view').",
            )
        labels = str(beside)
    found = evaluate_run(verdicts, truth=truth, labels=labels, originals=originals, partial=partial)
    if as_json:
        typer.echo(json.dumps(found.to_json(), indent=2, ensure_ascii=False))
    else:
        print_evaluation(stdout(), found)
    raise typer.Exit(ExitCode.NOTHING_VERIFIED if found.is_void else ExitCode.DONE)
