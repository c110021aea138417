"""Columns that are audited together come out as they do one by one, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from syncaudit.detectors.stamp_audit import audit_column
from syncaudit.detectors.stamp_patterns import StampColumn, audit_columns
from syncaudit.detectors.stamp_rows import audit_rows

RATES_HZ = (5.0, 12.0, 14.985, 23.976, 25.0, 29.97, 30.0, 60.0, 13.37)
LENGTHS = (59, 60, 61, 240, 241, 1025)


def drawn(rng: np.random.Generator, n: int, *, is_faulty: bool) -> StampColumn:
    """Return a column of stamps as cameras make them, and the container's times with some."""
    period_s = 1.0 / float(rng.choice(RATES_HZ))
    times_s = np.arange(n) * period_s * (1.0 + rng.choice([0.0, 2e-5]))
    times_s += rng.normal(0.0, rng.choice([0.0, 1e-6, 1e-4, 1e-3, 0.05 * period_s]), n)
    if is_faulty:
        at = int(rng.integers(1, n - 1))
        fault = rng.integers(0, 5)
        if fault == 0:  # a step, or frames lost
            times_s[at:] += rng.choice([0.3, 1.0, 3.0]) * period_s
        elif fault == 1:
            times_s[at] = times_s[at - 1]
        elif fault == 2:
            times_s[at] -= rng.choice([1.0, 1e6])
        elif fault == 3:  # delays
            times_s += rng.exponential(0.1 * period_s, n)
        else:
            times_s = rng.uniform(0.0, n * period_s, n)
    tick_ns = int(rng.choice([1, 1, 1000, 1_000_000, 11_111]))
    time_ns = np.rint(times_s * 1e9 / tick_ns).astype(np.int64) * tick_ns
    pts_s: list[NDArray[np.float64] | None] = [
        None,
        (time_ns - time_ns[0]) * 1e-9,
        np.arange(n) * 0.04,
        np.arange(n - 2) * period_s,
    ]
    return StampColumn(
        time_ns=time_ns - time_ns[0],
        n_expected=int(n + rng.choice([0, 0, -1])),
        pts_s=pts_s[int(rng.integers(len(pts_s)))],
    )


@pytest.mark.parametrize("is_faulty", [False, True])
@pytest.mark.parametrize("n", LENGTHS)
def test_together_is_as_one_by_one(n: int, is_faulty: bool) -> None:
    rng = np.random.default_rng([n, is_faulty])
    for _ in range(12):
        columns = [drawn(rng, n, is_faulty=is_faulty and k % 2 == 0) for k in range(6)]
        ticks_ns = [0] * len(columns)
        for column, audit in zip(columns, audit_rows(columns, ticks_ns), strict=True):
            assert audit is None or audit == audit_column(column, 0)
        one_by_one = [audit_columns([column])[0] for column in columns]
        assert audit_columns(columns) == one_by_one


def test_sound_columns_are_audited_together() -> None:
    rng = np.random.default_rng(1)
    jitter_ns = rng.normal(0.0, 2e5, (6, 240)).astype(np.int64)
    rows = np.arange(240) * 83_333_333 + jitter_ns
    columns = [StampColumn(time_ns=row - row[0]) for row in rows]
    assert None not in audit_rows(columns, [0] * 6)


def test_columns_of_other_lengths_keep_their_order() -> None:
    rng = np.random.default_rng(2)
    columns = [drawn(rng, n, is_faulty=False) for n in (240, 1, 61, 240, 5, 61)]
    assert [audit.samples for audit in audit_columns(columns)] == [240, 1, 61, 240, 5, 61]
