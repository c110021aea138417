"""Consoles, and text of strangers made safe to print."""

from __future__ import annotations

from rich.console import Console

__all__ = ["printable", "stderr", "stdout"]


def stdout() -> Console:
    """Return a console on standard output; rich itself respects NO_COLOR and pipes."""
    return Console(highlight=False)


def stderr() -> Console:
    """Return a console on standard error, for progress and errors."""
    return Console(stderr=True, highlight=False)


def printable(text: str) -> str:
    """Return `text` with control characters shown as ``?``: names come from strangers."""
    return "".join(char if char.isprintable() or char == "\n" else "?" for char in text)
