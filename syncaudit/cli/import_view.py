"""What an import shows: how far it is, then what was taken for what."""

from __future__ import annotations

import time
from types import TracebackType

from rich.console import Console
from rich.status import Status
from rich.text import Text

from syncaudit.cli.console import printable
from syncaudit.datasets.importing import Imported

__all__ = ["ImportView", "print_import"]

_LINE_EVERY_S = 15.0
_MOST_NOTES = 30


class ImportView:
    """Shows the number of clips so far; use it as a context and call it with each number.

    Parameters
    ----------
    console : Console
        Where to, standard error as a rule.
    is_quiet : bool
        Show nothing.
    """

    def __init__(self, console: Console, *, is_quiet: bool = False) -> None:
        self._console = console
        self._is_quiet = is_quiet
        self._next_line = time.monotonic() + _LINE_EVERY_S
        self._status: Status | None = None
        if console.is_terminal and not is_quiet:
            self._status = Status("looking at the data set", console=console)

    def __enter__(self) -> ImportView:
        """Start to show."""
        if self._status is not None:
            self._status.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Take the line away."""
        if self._status is not None:
            self._status.stop()

    def __call__(self, n_clips: int) -> None:
        """Show the number of clips."""
        if self._status is not None:
            self._status.update(f"{n_clips} clips")
        elif not self._is_quiet and time.monotonic() >= self._next_line:
            self._next_line = time.monotonic() + _LINE_EVERY_S
            self._console.print(f"{n_clips} clips", soft_wrap=True)


def print_import(console: Console, imported: Imported, out: str) -> None:
    """Print what was made and what was taken for what.

    Parameters
    ----------
    console : Console
        Where to.
    imported : Imported
        The import.
    out : str
        The manifest as the user named it.
    """
    noun = "clip" if imported.n_clips == 1 else "clips"
    console.print(
        Text(f"{printable(out)}: {imported.n_clips} {noun} of a {imported.format} data set"),
        soft_wrap=True,
    )
    # The first notes are as a rule the most telling: the order of the import is kept.
    for text, count in list(imported.notes.items())[:_MOST_NOTES]:
        times = f" ({count} times)" if count > 1 else ""
        console.print(Text(f"  {printable(text)}{times}", style="dim"), soft_wrap=True)
    rest = len(imported.notes) - _MOST_NOTES
    if rest > 0:
        console.print(Text(f"  and {rest} more remarks", style="dim"), soft_wrap=True)
