"""Progress of long operations: a live display in a terminal, occasional lines elsewhere."""

from __future__ import annotations

import time
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.status import Status
from rich.text import Text

from syncaudit.batch.summary import Progress as BatchProgress
from syncaudit.cli.console import STYLES, glyph, printable
from syncaudit.datasets.importing import Imported
from syncaudit.formatting import word_count, word_span

_LINE_EVERY_S = 15.0
_MOST_NOTES = 30


class _LiveView:
    """Context that shows a bar or status on a console, typically standard error."""

    def __init__(
        self, console: Console, moving: Progress | Status, *, is_quiet: bool = False
    ) -> None:
        self.console = console
        self.is_quiet = is_quiet
        self._moving = moving if console.is_terminal and not is_quiet else None
        self._next_line = time.monotonic() + _LINE_EVERY_S

    def __enter__(self) -> Self:
        if self._moving is not None:
            self._moving.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._moving is not None:
            self._moving.stop()

    def print_now_and_then(self, line: str) -> None:
        """Print a line, unless the last one was recent."""
        if not self.is_quiet and time.monotonic() >= self._next_line:
            self._next_line = time.monotonic() + _LINE_EVERY_S
            self.console.print(line, soft_wrap=True)


class ProgressView(_LiveView):
    """Shows the progress of a run; use it as a context and call it with each state."""

    def __init__(self, console: Console, *, is_quiet: bool = False) -> None:
        self._bar = Progress(
            TextColumn("{task.fields[done]}"),
            BarColumn(bar_width=None),
            TextColumn("{task.fields[pace]}"),
            TextColumn("{task.fields[counts]}"),
            console=console,
            transient=True,
            expand=True,
        )
        self._task = self._bar.add_task("", total=None, done="", pace="starting", counts="")
        super().__init__(console, self._bar, is_quiet=is_quiet)
        self._began = time.monotonic()

    def __call__(self, state: BatchProgress) -> None:
        """Show a state of the run."""
        if self.is_quiet:
            return
        pace = self._pace(state)
        if self._moving is not None:
            counts = (f"[{STYLES[name]}]{glyph(name)} {n}[/]" for name, n in state.counts.items())
            self._bar.update(
                self._task,
                total=state.total,
                completed=state.done,
                done=f"{state.done}/{state.total} clips",
                pace=pace,
                counts=" ".join(counts),
            )
        else:
            plain_counts = ", ".join(f"{n} {name}" for name, n in state.counts.items())
            self.print_now_and_then(f"{state.done}/{state.total} clips, {pace}: {plain_counts}")

    def _pace(self, state: BatchProgress) -> str:
        fresh = state.done - state.reused
        elapsed = time.monotonic() - self._began
        if not fresh or elapsed <= 0:
            return "starting"
        rate = fresh / elapsed
        per = f"{rate:.1f}/s" if rate >= 1 else f"{rate * 60:.1f}/min"
        left = (state.total - state.done) / rate
        return f"{per}, {word_span(left)} left" if state.done < state.total else per


class ImportView(_LiveView):
    """Shows the number of clips so far; use it as a context and call it with each number."""

    def __init__(self, console: Console, *, is_quiet: bool = False) -> None:
        self._status = Status("reading the data set", console=console)
        super().__init__(console, self._status, is_quiet=is_quiet)

    def __call__(self, n_clips: int) -> None:
        """Show the number of clips."""
        if self._moving is not None:
            self._status.update(word_count(n_clips, "clip"))
        else:
            self.print_now_and_then(word_count(n_clips, "clip"))


def print_import(console: Console, imported: Imported, out: str) -> None:
    """Print what was written and how the files were interpreted."""
    clips = word_count(imported.n_clips, "clip")
    console.print(
        Text(f"{printable(out)}: {clips} of a {imported.format} data set"), soft_wrap=True
    )
    # The first notes are usually the most informative, so keep the order of the import.
    for text, count in list(imported.notes.items())[:_MOST_NOTES]:
        times = f" ({count} times)" if count > 1 else ""
        console.print(Text(f"  {printable(text)}{times}", style="dim"), soft_wrap=True)
    rest = len(imported.notes) - _MOST_NOTES
    if rest > 0:
        console.print(Text(f"  and {rest} more notes", style="dim"), soft_wrap=True)
