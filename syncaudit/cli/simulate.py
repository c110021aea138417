"""`syncaudit simulate`: create recordings with known truth."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from syncaudit.cli.console import stderr, stdout
from syncaudit.cli.options import Force
from syncaudit.errors import UsageError, nearest_name

if TYPE_CHECKING:
    from syncaudit.simulate import RigConfig


def simulate(
    scenario: Annotated[
        str | None, typer.Argument(help="Which clip to make; see --list.", show_default=False)
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder for the clips.", show_default=False)
    ] = None,
    list_scenarios: Annotated[bool, typer.Option("--list", help="List the scenarios.")] = False,
    clips: Annotated[
        int, typer.Option("--clips", "-n", min=1, help="Clips to make, each with its own seed.")
    ] = 1,
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same clips.")] = 0,
    duration: Annotated[
        float | None,
        typer.Option(help="Seconds per clip; default: that of the scenario.", show_default=False),
    ] = None,
    size: Annotated[
        str | None, typer.Option(help="Frame size, like 320x192.", show_default=False)
    ] = None,
    cameras: Annotated[
        str | None, typer.Option(help="Only these, like cam_front,cam_rear.", show_default=False)
    ] = None,
    force: Force = False,
) -> None:
    """Make recordings of a simulated car whose true clocks are known.

    The folder gets a manifest, the clips, and truth.json with the offset, drift and faults of
    every clock, to compare with the verdicts.

    **Examples**

    - `syncaudit simulate --list`

    - `syncaudit simulate shifted_camera --out sim/ --seed 7`

    - `syncaudit simulate good --out sim/ --clips 3 --duration 12 --size 320x192`
    """
    if list_scenarios:
        _print_scenarios()
        return
    if scenario is None:
        raise UsageError("no scenario is named", hint="See 'syncaudit simulate --list'.")
    if out is None:
        raise UsageError("no output folder is named", hint="Add --out DIR.")
    from syncaudit.simulate import simulate_manifest
    from syncaudit.writing import claim_folder

    configs = _configs(
        scenario, clips, duration_s=duration, size_px=_size(size), cameras=_names(cameras)
    )
    claim_folder(out, ".syncaudit-simulate", is_forced=force)
    with stderr().status(f"simulating {len(configs)} clip{'s' if len(configs) > 1 else ''} ..."):
        try:
            simulate_manifest(configs, out, seed=seed)
        except ValueError as error:
            raise UsageError(str(error), hint="See 'syncaudit simulate --help'.") from error
    console = stdout()
    folder = str(out).rstrip("/")
    console.print(f"{folder}/manifest.jsonl  {len(configs)} of '{scenario}', seed {seed}")
    console.print(f"Judge it with: syncaudit validate {folder}/manifest.jsonl --out out/")


def _configs(
    scenario: str,
    n_clips: int,
    *,
    duration_s: float | None,
    size_px: tuple[int, int] | None,
    cameras: tuple[str, ...] | None,
) -> list[RigConfig]:
    from syncaudit.simulate.scenarios import SCENARIOS, with_all_cameras

    if scenario not in SCENARIOS:
        raise UsageError(
            f"no scenario is called '{scenario}'", hint=nearest_name(scenario, SCENARIOS)
        )
    try:
        config = SCENARIOS[scenario]
        if duration_s is not None:
            config = replace(config, duration_s=duration_s)
        if size_px is not None or cameras is not None:
            config = with_all_cameras(config, size_px=size_px, names=cameras)
    except ValueError as error:
        raise UsageError(str(error), hint="See 'syncaudit simulate --help'.") from error
    if n_clips == 1:
        return [config]
    return [replace(config, clip_id=f"{config.clip_id}_{i:03d}") for i in range(n_clips)]


def _size(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    width, _, height = text.lower().partition("x")
    if not (width.isdecimal() and height.isdecimal()):
        raise UsageError(f"--size is '{text}', expected WIDTHxHEIGHT like 320x192")
    return int(width), int(height)


def _names(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(name.strip() for name in text.split(",") if name.strip())


def _print_scenarios() -> None:
    from syncaudit.simulate.scenarios import SCENARIOS

    table = Table(box=None, pad_edge=False)
    table.add_column("scenario", no_wrap=True)
    table.add_column("driving", no_wrap=True)
    table.add_column("fault", overflow="fold")
    first_with: dict[str, str] = {}
    for name, config in SCENARIOS.items():
        faults = _faults(config)
        first = first_with.setdefault(faults, name)
        is_said = first != name and len(faults) > _SHORT
        table.add_row(name, config.style, f"as {first}" if is_said else faults)
    stdout().print(table)


# Longer fault descriptions are listed only once.
_SHORT = 40


def _faults(config: RigConfig) -> str:
    """Describe the faults in a clip: all non-default settings of clocks and cameras."""
    parts = {**config.cameras, "imu": config.imu, "can": config.can, "mic": config.microphone}
    words = []
    for name, part in parts.items():
        for fault in (getattr(part, "clock", None), getattr(part, "frames", None)):
            if fault is None:
                continue
            settings = [
                f"{field.name}={getattr(fault, field.name)}"
                for field in fields(fault)
                if getattr(fault, field.name) != field.default
            ]
            if settings:
                words.append(f"{name} {', '.join(settings)}")
    return "; ".join(words) or "none"
