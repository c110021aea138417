"""What is done to rows together is, to the last bit, what is done to each by itself."""

from __future__ import annotations

import numpy as np
import pytest

from syncaudit.dsp.medians import median, quantiles
from syncaudit.dsp.rows import medians, quantile_of_sorted, robust_lines
from syncaudit.dsp.sound import robust_line


@pytest.mark.parametrize("n", [1, 2, 7, 240, 2000])
def test_medians_and_quantiles_are_those_of_each_row(n: int) -> None:
    rows = np.random.default_rng(n).normal(size=(5, n))
    assert medians(rows).tolist() == [median(row) for row in rows]
    for share in (0.0, 0.05, 0.5, 0.95, 1.0):
        found = quantile_of_sorted(np.sort(rows, axis=1), share)
        assert found.tolist() == [quantiles(row, [share])[0] for row in rows]


@pytest.mark.parametrize("n", [12, 60, 241, 2000])
def test_robust_lines_are_those_of_each_row(n: int) -> None:
    rng = np.random.default_rng(n)
    x = np.arange(n) - n // 2 + 0.0
    rows = x / 12.0 + rng.standard_t(2, (6, n)) * 1e-3
    slopes, levels, is_sound = robust_lines(x, rows)
    assert is_sound.all()
    assert list(zip(slopes, levels, strict=True)) == [robust_line(x, row) for row in rows]


def test_row_on_a_line_exactly_is_told_and_spoils_no_other() -> None:
    x = np.arange(100) - 50.0
    rows = np.array([x, x + np.random.default_rng(3).normal(0.0, 0.1, 100)])
    slopes, levels, is_sound = robust_lines(x, rows)
    assert is_sound.tolist() == [False, True]
    assert (slopes[1], levels[1]) == robust_line(x, rows[1])
