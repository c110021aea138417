"""`syncaudit inspect`: show one clip in depth."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from syncaudit.cli.console import stdout, warn
from syncaudit.cli.exit_codes import code_for
from syncaudit.cli.options import AsJson, Decoder, Force, PolicyFile, Profile, Root
from syncaudit.errors import ClipInputError


def inspect(
    clip_or_manifest: Annotated[
        str, typer.Argument(help="Manifest file or its folder; with several clips add --clip.")
    ],
    clip: Annotated[str | None, typer.Option("--clip", "-c", help="clip_id to look at.")] = None,
    policy: PolicyFile = None,
    profile: Profile = None,
    calibration: Annotated[
        Path | None, typer.Option(help="Calibration file: known offsets, removed first.")
    ] = None,
    decoder: Decoder = "auto",
    root: Root = None,
    as_json: AsJson = False,
    mcap: Annotated[
        Path | None, typer.Option(help="Also write findings and corrections to open in Foxglove.")
    ] = None,
    rerun: Annotated[
        Path | None, typer.Option(help="The same as a recording of Rerun (.rrd).")
    ] = None,
    force: Force = False,
) -> None:
    """Show one clip in depth: stamps, measurements, clocks, loops and the verdict.

    Every measurement is listed, also those that were refused, with the reason. `--mcap` and
    `--rerun` write what was found over time, at the timestamps as reported: open the file beside
    the recording.

    **Examples**

    - `syncaudit inspect sample_data/manifest.jsonl --clip good`

    - `syncaudit inspect manifest.jsonl --clip drive07/000123 --json | jq .verdict`

    - `syncaudit inspect sample_data/manifest.jsonl --clip clock_step --mcap found.mcap`
    """
    from syncaudit.batch.json_encoding import to_plain
    from syncaudit.batch.task import failed_verdict
    from syncaudit.cli.clip_view import print_examination, print_failed
    from syncaudit.cli.inputs import load_calibration, load_clips, pick_clip, refuse_idle
    from syncaudit.cli.rooted import roots_of, tell_outside
    from syncaudit.decode.choice import choose_decoder
    from syncaudit.model import ReasonCode, Verdict
    from syncaudit.pipeline import examine
    from syncaudit.policy import load_policy
    from syncaudit.readers.access import within_roots
    from syncaudit.report.overlay import overlay_of, write_mcap, write_rerun
    from syncaudit.writing import Signature, check_target

    for path, signature in ((mcap, Signature.MCAP), (rerun, Signature.RERUN)):
        if path is not None:
            check_target(path, signature, is_forced=force)
    choice = choose_decoder(decoder)
    rules = load_policy(None if policy is None else str(policy), profile=profile)
    chosen = pick_clip(load_clips(clip_or_manifest), clip)
    known = load_calibration(calibration)
    refuse_idle(known, [chosen], calibration)
    roots = roots_of(clip_or_manifest, root)
    if (warning := tell_outside([chosen], roots)) is not None:
        warn(warning)
    content: dict[str, object]
    try:
        with within_roots(roots):
            examination = examine(chosen, rules, calibration=known, decoder=choice.took)
    except ClipInputError as error:
        verdict = failed_verdict(chosen, ReasonCode(error.code), str(error), source=error.source)
        content = verdict.to_json()
        if not as_json:
            print_failed(stdout(), verdict)
    else:
        verdict = examination.verdict
        content = {
            **verdict.to_json(),
            "solution": examination.solution,
            "stamps": {
                name: {**audit.to_json(), "warnings": audit.warnings}
                for name, audit in examination.stamps.items()
            },
        }
        if not as_json:
            print_examination(stdout(), examination)
        overlay = overlay_of(verdict, examination.solution, examination.streams)
        for path, write in ((mcap, write_mcap), (rerun, write_rerun)):
            if path is not None:
                write(overlay, path)
    if as_json:
        content["decoder"] = choice.to_json()
        typer.echo(json.dumps(to_plain(content), indent=2, ensure_ascii=False, allow_nan=False))
    counts = {str(each): int(each is verdict.verdict) for each in Verdict}
    raise typer.Exit(code_for(counts))
