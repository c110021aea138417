"""Consoles, and text of strangers made safe to print."""

from __future__ import annotations

from rich.console import Console

__all__ = ["printable", "stderr", "stdout", "warn"]


def stdout() -> Console:
    """Return a console on standard output; rich itself respects NO_COLOR and pipes."""
    return Console(highlight=False)


def stderr() -> Console:
    """Return a console on standard error, for progress and errors."""
    return Console(stderr=True, highlight=False)


def warn(text: str) -> None:
    """Print a warning that quotes strangers on standard error."""
    stderr().print(f"Warning: {printable(text)}", style="yellow", soft_wrap=True, markup=False)


def printable(text: str) -> str:
    """Return `text` with control characters shown as ``?``: names come from strangers."""
    return "".join(char if char.isprintable() or char == "\n" else "?" for char in text)
