"""`syncaudit validate`: judge every clip of a manifest and split good from bad."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from syncaudit.cli.console import stderr, stdout, warn
from syncaudit.cli.exit_codes import FailOn, code_for
from syncaudit.cli.options import (
    Decoder,
    Details,
    FailOnOption,
    Force,
    MemoryLimit,
    PolicyFile,
    Profile,
    Prune,
    Quiet,
    Root,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from syncaudit.batch import BatchSummary
    from syncaudit.writing import Signature


def validate(
    manifest: Annotated[
        str,
        typer.Argument(
            help="Clip manifest (.jsonl or .parquet, any fsspec URL), its folder, or a data set."
        ),
    ],
    out: Annotated[
        str, typer.Option("--out", "-o", help="Folder or fsspec URL for verdicts and report.")
    ],
    format_name: Annotated[
        str | None,
        typer.Option("--format", help="Format of the data set (see 'manifest'); or auto."),
    ] = None,
    rules: Annotated[
        Path | None,
        typer.Option(help="Naming rules for the data set (TOML or JSON), see 'manifest'."),
    ] = None,
    policy: PolicyFile = None,
    profile: Profile = None,
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers",
            "-j",
            min=0,
            help="Processes, one clip each; default: all cores. 0: audit in this process.",
        ),
    ] = None,
    screen: Annotated[
        bool,
        typer.Option(
            "--screen", help="Check timestamps only, decode nothing: finds rejects, passes no clip."
        ),
    ] = False,
    thorough: Annotated[
        bool,
        typer.Option(
            "--thorough", help="Track every frame of every camera: smaller errors, slower."
        ),
    ] = False,
    decoder: Decoder = "auto",
    calibration: Annotated[
        Path | None, typer.Option(help="Calibration file: known offsets, removed before judging.")
    ] = None,
    fail_on: FailOnOption = FailOn.REJECT,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first N clips.")] = None,
    timeout: Annotated[float, typer.Option(help="Seconds after which a clip is given up.")] = 600.0,
    memory_limit: MemoryLimit = "auto",
    engine: Annotated[
        str, typer.Option(help="Where clips are audited: local, or a Ray cluster.")
    ] = "local",
    address: Annotated[
        str | None, typer.Option(help="Ray cluster: auto, ray://head:10001 ...")
    ] = None,
    shard: Annotated[
        str | None,
        typer.Option(help="Only every N-th clip, from the I-th: I/N. Join with 'merge'."),
    ] = None,
    junit: Annotated[Path | None, typer.Option(help="JUnit XML for CI servers.")] = None,
    sarif: Annotated[Path | None, typer.Option(help="SARIF for code-scanning views.")] = None,
    summary_md: Annotated[
        Path | None, typer.Option(help="Markdown for job pages and comments.")
    ] = None,
    details: Details = False,
    prune: Prune = False,
    force: Force = False,
    root: Root = None,
    quiet: Quiet = False,
) -> None:
    """Judge every clip of a manifest and split good from bad.

    Verdicts are written as they come: a stopped run resumes where it stopped, and a repeated
    run audits only what has changed.

    **Examples**

    - `syncaudit validate manifest.jsonl --out out/`

    - `syncaudit validate s3://bucket/m.parquet --out s3://bucket/audit/ --workers 16`

    - `syncaudit validate manifest.jsonl --out out/ --fail-on never` (exit 0 with rejects)

    - `syncaudit validate manifest.jsonl --out part3/ --shard 3/8` (on one of eight machines)

    - `syncaudit validate manifest.jsonl --out out/ --engine ray --address auto --workers 64`

    - `syncaudit validate manifest.jsonl --out screen/ --screen` (timestamps only: quick)

    - `syncaudit validate manifest.jsonl --out out/ --profile strict --thorough`

    - `syncaudit validate /data/aloha --out out/ --format lerobot --profile vla`

    **Outputs**: report.html, passed.jsonl, rejected.jsonl, unverified.jsonl, verdicts.jsonl,
    verdicts.parquet, recordings.jsonl, summary.json; keep.json for LeRobot.
    """
    from syncaudit.batch import OutputFolder, run_batch
    from syncaudit.cli.inputs import (
        cores,
        import_if_needed,
        load_calibration,
        load_clips,
        load_rules,
        parse_shard,
        refuse_idle,
    )
    from syncaudit.cli.progress import ProgressView
    from syncaudit.cli.rooted import roots_of, tell_outside
    from syncaudit.cli.verdict_table import print_outcome
    from syncaudit.datasets import clip_to_row
    from syncaudit.decode.choice import choose_decoder
    from syncaudit.pipeline import audit
    from syncaudit.policy import load_policy
    from syncaudit.readers.access import within_roots
    from syncaudit.writing import Signature

    limits = load_policy(None if policy is None else str(policy), profile=profile)
    choice = choose_decoder(decoder, is_here=engine == "local")
    part = None if shard is None else parse_shard(shard)
    known = load_calibration(calibration)
    ci_files = {Signature.JUNIT: junit, Signature.SARIF: sarif, Signature.MARKDOWN: summary_md}
    _check_ci_files(ci_files, is_forced=force)
    with OutputFolder(out, force=force) as place:
        named = manifest
        manifest = import_if_needed(
            manifest,
            None if place.is_remote else place.folder,
            format_name=format_name,
            rules=load_rules(rules),
            limit=limit,
            memory_limit=memory_limit,
            is_quiet=quiet,
            force=force,
        )
        clips = load_clips(manifest, limit=limit)
        refuse_idle(known, clips, calibration)
        if part is not None:
            clips = clips[part[0] - 1 :: part[1]]
        # A data set that was just imported is one that the user named.
        trusted = () if manifest == named else (named,)
        roots = roots_of(manifest, root, trusted=trusted)
        if (warning := tell_outside(clips, roots)) is not None:
            warn(warning)
        with ProgressView(stderr(), is_quiet=quiet) as view, within_roots(roots):
            summary = run_batch(
                clips,
                limits,
                out=place.folder,
                workers=cores() if workers is None else workers,
                calibration=known,
                on_progress=place.sending(view),
                to_row=place.to_row(clip_to_row),
                timeout_s=timeout,
                memory_limit=memory_limit,
                about={
                    "manifest": manifest,
                    "calibration": None if known is None else calibration,
                    "shard": None if part is None else {"number": part[0], "count": part[1]},
                    "screen": screen,
                    "thorough": thorough,
                    "decoder": choice.to_json(),
                    "roots": roots.places,
                },
                audit=audit,
                roots=roots,
                settings={"is_screen": True}
                if screen
                else choice.settings | ({"is_thorough": True} if thorough else {}),
                engine=engine,
                address=address,
                prune=prune,
                force=force,
            )
        if choice.took != "cpu" and not quiet and not screen:
            stderr().print(Text(f"Decoder: {choice.took} ({choice.why})", style="dim"))
        _check_ci_files(ci_files, is_forced=force)  # the run itself may have written them
        _write_ci_files(summary, manifest, ci_files)
        if not quiet:
            print_outcome(stdout(), summary, out, is_detailed=details)
    raise typer.Exit(code_for(summary.counts, fail_on=fail_on, stopped=summary.stopped))


def _check_ci_files(files: Mapping[Signature, Path | None], *, is_forced: bool) -> None:
    """Refuse CI report files that syncaudit must not overwrite."""
    from syncaudit.writing import check_target

    for signature, path in files.items():
        if path is not None:
            check_target(path, signature, is_forced=is_forced)


def _write_ci_files(
    summary: BatchSummary, manifest: str, files: Mapping[Signature, Path | None]
) -> None:
    from syncaudit import __version__
    from syncaudit.report import write_junit, write_markdown, write_sarif
    from syncaudit.writing import Signature

    if (junit := files[Signature.JUNIT]) is not None:
        write_junit(summary.verdicts(), summary.counts, junit)
    if (sarif := files[Signature.SARIF]) is not None:
        write_sarif(summary.verdicts(), sarif, version=__version__, manifest=manifest)
    if (markdown := files[Signature.MARKDOWN]) is not None:
        causes, worst = summary.tally.causes.to_view(), summary.tally.worst.clips()
        write_markdown(summary.counts, causes, worst, markdown)
