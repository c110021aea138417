"""Placeholders of option values in the help: ``--out FOLDER``, none for a switch."""

from __future__ import annotations

from enum import Enum
from typing import Any

__all__ = ["named_values"]

# By option name, where the option's own name in capitals would be less clear.
_NAMES = {
    "out": "FOLDER",
    "root": "FOLDER",
    "data_root": "FOLDER",
    "plots": "FOLDER",
    "policy": "FILE",
    "rules": "FILE",
    "calibration": "FILE",
    "junit": "FILE",
    "sarif": "FILE",
    "summary_md": "FILE",
    "truth": "FILE",
    "labels": "FILE",
    "profile": "NAME",
    "format_name": "NAME",
    "clip": "ID",
    "workers": "N",
    "limit": "N",
    "number": "N",
    "seed": "N",
    "clips": "N",
    "timeout": "SECONDS",
    "memory_limit": "SIZE",
    "shard": "I/N",
}


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
