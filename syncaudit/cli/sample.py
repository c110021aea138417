"""`syncaudit sample`: draw clips for a person to label."""

from __future__ import annotations

import shlex
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from syncaudit.cli.console import stdout
from syncaudit.cli.options import Force, Partial, Verdicts
from syncaudit.errors import UsageError


def sample(
    verdicts: Verdicts,
    out: Annotated[Path, typer.Option("--out", "-o", help="Manifest to write (.jsonl).")],
    number: Annotated[int, typer.Option("--number", "-n", min=1, help="Clips to draw.")] = 60,
    weekly: Annotated[
        bool, typer.Option("--weekly", help="Draw that many from every week (UTC) of recording.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Random seed: another draw.")] = 0,
    partial: Partial = False,
    force: Force = False,
) -> None:
    """Draw clips at random for a person to label, the same number of each verdict.

    They come in random order, and are looked at with the verdict hidden. `syncaudit evaluate
    --labels` compares the verdicts with the labels. With --weekly, the sample of a complete week
    stays the same when drawn again, and keeps its labels.

    **Example**: `syncaudit sample out/ --number 60 --out sample.jsonl`
    """
    from syncaudit.cli.judged import load_outputs
    from syncaudit.datasets import clip_to_row, write_manifest
    from syncaudit.evaluation.sampling import balanced_sample, weekly_sample
    from syncaudit.model import Verdict
    from syncaudit.readers.remote import is_url
    from syncaudit.readers.uris import resolve
    from syncaudit.report.trends import week_of
    from syncaudit.writing import check_target, note_written

    if out.suffix.lower() not in (".jsonl", ".parquet"):
        raise UsageError(
            f"--out is '{out}', expected a manifest", hint="A name that ends in .jsonl."
        )
    is_remote = is_url(resolve(verdicts))
    if out.exists() and not is_remote and out.resolve().parent == Path(verdicts).resolve():
        raise UsageError("is a file of the run", path=str(out), hint="Name another file.")
    check_target(out, is_forced=force)
    with TemporaryDirectory(prefix="syncaudit-") as scratch:
        clips, known = load_outputs(verdicts, Path(scratch), partial=partial)
        judged = {clip_id: Verdict(known.entry(clip_id).verdict) for clip_id in known.clip_ids}
        places = {clip_id: k for k, clip_id in enumerate(judged)}
        if weekly:
            weeks = {clip_id: week_of(known.verdict(clip_id).middle_ns) for clip_id in judged}
            drawn = weekly_sample(judged, weeks, number, seed)
        else:
            drawn = balanced_sample(judged, number, seed)
        folder = str(out.absolute().parent)
        rows = (clip_to_row(clips[places[clip_id]], relative_to=folder) for clip_id in drawn)
        write_manifest(rows, out)
        note_written(out)
    counts = Counter(judged[clip_id] for clip_id in drawn)
    labels = out.with_name(f"{out.stem}.labels.jsonl")
    # The viewer takes verdicts from a local folder; without one it has none to hide.
    shown = "--no-audit" if is_remote else f"--verdicts {shlex.quote(verdicts)} --blind"
    lines = [
        f"{len(drawn)} clips of {len(judged)}: "
        + ", ".join(f"{counts[verdict]} {verdict}" for verdict in Verdict),
        f"Label them: syncaudit view {shlex.quote(str(out))} {shown}",
        f"Then: syncaudit evaluate {shlex.quote(verdicts)} --labels {shlex.quote(str(labels))}",
    ]
    for line in lines:
        stdout().print(line, markup=False, soft_wrap=True)
