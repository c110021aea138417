"""Options shared by several commands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from syncaudit.cli.exit_codes import FailOn

__all__ = [
    "AsJson",
    "Decoder",
    "Details",
    "FailOnOption",
    "Force",
    "MemoryLimit",
    "MovedSources",
    "Partial",
    "PolicyFile",
    "PolicyToExtend",
    "Profile",
    "ProfileToExtend",
    "Prune",
    "Quiet",
    "Root",
    "Verdicts",
]

Verdicts = Annotated[
    str, typer.Argument(help="Output folder of 'validate', local or any fsspec URL.")
]
PolicyFile = Annotated[
    Path | None, typer.Option("--policy", help="Policy file (TOML) with tolerances.")
]
Profile = Annotated[
    str | None, typer.Option("--profile", help="Policy profile: driving, vla, speech, strict.")
]
PolicyToExtend = Annotated[
    Path | None, typer.Option("--policy", help="Policy file (TOML) to extend.")
]
ProfileToExtend = Annotated[
    str | None, typer.Option("--profile", help="Profile to extend: driving, vla ...")
]
FailOnOption = Annotated[
    FailOn, typer.Option("--fail-on", help="Which verdicts make the exit code 1.")
]
Decoder = Annotated[
    str, typer.Option("--decoder", help="Video decoder: auto, cpu, nvdec or torchcodec.")
]
MemoryLimit = Annotated[
    str,
    typer.Option(
        "--memory-limit",
        help="Memory above which a clip or import is given up: 4G, 512M, none, "
        "or auto (80 % of the machine's, shared by the workers).",
    ),
]
MovedSources = Annotated[
    list[str] | None,
    typer.Option("--sources", help="Sources to move: a kind, or a name with *. Repeatable."),
]
Details = Annotated[bool, typer.Option("--details", help="Print every source of every clip.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print everything as JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors.")]
Force = Annotated[
    bool, typer.Option("--force", help="Also overwrite files that syncaudit did not write.")
]
Partial = Annotated[
    bool,
    typer.Option("--partial", help="Accept an unfinished run: use the verdicts that are there."),
]
Prune = Annotated[
    bool,
    typer.Option(
        "--prune", help="Remove from --out the verdicts of clips that this run does not name."
    ),
]
Root = Annotated[
    list[str] | None,
    typer.Option(
        "--root",
        help=(
            "Open only files in these folders. By default, files outside the manifest's folder "
            "are opened, but they are reported and never quoted. Repeatable."
        ),
    ),
]
