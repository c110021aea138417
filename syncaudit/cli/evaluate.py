"""`syncaudit evaluate`: measure how often a run errs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from syncaudit.cli.console import stdout
from syncaudit.cli.exit_codes import ExitCode
from syncaudit.cli.options import AsJson, MovedSources, Partial
from syncaudit.errors import UsageError

if TYPE_CHECKING:
    from syncaudit.evaluation.detection import Detection

_DEFAULT = "offset=5,10,20,50,100"
_MOST_NAMED = 12


def evaluate(
    verdicts: Annotated[
        str,
        typer.Argument(help="Output folder of 'validate', or its verdicts.jsonl or .parquet."),
    ],
    truth: Annotated[str | None, typer.Option(help="truth.jsonl of 'syncaudit inject'.")] = None,
    labels: Annotated[
        str | None, typer.Option(help="Label file of 'syncaudit view'; default: that of the run.")
    ] = None,
    originals: Annotated[
        str | None, typer.Option(help="Run over the unmoved clips, if the truth lacks controls.")
    ] = None,
    inject: Annotated[
        list[str] | None,
        typer.Option(
            help=(
                "Errors to inject into what was measured: offset, step, jitter=SIZES in ms, "
                "drift=ppm, lost=frames; default offset=5,10,20,50,100. Repeatable."
            )
        ),
    ] = None,
    variants: Annotated[int, typer.Option(min=1, help="Variants per clip, with --inject.")] = 4,
    sources: MovedSources = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed: another draw of variants.")] = 0,
    partial: Partial = False,
    as_json: AsJson = False,
) -> None:
    """Measure how often a run errs, by injected errors and by people's labels.

    Without --truth, errors are injected into what was measured of the clips that passed: offsets
    take milliseconds; for drifts, steps, jitter and lost frames each clip is decoded once. The
    report shows which errors were found, the size from which at least 95 % are found, and how far
    off the figures are. With --labels: precision and recall of the rejections, and disputed clips.
    Brackets are 95 % intervals.

    Exit code 4: nothing that was injected could be judged.

    **Examples**

    - `syncaudit evaluate out/`

    - `syncaudit evaluate out/ --inject step=20,50 --inject lost=1,2 --sources camera`

    - `syncaudit evaluate trial/out --truth trial/truth.jsonl`

    - `syncaudit evaluate out/ --labels sample.labels.jsonl`
    """
    from syncaudit.cli.evaluation_view import print_evaluation
    from syncaudit.evaluation.evaluate import evaluate_run

    if truth is not None and inject:
        raise UsageError(
            "--truth and --inject both choose the errors",
            hint="Use one of them: --truth for a trial, --inject for a run over clips.",
        )
    beside = Path(verdicts) / "labels.jsonl"  # default location of the viewer
    if truth is None and labels is None and beside.is_file():
        labels = str(beside)
    detection = None
    if inject or (truth is None and labels is None):
        detection = _injected(
            verdicts, inject or [_DEFAULT], variants, sources or (), seed, partial
        )
    found = evaluate_run(
        verdicts,
        truth=truth,
        labels=labels,
        originals=originals,
        partial=partial,
        detection=detection,
    )
    if as_json:
        typer.echo(json.dumps(found.to_json(), indent=2, ensure_ascii=False))
    else:
        print_evaluation(stdout(), found)
    raise typer.Exit(ExitCode.NOTHING_VERIFIED if found.is_void else ExitCode.DONE)


def _injected(
    run: str, words: Sequence[str], number: int, patterns: Sequence[str], seed: int, partial: bool
) -> Detection:
    """Evaluate the policy of a run on variants of the clips that passed.

    UsageError if none of them can be moved.
    """
    import numpy as np

    from syncaudit.cli.judged import outputs_of
    from syncaudit.evaluation.change import parse_changes
    from syncaudit.evaluation.detection import detect
    from syncaudit.evaluation.variants import Judging, good_clips, make_variants
    from syncaudit.policy import policy_from_plain

    changes = parse_changes(words)
    with outputs_of(run, partial=partial) as (clips, known):
        policy = policy_from_plain(
            json.loads(known.path.with_name("summary.json").read_bytes())["policy"]
        )
        judging = Judging(
            make_variants(
                good_clips(clips, known),
                changes,
                np.random.default_rng(seed),
                n_variants=number,
                policy=policy,
                patterns=patterns,
            )
        )
        names = sorted({name for clip in clips for name in clip.sources})[:_MOST_NAMED]
    if all(row.is_control for row in judging.truth):
        raise UsageError(
            "no clip that passed has a source that can be moved",
            path=run,
            hint=f"--sources takes kinds and names; the clips hold {', '.join(names)}."
            if patterns
            else "Name --truth (of 'syncaudit inject') or --labels (of 'syncaudit view').",
        )
    return detect(judging.truth, judging.by(policy), {})
