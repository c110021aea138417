"""How far a run is: a bar in a terminal, a line now and then elsewhere; always on stderr."""

from __future__ import annotations

import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from syncaudit.batch.summary import Progress as BatchProgress
from syncaudit.cli.glyphs import STYLES, glyph
from syncaudit.model import Verdict

__all__ = ["ProgressView", "word_span"]

_LINE_EVERY_S = 15.0


class ProgressView:
    """Shows the progress of a run; use it as a context and call it with each state.

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
        self._began = time.monotonic()
        self._next_line = self._began + _LINE_EVERY_S
        self._bar: Progress | None = None
        if console.is_terminal and not is_quiet:
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

    def __enter__(self) -> ProgressView:
        """Start the bar."""
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, state: BatchProgress) -> None:
        """Show a state of the run."""
        if self._is_quiet:
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
        elif time.monotonic() >= self._next_line:
            self._next_line = time.monotonic() + _LINE_EVERY_S
            plain_counts = ", ".join(f"{n} {name}" for name, n in state.counts.items())
            self._console.print(
                f"{state.done}/{state.total} clips, {pace}: {plain_counts}", soft_wrap=True
            )

    def _pace(self, state: BatchProgress) -> str:
        fresh = state.done - state.reused
        elapsed = time.monotonic() - self._began
        if not fresh or elapsed <= 0:
            return "starting"
        rate = fresh / elapsed
        per = f"{rate:.1f}/s" if rate >= 1 else f"{rate * 60:.1f}/min"
        left = (state.total - state.done) / rate
        return f"{per}, {word_span(left)} left" if state.done < state.total else per


def word_span(seconds: float) -> str:
    """Return a span of time for people: ``45 s``, ``12 min``, ``3.4 h``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _counts(state: BatchProgress) -> str:
    return " ".join(
        f"[{STYLES[Verdict(name)]}]{glyph(name)} {n}[/]" for name, n in state.counts.items()
    )
