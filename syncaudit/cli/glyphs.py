"""Symbols and colours of verdicts in a terminal."""

from __future__ import annotations

import sys

from rich.text import Text

from syncaudit.model import Verdict

__all__ = ["STYLES", "glyph", "verdict_text"]

STYLES = {Verdict.PASS: "green", Verdict.REJECT: "bold red", Verdict.UNVERIFIED: "yellow"}
_GLYPHS = {Verdict.PASS: "✓", Verdict.REJECT: "✕", Verdict.UNVERIFIED: "?"}
_ASCII_GLYPHS = {Verdict.PASS: "+", Verdict.REJECT: "x", Verdict.UNVERIFIED: "?"}


def glyph(verdict: str) -> str:
    """Return the symbol of a verdict, in ASCII if the terminal supports nothing else."""
    # While a progress bar is active, rich replaces sys.stdout and states no encoding.
    names = (getattr(stream, "encoding", None) for stream in (sys.stdout, sys.__stdout__))
    encoding = next((name for name in names if name), "ascii").lower().replace("-", "")
    table = _GLYPHS if encoding.startswith("utf") else _ASCII_GLYPHS
    return table[Verdict(verdict)]


def verdict_text(verdict: str) -> Text:
    """Return symbol and word of a verdict in its colour."""
    return Text(f"{glyph(verdict)} {verdict}", style=STYLES[Verdict(verdict)])
