"""What stands for the value of an option in the help: ``--out FOLDER``, nothing for a switch."""

from __future__ import annotations

from enum import Enum
from typing import Any

__all__ = ["named_values"]

# By name of the option, where its own name in capitals would say less.
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
    """Name the values of all options of a click command, and of the commands below it."""
    help_option = command.get_help_option
    command.get_help_option = lambda context: _as_switch(help_option(context))
    for option in command.params:
        if option.param_type_name != "option" or option.metavar is not None:
            continue
        if option.is_flag or option.count:
            _as_switch(option)
        elif not isinstance(option.default, Enum):  # whose values are listed
            option.metavar = _NAMES.get(option.name, option.name.upper().replace("_", "-"))
    for below in getattr(command, "commands", {}).values():
        named_values(below)
    return command


def _as_switch(option: Any) -> Any:
    if option is not None:
        option.metavar = ""
    return option
