"""`syncaudit flash-plan`: plan flashes, their visibility to cameras and the expected accuracy."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from syncaudit.cli.options import Force
from syncaudit.errors import UsageError
from syncaudit.writing import Signature, check_target, replace_text

if TYPE_CHECKING:
    from syncaudit_calibration.plan import Accuracy, PlannedCamera, PulseTrain

_TRAIN = {"train.csv": Signature.TRAIN, "flash_train.ino": Signature.PLAN}
_SCREEN = {"sync_video.csv": Signature.TRAIN, "sync_video.mp4": Signature.PLAN}
_DURATION_BOUNDS_S = (10.0, 600.0)
# Durations as users write them: 25ms, 0.025, 25000us.
_DURATION = re.compile(r"(\d+\.?\d*|\.\d+)(?:e([+-]?\d+))?\s*(s|ms|us|µs|μs|ns)?", re.IGNORECASE)
_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ns": 1e-9}
_MAX_RATE_HZ = 1000


def flash_plan(
    recording: Annotated[
        str | None,
        typer.Argument(
            help="Manifest or folder of an earlier recording that describes the cameras."
        ),
    ] = None,
    clip: Annotated[
        str | None, typer.Option("--clip", "-c", help="clip_id, if the recording has several.")
    ] = None,
    fps: Annotated[
        str | None,
        typer.Option("--fps", help="Frames per second; several like 12,30.", metavar="HZ"),
    ] = None,
    readout: Annotated[
        str | None,
        typer.Option(
            "--readout", help="First row to last, like 25ms; 0: global shutter.", metavar="TIME"
        ),
    ] = None,
    exposure: Annotated[
        str | None,
        typer.Option("--exposure", help="Of each row, like 8ms or 0.008.", metavar="TIME"),
    ] = None,
    light: Annotated[
        str, typer.Option("--light", help="Light source: led, speedlight, torch or screen.")
    ] = "led",
    cameras: Annotated[
        int | None,
        typer.Option(
            "--cameras", "-n", min=2, help="Number of cameras; the lists above repeat in turn."
        ),
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
    seed: Annotated[
        int,
        typer.Option(
            "--seed", min=0, help="Seed of the train; the same seed gives the same train."
        ),
    ] = 0,
    force: Force = False,
) -> None:
    """Plan the flashes that calibrate a rig, before it is recorded.

    Tells which pulses to use of the light that you have, what share of them each camera will see,
    and the accuracy to expect, as an estimate. For an LED the folder gets train.csv,
    flash_train.ino (for an Arduino with an LED on pin 9) and sync_video.mp4 with its
    sync_video.csv: flashes and clicks for a phone or laptop, for people without hardware; for a
    screen the latter two; a speedlight and a torch are fired by hand. Screens light line by line
    and their sound is late: let all cameras see what the screen lights, not the screen.

    Times without a unit are seconds.

    **Examples**

    - `syncaudit flash-plan --fps 12 --readout 25ms --exposure 8ms --cameras 6 --out plan/`

    - `syncaudit flash-plan drive.jsonl --light torch`  the cameras as the manifest states them

    - `syncaudit flash-plan --fps 20 --readout 0 --exposure 5ms`  global shutters
    """
    import numpy as np

    from syncaudit.cli.console import stderr, stdout
    from syncaudit.errors import nearest_name
    from syncaudit_calibration.plan import LightKind, plan_of, safety_note
    from syncaudit_calibration.plan.tables import plan_table, view_table

    try:
        kind = LightKind(light)
    except ValueError:
        raise UsageError(
            f"--light '{light}' is no light source", hint=nearest_name(light, list(LightKind))
        ) from None
    rig = _rig(recording, clip, fps, readout, exposure, cameras)
    duration_s = _recording_s(duration)
    is_video = kind is LightKind.SCREEN or (video and kind is LightKind.LED)
    wanted = (_TRAIN if kind is LightKind.LED else {}) | (_SCREEN if is_video else {})
    if out is not None and not wanted:
        raise UsageError(f"a {kind} is fired by hand: nothing to write to --out {out}")
    if out is not None and out.exists() and not out.is_dir():
        raise UsageError(f"--out {out} is a file, expected a folder")
    if out is not None:
        for name, signature in wanted.items():
            check_target(out / name, signature, is_forced=force)
    rng = np.random.default_rng(seed)
    plan = plan_of(kind, rig, duration_s=duration_s, rng=rng)

    console = stdout()
    console.print(plan_table(rig, plan, kind))
    console.print()
    console.print(view_table(rig, plan))
    for sentence in plan.advice:
        console.print(f"\n[yellow]![/] {sentence}")
    console.print(f"\n[bold]Safety.[/] {safety_note(plan.train)}")
    if out is None:
        return
    out.mkdir(parents=True, exist_ok=True)
    written = _write_train(plan.train, out) if kind is LightKind.LED else []
    if is_video:
        is_led = kind is LightKind.LED
        screen = plan_of(LightKind.SCREEN, rig, duration_s=duration_s, rng=rng) if is_led else plan
        with stderr().status("writing the sync video ..."):
            written += _write_video(screen.train, screen.expected, out)
    console.print()
    for path, words in written:
        console.print(f"{path}  {words}", soft_wrap=True)


def _rig(
    recording: str | None,
    clip: str | None,
    fps: str | None,
    readout: str | None,
    exposure: str | None,
    n_cameras: int | None,
) -> tuple[PlannedCamera, ...]:
    from syncaudit_calibration.plan.cameras import planned_cameras, recorded_cameras
    from syncaudit_calibration.recording import find_recording

    rates = parse_rates(fps, "--fps") if fps else ()
    readouts = parse_durations(readout, "--readout") if readout else ()
    exposures = parse_durations(exposure, "--exposure") if exposure else ()
    if recording is not None:
        if n_cameras is not None:
            raise UsageError("the recording defines its cameras: leave out --cameras")
        return recorded_cameras(find_recording(recording, clip), rates, readouts, exposures)
    if not (rates and readouts and exposures):
        raise UsageError(
            "which cameras? Give a recording, or all of --fps, --readout and --exposure",
            hint="syncaudit flash-plan --fps 12 --readout 25ms --exposure 8ms",
        )
    return planned_cameras(rates, readouts, exposures, n_cameras)


def _recording_s(text: str | None) -> float | None:
    if text is None:
        return None
    values = parse_durations(text, "--duration")
    least_s, most_s = _DURATION_BOUNDS_S
    if len(values) > 1 or not least_s <= values[0] <= most_s:
        raise UsageError(
            f"--duration is '{text}', expected one time from {least_s:g} s to {most_s:g} s"
        )
    return values[0]


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
    from syncaudit.formatting import word_duration
    from syncaudit_calibration.plan.video import write_sync_video

    table, film = (folder / name for name in _SCREEN)
    replace_text(table, screen.to_csv())
    write_sync_video(screen, film)
    words = (
        f"{screen.n} flashes of {word_duration(screen.width_s)} with clicks in "
        f"{screen.duration_s:.0f} s; offsets to about {word_duration(expected.offset_std_s)}"
    )
    return [(film, words), (table, "the times in the video")]


def parse_durations(text: str, option: str) -> tuple[float, ...]:
    """Return the durations of a list like ``25ms,0.015``, in seconds.

    `text`: numbers separated by commas, each with s, ms, us or ns; without a unit, seconds.
    `option`: name of the option, for the error.

    UsageError if a part is not a duration.
    """
    return tuple(_duration(part.strip(), option) for part in text.split(","))


def parse_rates(text: str, option: str) -> tuple[Fraction, ...]:
    """Return the rates of a list like ``12,29.97,30000/1001``, exactly, in Hz.

    `text`: numbers or fractions separated by commas. `option`: name of the option, for the error.

    UsageError if a part is not a frame rate.
    """
    return tuple(_rate(part.strip(), option) for part in text.split(","))


def _duration(text: str, option: str) -> float:
    match = _DURATION.fullmatch(text)
    if match is None:
        raise UsageError(
            f"{option} is '{text}', expected a duration like 25ms, 0.025 (seconds) or 25000us"
        )
    number, exponent, unit = match.groups()
    return float(f"{number}e{exponent or 0}") * _UNITS[(unit or "s").lower()]


def _rate(text: str, option: str) -> Fraction:
    try:
        rate_hz = Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise UsageError(
            f"{option} is '{text}', expected frames per second like 12, 29.97 or 30000/1001"
        ) from None
    if not 0 < rate_hz <= _MAX_RATE_HZ:
        raise UsageError(f"{option} is {text}, expected more than 0 and up to {_MAX_RATE_HZ} Hz")
    return rate_hz.limit_denominator(1001)
