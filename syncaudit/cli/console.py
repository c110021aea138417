"""Consoles, and making untrusted text safe to print."""

from __future__ import annotations

from rich.console import Console

__all__ = ["printable", "stderr", "stdout", "warn"]


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
