"""Options shared by several commands, and how the help names the values of options."""

from __future__ import annotations

import os
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from syncaudit.cli.exit_codes import FailOn
from syncaudit.errors import UsageError

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
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors and warnings.")]
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

# By option name, where the option's own name in capitals would be less clear.
_NAMES = {
    "out": "FOLDER",
    "root": "FOLDER",
    "data_root": "FOLDER",
    "plots": "FOLDER",
    "verdicts": "FOLDER",
    "originals": "FOLDER",
    "policy": "FILE",
    "rules": "FILE",
    "calibration": "FILE",
    "junit": "FILE",
    "sarif": "FILE",
    "summary_md": "FILE",
    "truth": "FILE",
    "labels": "FILE",
    "leaks": "FILE",
    "golden": "FILE",
    "listed": "FILE",
    "mcap": "FILE",
    "rerun": "FILE",
    "shot": "FILE",
    "profile": "NAME",
    "format_name": "NAME",
    "clip": "ID",
    "workers": "N",
    "limit": "N",
    "number": "N",
    "seed": "N",
    "clips": "N",
    "variants": "N",
    "max_count": "N",
    "max_size": "SIZE",
    "by": "<kind|source>",
    "theme": "<dark|light>",
    "timeout": "SECONDS",
    "memory_limit": "SIZE",
    "shard": "I/N",
}


def extended_policy(policy: Path | None, profile: str | None, out: Path) -> str:
    """Return the policy that a new file at `out` extends, as written in the file.

    UsageError if both are given, or the file would overwrite what it extends.
    """
    from syncaudit.policy import DEFAULT_PROFILE

    if policy is None:
        return profile or DEFAULT_PROFILE
    if profile is not None:
        raise UsageError(
            "--policy and --profile cannot be extended together",
            hint='Let the policy file name the profile: extends = "..."',
        )
    if policy.suffix != ".toml":
        raise UsageError("a policy that is extended must be a .toml file", path=str(policy))
    if policy.resolve() == out.resolve():
        raise UsageError(
            "the policy would be overwritten by the one that extends it",
            path=str(policy),
            hint="Choose another --out file.",
        )
    return Path(os.path.relpath(policy.resolve(), out.resolve().parent)).as_posix()


def named_values(command: Any) -> Any:
    """Name the values of all options of a click command and its subcommands."""
    help_option = command.get_help_option
    command.get_help_option = lambda context: _as_switch(help_option(context))
    for option in command.params:
        if option.param_type_name != "option" or option.metavar is not None:
            continue
        if option.is_flag or option.count:
            _as_switch(option)
        elif not isinstance(option.default, Enum):  # enums list their values
            option.metavar = _NAMES.get(option.name, option.name.upper().replace("_", "-"))
    for below in getattr(command, "commands", {}).values():
        named_values(below)
    return command


def _as_switch(option: Any) -> Any:
    if option is not None:
        option.metavar = ""
    return option
