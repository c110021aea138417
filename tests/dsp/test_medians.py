"""Medians of short columns are those of NumPy, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.ndimage import median_filter

from syncaudit.dsp.robust import median, median_of_five, nearest_quantiles, quantiles

numbers = st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=60)
shares = st.floats(0.0, 1.0)


@given(numbers)
def test_median_is_that_of_numpy(values: list[float]) -> None:
    column = np.array(values)
    assert median(column) == np.median(column)
    assert column.tolist() == values  # left unchanged


@pytest.mark.parametrize("n", [1023, 1024, 1025, 1026])
def test_median_of_long_columns_is_that_of_numpy(n: int) -> None:
    column = np.random.default_rng(n).normal(size=n)
    assert median(column) == np.median(column)


@given(numbers)
def test_running_median_is_that_of_scipy(values: list[float]) -> None:
    column = np.array(values)
    expected = median_filter(column, size=5, mode="nearest")
    assert median_of_five(column).tolist() == expected.tolist()


@pytest.mark.parametrize("n", [1, 2, 5, 40])
def test_running_medians_of_rows_are_those_of_each(n: int) -> None:
    rows = np.random.default_rng(n).normal(size=(4, n))
    assert median_of_five(rows).tolist() == [median_of_five(row).tolist() for row in rows]


@given(numbers, st.lists(shares, min_size=1, max_size=4))
def test_quantiles_are_those_of_numpy(values: list[float], wanted: list[float]) -> None:
    column = np.array(values)
    assert quantiles(column, wanted) == np.quantile(column, wanted).tolist()


@given(st.lists(st.integers(-(2**62), 2**62), min_size=1, max_size=60), shares)
def test_nearest_quantile_is_that_of_numpy(values: list[int], share: float) -> None:
    column = np.array(values, dtype=np.int64)
    assert nearest_quantiles(column, [share]) == [np.quantile(column, share, method="nearest")]


@pytest.mark.parametrize("n", [2, 3, 4, 5, 1001, 2001])
def test_nearest_quantile_halfway_takes_the_even_place(n: int) -> None:
    column = np.arange(n, dtype=np.int64)
    wanted = [0.5, 0.25, 0.75, 0.001, 0.999]
    expected = np.quantile(column, wanted, method="nearest")
    assert nearest_quantiles(column, wanted) == expected.tolist()
