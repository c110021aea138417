"""Parse Praat TextGrids, long and short, as Praat itself does: only numbers and strings matter."""

from __future__ import annotations

import re
from collections.abc import Iterator

from syncaudit.errors import StreamReadError
from syncaudit.model import Interval, Tier
from syncaudit.speech.tiers.parsed import Parsed, broken, seconds

# Strings (quotes doubled inside), flags, free-standing numbers; the words around them are
# decoration. A comment runs from a free-standing ``!`` to the end of its line.
_TOKEN = re.compile(
    r'"((?:[^"]|"")*)"|(<[A-Za-z]+>)|(?<!\S)([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)(?!\S)'
    r"|(?<!\S)![^\n]*"
)


def parse_textgrid(uri: str, text: str) -> Parsed:
    """Return the tiers of a TextGrid; a point is an interval of zero length.

    StreamReadError if it is not a text TextGrid, or is truncated.
    """
    if text.startswith("ooBinaryFile"):
        raise StreamReadError(
            "is a binary TextGrid", path=uri, hint="Save it from Praat as text (UTF-8)."
        )
    tokens = _Tokens(uri, text)
    if not tokens.string("the header").startswith("ooTextFile") or (
        tokens.string("the header") != "TextGrid"
    ):
        raise broken(uri, "is not a TextGrid (wrong header)", hint="Save it from Praat as text.")
    tokens.number("xmin")
    tokens.number("xmax")
    if tokens.flag("tiers?") == "<absent>":
        return Parsed(tiers=())
    n_tiers = tokens.count("the number of tiers")
    return Parsed(tiers=tuple(_tier(tokens, place) for place in range(n_tiers)))


def _tier(tokens: _Tokens, place: int) -> Tier:
    kind = tokens.string(f"tier {place + 1}")
    name = tokens.string(f"tier {place + 1}")
    where = f"tier '{name}'"
    if kind not in ("IntervalTier", "TextTier"):
        raise broken(tokens.uri, f"{where} is of class '{kind}', expected IntervalTier or TextTier")
    tokens.number(where)
    tokens.number(where)
    intervals: list[Interval] = []
    for item in range(tokens.count(where)):
        at = f"{where}, item {item + 1}"
        start_s = tokens.number(at)
        stop_s = tokens.number(at) if kind == "IntervalTier" else start_s
        intervals.append(Interval(start_s=start_s, stop_s=stop_s, label=tokens.string(at).strip()))
    return Tier(name=name, intervals=tuple(intervals))


class _Tokens:
    """Strings, flags and numbers of a TextGrid in order."""

    def __init__(self, uri: str, text: str) -> None:
        self.uri = uri
        self._tokens: Iterator[re.Match[str]] = (
            match for match in _TOKEN.finditer(text) if match.lastindex
        )

    def _next(self, group: int, what: str, where: str) -> str:
        match = next(self._tokens, None)
        if match is None:
            raise broken(self.uri, f"the TextGrid is truncated in {where}")
        if match.lastindex != group:
            raise broken(self.uri, f"{where}: expected {what}, found {match.group()[:40]}")
        return match.group(group)

    def string(self, where: str) -> str:
        return self._next(1, "text in quotes", where).replace('""', '"')

    def flag(self, where: str) -> str:
        return self._next(2, "<exists> or <absent>", where)

    def number(self, where: str) -> float:
        return seconds(self.uri, where, self._next(3, "a number", where))

    def count(self, where: str) -> int:
        text = self._next(3, "a count", where)
        if not text.isdecimal() or len(text) > 9:
            raise broken(self.uri, f"{where}: '{text}' is not a count")
        return int(text)
