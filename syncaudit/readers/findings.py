"""Findings that several readers share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from syncaudit.model import MOST_VALUE, Finding, ReasonCode, Severity, is_usable

__all__ = ["assumed_rate", "assumed_start", "empty_stream", "non_finite", "noted", "warned"]


def non_finite(
    values: NDArray[np.float64], names: Sequence[str], *, uri: str, first_row: int = 0
) -> tuple[Finding, ...]:
    """Return a finding where samples are NaN, infinite or absurdly large, or nothing.

    Parameters
    ----------
    values : ndarray of float64, shape (n, d)
        Samples.
    names : sequence of str, length d
        What the columns are called in the file.
    uri : str
        File they come from.
    first_row : int
        Number that people count the first sample as.
    """
    with np.errstate(invalid="ignore"):  # without an array of its own where all is well
        if not values.size or bool(values.min() >= -MOST_VALUE and values.max() <= MOST_VALUE):
            return ()
    bad = ~is_usable(values)
    n_bad = int(np.count_nonzero(bad.any(axis=1)))
    if not n_bad:
        return ()
    row = int(np.argmax(bad.any(axis=1)))
    columns = ", ".join(name for place, name in enumerate(names) if bool(bad[:, place].any()))
    return (
        Finding(
            code=ReasonCode.NON_FINITE,
            message=f"{uri}: {n_bad} of {len(values)} samples are blank, NaN, infinite or "
            f"beyond {MOST_VALUE:g} in {columns}, the first in row {row + first_row}. "
            "Export the recording without them.",
            value=float(n_bad),
            limit=0.0,
        ),
    )


def empty_stream(uri: str, what: str) -> tuple[Finding, ...]:
    """Return the finding of a file that has its header and nothing below it."""
    return (
        Finding(
            code=ReasonCode.EMPTY,
            message=f"{uri} holds no {what}: there is a header, but no rows. "
            "Record or export it again.",
            value=0.0,
        ),
    )


def assumed_start(uri: str) -> Finding:
    """Return the doubt about a source whose start nothing states: an offset is of a guess."""
    return Finding(
        code=ReasonCode.MANIFEST,
        message=f"{uri}: nothing states when it began, so its start is assumed, and what is "
        "measured is the offset of that assumption. Give 'start_ns', or 'timestamps'.",
        severity=Severity.DOUBT,
    )


def assumed_rate() -> Finding:
    """Return the doubt about a source whose samples are numbered only: seconds are of a guess."""
    return Finding(
        code=ReasonCode.RATE,
        message="its samples are numbered, and nothing states a time or a rate: a number is no "
        "clock. Import it with timestamps, or with its rate (rate_hz in --rules).",
        severity=Severity.DOUBT,
    )


def warned(code: ReasonCode, message: str, value: float | None = None) -> Finding:
    """Return a finding that rejects nothing."""
    return Finding(code=code, message=message, value=value, severity=Severity.WARNING)


def noted(lines: Sequence[str]) -> tuple[Finding, ...]:
    """Return the findings that the importer of a data set left in the manifest: warnings.

    What it knows to be unobservable, as the motion of a stabilised camera, holds a pass back.
    """
    found = [(ReasonCode(code), text) for code, _, text in (line.partition(":") for line in lines)]
    return tuple(
        Finding(
            code=code,
            message=text.strip(),
            severity=Severity.DOUBT if code is ReasonCode.UNOBSERVABLE else Severity.WARNING,
        )
        for code, text in found
    )
