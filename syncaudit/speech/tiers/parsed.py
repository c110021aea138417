"""Define what a tier parser returns, and the errors that all parsers share."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from syncaudit.errors import StreamReadError
from syncaudit.model import Interval, Tier


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """Tiers of one file."""

    tiers: tuple[Tier, ...]  # in file order, intervals in file order
    n_untimed: int = 0  # words that the file lists without times
    origin_s: float = 0.0  # declared offset that was added to every time (ELAN's ``TIME_ORIGIN``)


def broken(uri: str, what: str, *, hint: str = "Export it again.") -> StreamReadError:
    """Return the error for a file that does not follow its format."""
    return StreamReadError(what, code="corrupt", path=uri, hint=hint)


def seconds(uri: str, where: str, value: object) -> float:
    """Return a time in seconds.

    StreamReadError if it is not a finite number.
    """
    if not isinstance(value, bool) and isinstance(value, int | float | str):
        try:
            found = float(value)
        except (ValueError, OverflowError):
            found = math.nan
        if math.isfinite(found):
            return found
    raise broken(uri, f"{where}: {str(value)[:40]!r} is not a time in seconds")


def grouped(rows: Iterable[tuple[str, Interval]]) -> tuple[Tier, ...]:
    """Return tiers from (tier name, interval) rows, both in order of appearance."""
    found: dict[str, list[Interval]] = {}
    for name, interval in rows:
        found.setdefault(name, []).append(interval)
    return tuple(Tier(name=name, intervals=tuple(items)) for name, items in found.items())
