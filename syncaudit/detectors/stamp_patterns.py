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
    return audit_columns([StampColumn(time_ns=time_ns, n_expected=n_expected, pts_s=pts_s)])[0]


def audit_columns(columns: Sequence[StampColumn]) -> list[StampAudit]:
    """Audit several columns at once: quicker than one by one, with the same results.

    Parameters
    ----------
    columns : sequence of StampColumn
        Each as `audit_stamps` takes it, with the same errors.
    """
    columns = [_checked(column) for column in columns]
    ticks_ns = [float32_tick_ns(column.time_ns) for column in columns]
    places = [
        _place_of(column, tick_ns) if _is_short(column.time_ns) else None
        for column, tick_ns in zip(columns, ticks_ns, strict=True)
    ]
    _fill(places, columns, ticks_ns)
    return [
        # Steps, and their words, have their place in time.
        audit_column(column, tick_ns) if place is None or place[0].steps else place[0]
        for place, column, tick_ns in zip(places, columns, ticks_ns, strict=True)
    ]


def _fill(
    places: Sequence[list[StampAudit] | None],
    columns: Sequence[StampColumn],
    ticks_ns: Sequence[int],
) -> None:
    """Audit the patterns that are not known, those of one length together."""
    unknown: dict[int, dict[int, int]] = {}
    for k, place in enumerate(places):
        if place is not None and not place:
            unknown.setdefault(columns[k].time_ns.size, {})[id(place)] = k
    for alike in unknown.values():
        which = list(alike.values())
        patterns = [
            replace(columns[k], time_ns=columns[k].time_ns - columns[k].time_ns[0]) for k in which
        ]
        ticks = [ticks_ns[k] for k in which]
        for k, pattern, audit in zip(which, patterns, audit_rows(patterns, ticks), strict=True):
            place = places[k]
            if place is not None:
                place.append(audit or audit_column(pattern, ticks_ns[k]))


def _checked(column: StampColumn) -> StampColumn:
    stamps = np.asarray(column.time_ns)
    if stamps.ndim != 1:
        raise ValueError(f"time_ns must have shape (n,), got {stamps.shape}")
    if stamps.size and stamps.dtype.kind not in "iu":
        raise TypeError(f"time_ns must be integer nanoseconds, got {stamps.dtype}")
    pts_s = None if column.pts_s is None else np.asarray(column.pts_s, dtype=np.float64)
    return StampColumn(time_ns=stamps.astype(np.int64), n_expected=column.n_expected, pts_s=pts_s)


def _is_short(stamps: NDArray[np.int64]) -> bool:
    return 1 < stamps.size <= FEW and int(stamps.max()) - int(stamps.min()) < _SPAN_NS


def _place_of(column: StampColumn, float_tick_ns: int) -> list[StampAudit]:
    """Return where the audit of a column is remembered by what its stamps are after the first."""
    pts = None if column.pts_s is None else column.pts_s.tobytes()
    since = column.time_ns - column.time_ns[0]
    return _remembered(since.tobytes(), column.n_expected, pts, float_tick_ns)


@lru_cache(maxsize=64)
def _remembered(
    since: bytes,  # noqa: ARG001  # the arguments are what is remembered by
    n_expected: int | None,  # noqa: ARG001
    pts: bytes | None,  # noqa: ARG001
    float_tick_ns: int,  # noqa: ARG001
) -> list[StampAudit]:
    """Return the audit of a pattern, as a list that is empty until it is known.

    `steps` and their words count from the first stamp.
    """
    return []
