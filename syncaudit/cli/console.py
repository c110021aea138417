"""Consoles, untrusted text made safe to print, and symbols and colours of verdicts."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.text import Text

from syncaudit.formatting import word_count

# By verdict, as text: the model is heavy.
STYLES = {"pass": "green", "reject": "bold red", "unverified": "yellow"}
_GLYPHS = {"pass": "✓", "reject": "✕", "unverified": "?"}
_ASCII_GLYPHS = {"pass": "+", "reject": "x", "unverified": "?"}


def stdout() -> Console:
    """Return a console on standard output; rich itself handles NO_COLOR and pipes."""
    return Console(highlight=False)


def stderr() -> Console:
    """Return a console on standard error, for progress and errors."""
    return Console(stderr=True, highlight=False)


def warn(text: str) -> None:
    """Print a warning that quotes untrusted text on standard error."""
    stderr().print(f"Warning: {printable(text)}", style="yellow", soft_wrap=True, markup=False)


def printable(text: str) -> str:
    """Return `text` with control characters shown as ``?``, since names are untrusted."""
    return "".join(char if char.isprintable() or char == "\n" else "?" for char in text)


def glyph(verdict: str) -> str:
    """Return the symbol of a verdict, in ASCII if the terminal supports nothing else."""
    # While a progress bar is active, rich replaces sys.stdout and states no encoding.
    names = (getattr(stream, "encoding", None) for stream in (sys.stdout, sys.__stdout__))
    encoding = next((name for name in names if name), "ascii").lower().replace("-", "")
    table = _GLYPHS if encoding.startswith("utf") else _ASCII_GLYPHS
    return table[verdict]


def transition_text(n_clips: int, before: str, after: str) -> Text:
    """Return how many clips changed from one verdict to another."""
    verdicts = verdict_text(before), " → ", verdict_text(after)
    return Text.assemble(f"{word_count(n_clips, 'clip')}: ", *verdicts)


def verdict_text(verdict: str) -> Text:
    """Return symbol and word of a verdict in its colour."""
    return Text(f"{glyph(verdict)} {verdict}", style=STYLES[verdict])
