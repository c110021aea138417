"""Audit columns of stamps: together where they are alike, and each pattern only once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from syncaudit.detectors.stamp_audit import audit_column
from syncaudit.detectors.stamp_counter import float32_tick_ns
from syncaudit.detectors.stamp_rows import StampColumn, audit_rows
from syncaudit.model import StampAudit

__all__ = ["StampColumn", "audit_columns", "audit_stamps"]

# Columns of so many stamps are remembered by their pattern: the cameras of a clip, and clip after
# clip, as often as not share the one that an encoder made up. 64 of them are 4 MB at the most.
FEW = 4096
# Differences of stamps closer together than this do not overflow.
_SPAN_NS = 2**62


def audit_stamps(
    time_ns: NDArray[np.int64],
    *,
    n_expected: int | None = None,
    pts_s: NDArray[np.float64] | None = None,
) -> StampAudit:
    """Say what the stamps of one source tell by themselves.

    Samples are numbered first, leaving room for missing ones (`stamp_grid`); lasting jumps that
    are no whole number of periods are clock steps (`stamp_steps`); the rest is jitter about a
    straight clock, fitted by the lower hull where delays are one-sided and by robust least
    squares where they are not (`stamp_clock`, with the sources).

    Parameters
    ----------
    time_ns : ndarray of int64, shape (n,)
        Stamps in file order; any order and any values.
    n_expected : int, optional
        Frames that the container holds.
    pts_s : ndarray, shape (m,), optional
        Presentation times of the container in seconds.

    Returns
    -------
    StampAudit
        Counts and figures. Jitter below the rounding of the stamps reads zero, and the
        resolution stands in the remarks.

    Raises
    ------
    TypeError
        If the stamps are not integers.
    ValueError
        If they are not one column.

    Notes
    -----
    A gap is an interval longer than the clock explains by 1.5 periods or more; its missing
    samples are counted only where the jump is a whole number of periods to within the jitter or
    a twentieth of a period. Any other jump is a step of its whole size: the stamps alone cannot
    tell a stepped clock from a device that restarted with another phase.
    """
    column = StampColumn(
        time_ns=np.asarray(time_ns),
        n_expected=n_expected,
        pts_s=None if pts_s is None else np.asarray(pts_s),
    )
    return audit_columns([column])[0]


def audit_columns(columns: Sequence[StampColumn]) -> list[StampAudit]:
    """Audit several columns at once: quicker than one by one, with the same results.

    Parameters
    ----------
    columns : sequence of StampColumn
        Each as `audit_stamps` takes it, with the same errors.
    """
    checked = [_checked(column) for column in columns]
    by_length: dict[int, list[int]] = {}
    for k, column in enumerate(checked):
        by_length.setdefault(column.time_ns.size, []).append(k)
    audits: dict[int, StampAudit] = {}
    for n, which in by_length.items():
        alike = [checked[k] for k in which]
        audits.update(zip(which, _audit_alike(alike, is_short=1 < n <= FEW), strict=True))
    return [audits[k] for k in range(len(checked))]


def _audit_alike(columns: Sequence[StampColumn], *, is_short: bool) -> list[StampAudit]:
    """Audit columns of one length."""
    ticks_ns = [float32_tick_ns(column.time_ns) for column in columns]
    known: Sequence[StampAudit | None] = [None] * len(columns)
    if is_short:
        known = _audit_patterns(columns, ticks_ns)
    return [
        # Steps, and their words, have their place in time.
        audit_column(column, tick_ns) if audit is None or audit.steps else audit
        for audit, column, tick_ns in zip(known, columns, ticks_ns, strict=True)
    ]


def _audit_patterns(
    columns: Sequence[StampColumn], ticks_ns: Sequence[int]
) -> list[StampAudit | None]:
    """Audit stamps by what they are after the first one; None where that overflows.

    `steps` and their words count from the first stamp.
    """
    stamps = np.array([column.time_ns for column in columns])
    since = stamps - stamps[:, :1]
    places = [
        _remembered(row.tobytes(), column.n_expected, _bytes_of(column.pts_s), tick_ns)
        if high - low < _SPAN_NS
        else None
        for row, column, tick_ns, high, low in zip(
            since,
            columns,
            ticks_ns,
            np.maximum.reduce(stamps, axis=1).tolist(),
            np.minimum.reduce(stamps, axis=1).tolist(),
            strict=True,
        )
    ]
    unknown = {id(place): k for k, place in enumerate(places) if place is not None and not place}
    if unknown:
        which = list(unknown.values())
        patterns = [
            StampColumn(time_ns=since[k], n_expected=columns[k].n_expected, pts_s=columns[k].pts_s)
            for k in which
        ]
        ticks = [ticks_ns[k] for k in which]
        for k, pattern, audit in zip(which, patterns, audit_rows(patterns, ticks), strict=True):
            place = places[k]
            if place is not None:
                place.append(audit or audit_column(pattern, ticks_ns[k]))
    return [None if place is None else place[0] for place in places]


def _checked(column: StampColumn) -> StampColumn:
    stamps, pts_s = column.time_ns, column.pts_s
    if stamps.ndim != 1:
        raise ValueError(f"time_ns must have shape (n,), got {stamps.shape}")
    if stamps.size and stamps.dtype.kind not in "iu":
        raise TypeError(f"time_ns must be integer nanoseconds, got {stamps.dtype}")
    if stamps.dtype == np.int64 and (pts_s is None or pts_s.dtype == np.float64):
        return column
    return replace(
        column,
        time_ns=stamps.astype(np.int64),
        pts_s=None if pts_s is None else pts_s.astype(np.float64),
    )


def _bytes_of(values: NDArray[np.float64] | None) -> bytes | None:
    return None if values is None else values.tobytes()


@lru_cache(maxsize=64)
def _remembered(
    since: bytes,  # noqa: ARG001  # the arguments are what is remembered by
    n_expected: int | None,  # noqa: ARG001
    pts: bytes | None,  # noqa: ARG001
    float_tick_ns: int,  # noqa: ARG001
) -> list[StampAudit]:
    """Return the place of a pattern's audit: a list that is empty until it is known."""
    return []
