"""`syncaudit view`: the timeline viewer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from syncaudit.cli.options import Root


def view(
    clip_or_manifest: Annotated[
        str | None,
        typer.Argument(
            help="Manifest, data set or output folder of a run; default: the start page."
        ),
    ] = None,
    clip: Annotated[str | None, typer.Option("--clip", "-c", help="clip_id to open.")] = None,
    rules: Annotated[
        Path | None, typer.Option(help="Naming rules for the data set, as for 'manifest'.")
    ] = None,
    verdicts: Annotated[
        Path | None, typer.Option(help="Output folder of 'validate' for the manifest.")
    ] = None,
    labels: Annotated[
        Path | None, typer.Option(help="Label file; default: beside what is opened.")
    ] = None,
    at: Annotated[float | None, typer.Option(help="Cursor position, seconds.", metavar="T")] = None,
    span: Annotated[
        float | None, typer.Option(help="Span shown, seconds.", metavar="S", min=0.001)
    ] = None,
    source: Annotated[str | None, typer.Option(help="Source to select.")] = None,
    corrected: Annotated[
        bool, typer.Option("--corrected", help="Draw corrected clocks, with the raw ones dotted.")
    ] = False,
    blind: Annotated[
        bool, typer.Option("--blind", help="Hide verdicts until their clips are labelled.")
    ] = False,
    audit: Annotated[
        bool, typer.Option("--audit/--no-audit", help="Audit clips that have no verdict.")
    ] = True,
    policy: Annotated[Path | None, typer.Option(help="Policy file (TOML) of the audits.")] = None,
    profile: Annotated[str | None, typer.Option(help="Policy profile of the audits.")] = None,
    theme: Annotated[
        Literal["dark", "light"] | None, typer.Option(help="Default: as last used.")
    ] = None,
    shot: Annotated[Path | None, typer.Option(help="Save the window to this PNG and exit.")] = None,
    size: Annotated[
        str, typer.Option(help="Size of the image, with @2 for twice the pixels.")
    ] = "1440x900",
    root: Root = None,
) -> None:
    """Open clips in the timeline viewer: streams, offsets and the evidence behind them.

    Frames, motion, bus, sound and words of a clip over one time axis, with offsets, evidence,
    before and after. Press ? for all keys. Labels are kept beside what was opened.

    **Examples**

    - `syncaudit view sample_data/manifest.jsonl --clip cam_rear_early`

    - `syncaudit view out/`  the clips of a run, to look through and label

    - `syncaudit view out/ --clip cam_rear_early --at 8 --span 2 --shot cam_rear.png`
    """
    _check_qt()
    from syncaudit.cli.inputs import load_rules
    from syncaudit.cli.rooted import roots_of
    from syncaudit.policy import load_policy
    from syncaudit.readers.access import hold_process_to
    from syncaudit_gui.window.application import Start, run_viewer
    from syncaudit_gui.window.shot import parse_size, take_shot

    if root:
        hold_process_to(roots_of("", root))
    start = Start(
        source=clip_or_manifest,
        rules=load_rules(rules),
        clip_id=clip,
        verdicts=verdicts,
        labels=labels,
        at_s=at,
        span_s=span,
        selected=source,
        is_corrected=corrected,
        is_blind=blind,
        is_auditing=audit,
        policy=load_policy(None if policy is None else str(policy), profile=profile),
        theme=theme,
    )
    if shot is None:
        raise typer.Exit(run_viewer(start))
    take_shot(start, shot, *parse_size(size))
    typer.echo(str(shot))


def _check_qt() -> None:
    """Report what to install if Qt is missing or cannot be loaded."""
    from syncaudit.errors import MissingExtraError, UsageError

    try:
        import PyQt6.QtWidgets  # noqa: F401
        import pyqtgraph.Qt  # noqa: F401
    except ModuleNotFoundError as error:
        raise MissingExtraError(error.name or "PyQt6", extra="gui", purpose="the viewer") from error
    except ImportError as error:
        raise UsageError(
            f"Qt cannot be loaded: {error}",
            hint="On Debian: sudo apt install libgl1 libegl1 libxkbcommon0 libdbus-1-3 "
            "libfontconfig1 libglib2.0-0",
        ) from error
