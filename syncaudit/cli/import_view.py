"""What an import shows: how far it is, then what was taken for what."""

from __future__ import annotations

from rich.console import Console
from rich.status import Status
from rich.text import Text

from syncaudit.cli.console import printable
from syncaudit.cli.live_view import LiveView
from syncaudit.datasets.importing import Imported

__all__ = ["ImportView", "print_import"]

_MOST_NOTES = 30


class ImportView(LiveView):
    """Shows the number of clips so far; use it as a context and call it with each number."""

    def __init__(self, console: Console, *, is_quiet: bool = False) -> None:
        super().__init__(console, is_quiet=is_quiet)
        self._status = Status("looking at the data set", console=console) if self.moves else None

    def moving(self) -> Status | None:
        """Return the status line."""
        return self._status

    def __call__(self, n_clips: int) -> None:
        """Show the number of clips."""
        if self._status is not None:
            self._status.update(f"{n_clips} clips")
        else:
            self.print_now_and_then(f"{n_clips} clips")


def print_import(console: Console, imported: Imported, out: str) -> None:
    """Print what was made and what was taken for what."""
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
