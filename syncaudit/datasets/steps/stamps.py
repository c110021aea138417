"""Make timestamps for steps of data sets that do not state them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from syncaudit.datasets.formats.protocol import Import
from syncaudit.errors import UsageError, nearest_name
from syncaudit.model.arrays import Ints
from syncaudit.model.clip import StampKind

__all__ = ["Stamps", "counted", "rate_of_rules"]

# Nominal rate of rows whose rate is not stated: their stamp_kind is ``index``.
_NOMINAL_HZ = 10.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Stamps:
    """The timestamps of steps, int64 ns of shape (n,), and their kind."""

    time_ns: Ints
    kind: StampKind


def counted(n_steps: int, rate_hz: float | None, job: Import) -> Stamps:
    """Return timestamps that count steps at a rate, or number them if it is unknown."""
    kind: StampKind = "index" if rate_hz is None else "counter"
    time_ns = np.rint(np.arange(n_steps) * 1e9 / (rate_hz or _NOMINAL_HZ)).astype(np.int64)
    job.note(
        "nothing states a time or a rate: steps are numbered only, so nothing can pass. Give the "
        "rate with rate_hz in --rules"
        if rate_hz is None
        else f"timestamps are step / {rate_hz:g} Hz: a counter, not capture times"
    )
    return Stamps(time_ns=time_ns, kind=kind)


def rate_of_rules(rules: Mapping[str, Any]) -> float | None:
    """Return the rate that ``--rules`` set for all episodes.

    Raises
    ------
    UsageError
        If they hold anything else.
    """
    for key in rules:
        if key != "rate_hz":
            raise UsageError(
                f"the rules hold the unknown key '{key}'", hint=nearest_name(key, ["rate_hz"])
            )
    rate_hz = rules.get("rate_hz")
    if rate_hz is None:
        return None
    is_number = isinstance(rate_hz, int | float) and not isinstance(rate_hz, bool)
    if not is_number or not 0 < rate_hz < 1e6:
        raise UsageError(f"rate_hz is {rate_hz!r}", hint="Give steps per second: rate_hz = 15.")
    return float(rate_hz)
