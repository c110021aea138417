"""How far a run is: a bar in a terminal, a line now and then elsewhere; always on stderr."""

from __future__ import annotations

import time

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from syncaudit.batch.summary import Progress as BatchProgress
from syncaudit.cli.glyphs import STYLES, glyph
from syncaudit.cli.live_view import LiveView
from syncaudit.formatting import word_span
from syncaudit.model import Verdict

__all__ = ["ProgressView"]


class ProgressView(LiveView):
    """Shows the progress of a run; use it as a context and call it with each state."""

    def __init__(self, console: Console, *, is_quiet: bool = False) -> None:
        super().__init__(console, is_quiet=is_quiet)
        self._began = time.monotonic()
        self._bar: Progress | None = None
        if self.moves:
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

    def moving(self) -> Progress | None:
        """Return the bar."""
        return self._bar

    def __call__(self, state: BatchProgress) -> None:
        """Show a state of the run."""
        if self.is_quiet:
            return
        pace, counts = self._pace(state), _counts(state)
        if self._bar is not None:
            self._bar.update(
                self._task,
                total=state.total,
                completed=state.done,
                done=f"{state.done}/{state.total} clips",
                pace=pace,
                counts=counts,
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


def _counts(state: BatchProgress) -> str:
    return " ".join(
        f"[{STYLES[Verdict(name)]}]{glyph(name)} {n}[/]" for name, n in state.counts.items()
    )
