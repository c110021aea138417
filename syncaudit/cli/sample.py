"""`syncaudit sample` and `sample-speech`: draw clips and utterances for a person to label."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from syncaudit.cli.console import printable, stdout
from syncaudit.cli.exit_codes import ExitCode
from syncaudit.cli.options import Force, Partial, Verdicts
from syncaudit.errors import UsageError
from syncaudit.formatting import word_count


def sample(
    verdicts: Verdicts,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="Manifest to write (.jsonl).")
    ],
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
    from syncaudit.cli.judged import outputs_of
    from syncaudit.datasets import clip_to_row, write_manifest
    from syncaudit.evaluation.sampling import balanced_sample, weekly_sample
    from syncaudit.model import Verdict
    from syncaudit.readers.access import is_url
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
    with outputs_of(verdicts, partial=partial) as (clips, known):
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


def sample_speech(
    manifest: Annotated[
        str,
        typer.Argument(help="Clip manifest (.jsonl or .parquet, any fsspec URL), or its folder."),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for speech.html.")],
    n: Annotated[int, typer.Option("-n", "--number", min=1, max=500, help="Utterances.")] = 20,
    seed: Annotated[int, typer.Option(min=0, help="Random seed: another sample.")] = 0,
    verdicts: Annotated[
        Path | None, typer.Option(help="Folder of 'validate' (or its verdicts.jsonl) to show.")
    ] = None,
    partial: Partial = False,
    force: Force = False,
) -> None:
    """Draw utterances at random and write a page to view, play and label them.

    The page works offline, in one file. Labels are downloaded from it as JSON lines.

    **Examples**

    - `syncaudit sample-speech manifest.jsonl -n 20 --out check/`

    - `syncaudit sample-speech manifest.jsonl --out check/ --verdicts out/ --seed 7`

    **Exit codes**: 0 done · 1 done, but some sources could not be shown (they are listed) ·
    2 wrong usage or manifest · 4 nothing to show. A clip without a transcript has nothing to show,
    which is no fault.
    """
    import numpy as np

    from syncaudit.cli.inputs import load_clips
    from syncaudit.pipeline.speech_sample import draw_utterances, transcripts_of
    from syncaudit.report import write_speech_sheet
    from syncaudit.writing import Signature, check_target

    clips = load_clips(manifest)
    known = None if verdicts is None else _load_verdicts(verdicts, partial=partial)
    drawn, problems = draw_utterances(clips, n, np.random.default_rng(seed), verdicts=known)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise UsageError(
            f"{out} is not a folder", hint="Name a folder that exists or can be made."
        ) from error
    page = out / "speech.html"
    check_target(page, Signature.REPORT, is_forced=force)
    about = f"{manifest} · {len(drawn)} of {n} requested utterances · seed {seed}"
    write_speech_sheet(drawn, page, about=about, problems=problems)
    console = stdout()
    n_clips = len({utterance.clip_id for utterance in drawn})
    sentence = f"{word_count(len(drawn), 'utterance')} of {word_count(n_clips, 'clip')}: {page}"
    console.print(printable(sentence), markup=False, soft_wrap=True)
    if n_silent := sum(not transcripts_of(clip) for clip in clips):
        without = f"{word_count(n_silent, 'clip')} of {len(clips)} without a transcript"
        console.print(printable(without), markup=False, soft_wrap=True)
    for problem in problems:
        console.print(printable(f"not shown: {problem}"), markup=False, soft_wrap=True)
    if not drawn:
        raise typer.Exit(ExitCode.NOTHING_VERIFIED)
    raise typer.Exit(ExitCode.REJECTED if problems else ExitCode.DONE)


def _load_verdicts(path: Path, *, partial: bool) -> Mapping[str, Mapping[str, Any]]:
    from syncaudit.readers.runs import FoundVerdicts, finished_run  # heavy

    file = path / "verdicts.jsonl" if path.is_dir() else path
    rows: dict[str, Mapping[str, Any]] = {}
    try:
        with file.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                row = json.loads(line)
                if not isinstance(row, dict) or not isinstance(row.get("sources"), dict):
                    raise UsageError(
                        f"line {number} is not a verdict",
                        path=str(file),
                        hint="Expected verdicts.jsonl of 'syncaudit validate'.",
                    )
                rows[str(row.get("clip_id"))] = row
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", path=str(file)) from error
    except ValueError as error:
        raise UsageError(f"is not a JSON Lines file: {error}", path=str(file)) from error
    if not partial:
        pairs = ((clip_id, str(row.get("verdict"))) for clip_id, row in rows.items())
        finished_run(str(file)).check(FoundVerdicts(pairs), str(file))
    return rows
