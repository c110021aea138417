"""`syncaudit flash-plan`: which flashes to make, what cameras will see, how well it will tell."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from syncaudit.cli.options import Force
from syncaudit.errors import UsageError
from syncaudit.writing import Signature, check_target, replace_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from syncaudit_calibration.plan import Accuracy, PlannedCamera, PulseTrain, Visibility

__all__ = ["flash_plan"]

_TRAIN = {"train.csv": Signature.TRAIN, "flash_train.ino": Signature.PLAN}
_SCREEN = {"sync_video.csv": Signature.TRAIN, "sync_video.mp4": Signature.PLAN}
_DURATION_BOUNDS_S = (10.0, 600.0)


def flash_plan(
    fps: Annotated[
        str, typer.Option("--fps", help="Frames per second; several like 12,30.", metavar="HZ")
    ],
    readout: Annotated[
        str,
        typer.Option(
            "--readout", help="First row to last, like 25ms; 0: global shutter.", metavar="TIME"
        ),
    ],
    exposure: Annotated[
        str, typer.Option("--exposure", help="Of each row, like 8ms or 0.008.", metavar="TIME")
    ],
    cameras: Annotated[
        int | None,
        typer.Option("--cameras", "-n", min=2, help="How many; lists above are dealt out in turn."),
    ] = None,
    duration: Annotated[
        str | None,
        typer.Option("--duration", help="Recording, like 60s; default: as needed.", metavar="TIME"),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Folder for the train, Arduino code and sync video."),
    ] = None,
    video: Annotated[
        bool, typer.Option("--video/--no-video", help="Whether to write the sync video.")
    ] = True,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Same seed, same train.")] = 0,
    force: Force = False,
) -> None:
    """Plan the flashes that calibrate a rig, before it is recorded.

    Tells which pulses to use, what share of them each camera will see, and the accuracy to expect.
    The folder gets train.csv, flash_train.ino (for an Arduino with an LED on pin 9) and
    sync_video.mp4 with its sync_video.csv: flashes and clicks for a phone or laptop, for people
    without hardware. Screens light line by line and their sound is late: expect milliseconds of a
    sync video, hundredths of a millisecond of an LED.

    Times without a unit are seconds.

    **Examples**

    - `syncaudit flash-plan --fps 12 --readout 25ms --exposure 8ms --cameras 6 --out plan/`

    - `syncaudit flash-plan --fps 12,30 --readout 25ms,0.015 --exposure 8000us`

    - `syncaudit flash-plan --fps 20 --readout 0 --exposure 5ms`  global shutters
    """
    import numpy as np

    from syncaudit.cli.console import stderr, stdout
    from syncaudit_calibration.plan import (
        advice,
        choose_screen_train,
        choose_train,
        expected_accuracy,
        planned_cameras,
        safety_note,
        visibility,
    )
    from syncaudit_calibration.plan.durations import parse_durations, parse_rates

    rig = planned_cameras(
        parse_rates(fps, "--fps"),
        parse_durations(readout, "--readout"),
        parse_durations(exposure, "--exposure"),
        cameras,
    )
    duration_s = _duration(duration)
    if out is not None and out.exists() and not out.is_dir():
        raise UsageError(f"--out {out} is a file, expected a folder")
    if out is not None:
        for name, kind in (_TRAIN | (_SCREEN if video else {})).items():
            check_target(out / name, kind, is_forced=force)
    rng = np.random.default_rng(seed)
    train = choose_train(rig, duration_s=duration_s, rng=rng)
    seen = visibility(rig, train, rng=rng)
    expected = expected_accuracy(rig, train, n_shared=seen.fewest_shared, rng=rng)

    console = stdout()
    console.print(_plan_table(rig, train, seen, expected))
    console.print()
    console.print(_view_table(rig, seen))
    for sentence in advice(rig, train, seen, expected):
        console.print(f"\n[yellow]![/] {sentence}")
    console.print(f"\n[bold]Safety.[/] {safety_note(train)}")
    if out is None:
        return
    out.mkdir(parents=True, exist_ok=True)
    written = _write_train(train, out)
    if video:
        screen = choose_screen_train(rig, duration_s=duration_s, rng=rng)
        on_screen = expected_accuracy(
            rig,
            screen,
            n_shared=visibility(rig, screen, rng=rng).fewest_shared,
            rng=rng,
            is_screen=True,
        )
        with stderr().status("writing the sync video ..."):
            written += _write_video(screen, on_screen, out)
    console.print()
    for path, words in written:
        console.print(f"{path}  {words}", soft_wrap=True)


def _duration(text: str | None) -> float | None:
    if text is None:
        return None
    from syncaudit_calibration.plan.durations import parse_durations

    values = parse_durations(text, "--duration")
    least_s, most_s = _DURATION_BOUNDS_S
    if len(values) > 1 or not least_s <= values[0] <= most_s:
        raise UsageError(
            f"--duration is '{text}', expected one time from {least_s:g} s to {most_s:g} s"
        )
    return values[0]


def _plan_table(
    rig: Sequence[PlannedCamera], train: PulseTrain, seen: Visibility, expected: Accuracy
) -> Table:
    from rich.table import Table

    from syncaudit.model.wording import word_duration
    from syncaudit_calibration.plan.accuracy import line_delay_std, unobservable

    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    width = word_duration(train.width_s)
    period = word_duration(max(camera.period_s for camera in rig))
    is_global = any(camera.is_global for camera in rig)
    if is_global:
        pulses = f"light on for {width}, {train.n} times, at random instants (global shutter)"
    elif train.n_per_burst == 1:
        pulses = f"{train.n} single pulses of {width}"
    else:
        pulses = (
            f"{train.n} pulses of {width}, in bursts of {train.n_per_burst} that share out one "
            f"frame period ({period}) unevenly"
        )
    table.add_row("pulses", pulses)
    table.add_row("gaps", _gaps(train))
    table.add_row(
        "cannot alias",
        f"shifted against itself, the train meets at most {train.runner_up:.0%} of its own pulses",
    )
    table.add_row(
        "recording",
        f"{train.duration_s:.0f} s; cameras run before the train starts, and until it has ended",
    )
    table.add_row("lamp", _lamp(rig, train))
    table.add_row(
        "shared",
        f"two cameras both see {seen.fewest_shared:.0f} flashes"
        + (f"; all {len(rig)} together {seen.shared_by_all:.1f}" if len(rig) > 2 else "")
        + " (mean over the phases of frames)",
    )
    table.add_row(
        "tied",
        f"all cameras, directly or through others, for {seen.share_tied:.0%} of the phases; "
        f"{seen.share_of_pairs_apart:.0%} of the pairs share too few by themselves",
    )
    edge = "frame" if is_global else "flash"
    table.add_row(f"one {edge}", f"dated to {word_duration(expected.flash_std_s)}")
    table.add_row(
        "offset",
        f"to {word_duration(expected.offset_std_s)} between the cameras that share least; to "
        f"{word_duration(expected.triggered_offset_std_s)} against a logged trigger",
    )
    table.add_row("drift", f"to {expected.drift_std_ppm:.1f} ppm over the recording")
    rolling = [camera for camera in rig if not camera.is_global]
    if rolling:
        blind = unobservable(rig, train)
        share = max(line_delay_std(camera, n_shared=seen.fewest_shared) for camera in rolling)
        table.add_row(
            "line delay",
            f"not observable in {len(blind)} of {len(rig)} cameras, see below"
            if blind
            else f"to {share:.2%} of itself where it is not stated",
        )
    return table


def _gaps(train: PulseTrain) -> str:
    import numpy as np

    from syncaudit.model.wording import word_duration

    gaps_s = np.diff(train.starts_s)
    is_inner = np.arange(1, train.n) % train.n_per_burst != 0
    parts = []
    for words, some in (("within a burst", gaps_s[is_inner]), ("", gaps_s[~is_inner])):
        if some.size:
            where = words or ("from burst to burst" if is_inner.any() else "from start to start")
            parts.append(f"{word_duration(some.min())} to {word_duration(some.max())} {where}")
    return "irregular, " + ", ".join(parts)


def _lamp(rig: Sequence[PlannedCamera], train: PulseTrain) -> str:
    """Return how bright the lamp must be: a flash should add 15 % to the light of a row."""
    longest = max(rig, key=lambda camera: camera.exposure_s)
    factor = 0.15 * longest.exposure_s / min(train.width_s, longest.exposure_s)
    return (
        f"while on, {factor:.2g} times as bright on the scene as all other light: each flash then "
        "adds 15 % to a picture; not so bright that it clips"
    )


def _view_table(rig: Sequence[PlannedCamera], seen: Visibility) -> Table:
    from rich.table import Table

    from syncaudit.model.wording import word_duration

    table = Table(box=None, pad_edge=False)
    for name in ("cameras", "frames", "read-out", "exposure"):
        table.add_column(name, no_wrap=True, justify="right")
    for name in ("see of all flashes", "by formula", "of all bursts", "both edges"):
        table.add_column(name, justify="right")
    for camera in dict.fromkeys(rig):
        view = seen.views[rig.index(camera)]
        table.add_row(
            str(sum(other == camera for other in rig)),
            f"{float(camera.rate_hz):g} Hz",
            "global" if camera.is_global else word_duration(camera.readout_s),
            word_duration(camera.exposure_s),
            f"{100 * view.share_seen:.0f} ± {100 * view.share_seen_std:.0f} %",
            f"{view.share_by_formula:.0%}",
            f"{view.share_of_bursts:.0%}",
            f"{view.share_with_both_edges:.0%}",
        )
    return table


def _write_train(train: PulseTrain, folder: Path) -> list[tuple[Path, str]]:
    from syncaudit_calibration.plan.arduino import arduino_code

    table, sketch = (folder / name for name in _TRAIN)
    replace_text(table, train.to_csv())
    replace_text(sketch, arduino_code(train))
    return [
        (table, f"{train.n} pulses: start_s, width_s"),
        (sketch, "for an Arduino: LED on pin 9, trigger output on pin 8"),
    ]


def _write_video(screen: PulseTrain, expected: Accuracy, folder: Path) -> list[tuple[Path, str]]:
    from syncaudit.model.wording import word_duration
    from syncaudit_calibration.plan.video import write_sync_video

    table, film = (folder / name for name in _SCREEN)
    replace_text(table, screen.to_csv())
    write_sync_video(screen, film)
    words = (
        f"{screen.n} flashes of {word_duration(screen.width_s)} with clicks in "
        f"{screen.duration_s:.0f} s; offsets to about {word_duration(expected.offset_std_s)}"
    )
    return [(film, words), (table, "the instants in the video")]
