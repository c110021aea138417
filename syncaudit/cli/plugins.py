"""Commands added by applications through the entry-point group ``syncaudit.commands``.

The name of an entry point is the name of the command, its object a function with Typer
annotations or a `typer.Typer` application. Its module is imported to show its help, so it must
keep heavy imports inside. Entry points that need an extra name it: ``view = "pkg:view [gui]"``.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import metadata

import typer

from syncaudit.errors import MissingExtraError, UsageError
from syncaudit.plugins import COMMANDS, entry_points_of, package_of

_OTHERS = "Of other packages"


def add_plugins(app: typer.Typer, panels: Mapping[str, str] | None = None) -> None:
    """Add every installed command to `app`; one that cannot be imported reports what it lacks.

    `panels` gives the help panel of a command.
    """
    for point in entry_points_of(COMMANDS):
        try:
            command = point.load()
            if not callable(command):
                raise TypeError(f"{point.value} is not a command")
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001  # a broken plugin must only break itself
            _add_unavailable(app, point, error)
            continue
        panel = (panels or {}).get(point.name, _OTHERS)
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=point.name, rich_help_panel=panel)
        else:
            app.command(point.name, rich_help_panel=panel)(command)


def _add_unavailable(app: typer.Typer, point: metadata.EntryPoint, error: BaseException) -> None:
    cure = _cure(point, error)
    why = str(error) if isinstance(error, ImportError) else f"{type(error).__name__}: {error}"

    def unavailable(context: typer.Context) -> None:
        raise UsageError(f"'{context.info_name}' is unavailable: {why}", hint=cure)

    app.command(
        point.name,
        help=f"(unavailable) {cure}",
        context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    )(unavailable)


def _cure(point: metadata.EntryPoint, error: BaseException) -> str:
    if isinstance(error, MissingExtraError) and error.hint:
        return error.hint
    package = package_of(point)
    if point.extras:
        return f"Install it with: pip install '{package}[{','.join(point.extras)}]'"
    return f"Install it again with: pip install --upgrade '{package}'"
