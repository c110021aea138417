"""Read durations and rates as people write them: ``25ms``, ``0.025``, ``25000us``; ``12,30``."""

from __future__ import annotations

import re
from fractions import Fraction

from syncaudit.errors import UsageError

__all__ = ["parse_durations", "parse_rates"]

_DURATION = re.compile(r"(\d+\.?\d*|\.\d+)(?:e([+-]?\d+))?\s*(s|ms|us|µs|μs|ns)?", re.IGNORECASE)
_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ns": 1e-9}
_MAX_RATE_HZ = 1000


def parse_durations(text: str, option: str) -> tuple[float, ...]:
    """Return the durations of a list like ``25ms,0.015``, in seconds.

    Parameters
    ----------
    text : str
        Numbers separated by commas, each with s, ms, us or ns; without a unit, seconds.
    option : str
        Name of the option, for the error.

    Raises
    ------
    UsageError
        If a part is no duration.
    """
    return tuple(_duration(part.strip(), option) for part in text.split(","))


def parse_rates(text: str, option: str) -> tuple[Fraction, ...]:
    """Return the rates of a list like ``12,29.97,30000/1001``, exactly, in Hz.

    Parameters
    ----------
    text : str
        Numbers or fractions separated by commas.
    option : str
        Name of the option, for the error.

    Raises
    ------
    UsageError
        If a part is no rate of frames.
    """
    return tuple(_rate(part.strip(), option) for part in text.split(","))


def _duration(text: str, option: str) -> float:
    match = _DURATION.fullmatch(text)
    if match is None:
        raise UsageError(
            f"{option} is '{text}', expected a duration like 25ms, 0.025 (seconds) or 25000us"
        )
    number, exponent, unit = match.groups()
    return float(f"{number}e{exponent or 0}") * _UNITS[(unit or "s").lower()]


def _rate(text: str, option: str) -> Fraction:
    try:
        rate_hz = Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise UsageError(
            f"{option} is '{text}', expected frames per second like 12, 29.97 or 30000/1001"
        ) from None
    if not 0 < rate_hz <= _MAX_RATE_HZ:
        raise UsageError(f"{option} is {text}, expected more than 0 and up to {_MAX_RATE_HZ} Hz")
    return rate_hz.limit_denominator(1001)
