"""`syncaudit calibrate`: all clocks of a recording from its flashes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from syncaudit.cli.options import Force, Root


def calibrate(
    recording: Annotated[
        str,
        typer.Argument(help="Manifest, or a folder with one or with videos and their timestamps."),
    ],
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="FILE", help="File for the calibration (JSON)."),
    ],
    plots: Annotated[
        Path | None,
        typer.Option("--plots", help="Folder for plots (PNG); needs the extra [plots]."),
    ] = None,
    clip: Annotated[
        str | None, typer.Option("--clip", "-c", help="clip_id, if there are several.")
    ] = None,
    reference: Annotated[
        str | None,
        typer.Option("--reference", "-r", help="Source whose timestamps are reference time."),
    ] = None,
    max_offset: Annotated[
        float, typer.Option("--max-offset", min=0.1, help="Largest offset searched for, seconds.")
    ] = 30.0,
    root: Root = None,
    force: Force = False,
) -> None:
    """Calibrate cameras, IMU, CAN, triggers and sound by the flashes that they noticed.

    Let a lamp flash irregularly before the cameras ('syncaudit flash-plan' says how) and record
    30 s or more. Each flash is timed to some microseconds by the rows that it lights; which flash
    is which is found by itself, and every clock's offset and drift, every camera's line delay
    and exposure are solved for at once.

    **Examples**

    - `syncaudit calibrate flashes/ --out calibration.json --plots plots/`

    - `syncaudit validate drive.jsonl --out out/ --calibration calibration.json`

    **Exit codes**: 0 every source calibrated · 1 some could not be · 2 wrong usage ·
    4 nothing could be calibrated, and no file was written.
    """
    from syncaudit.batch.outputs import write_json
    from syncaudit.cli.console import stderr, stdout, warn
    from syncaudit.cli.exit_codes import ExitCode
    from syncaudit.cli.rooted import roots_of, tell_outside
    from syncaudit.errors import UsageError, require_matplotlib
    from syncaudit.readers.access import within_roots
    from syncaudit.writing import Signature, check_target
    from syncaudit_calibration.calibrate_recording import calibrate_recording
    from syncaudit_calibration.calibration_table import print_calibration, print_refusal
    from syncaudit_calibration.errors import CalibrationError
    from syncaudit_calibration.recording import find_recording

    if plots is not None:
        require_matplotlib()
    if out.is_dir():
        raise UsageError(f"{out} is a folder", hint="Name a file: --out calibration.json.")
    check_target(out, Signature.CALIBRATION, is_forced=force)
    chosen = find_recording(recording, clip)
    console = stdout()
    roots = roots_of(recording, root)
    if (warning := tell_outside([chosen], roots)) is not None:
        warn(warning)
    try:
        with (
            stderr().status(f"looking for flashes in {len(chosen.sources)} sources ..."),
            within_roots(roots),
        ):
            found = calibrate_recording(chosen, reference=reference, max_offset_s=max_offset)
    except CalibrationError as error:
        print_refusal(console, chosen, error)
        raise typer.Exit(ExitCode.NOTHING_VERIFIED) from error
    write_json(found.calibration.to_json(), out)
    print_calibration(console, found)
    console.print(f"\nwritten: {out}", soft_wrap=True)
    if plots is not None:
        from syncaudit_calibration.plots import plot_calibration

        with stderr().status("drawing ..."):
            for path in plot_calibration(found, plots, force=force):
                console.print(f"         {path}", soft_wrap=True)
    is_whole = all(name in found.calibration.sources for name in chosen.sources)
    raise typer.Exit(ExitCode.DONE if is_whole else ExitCode.REJECTED)
