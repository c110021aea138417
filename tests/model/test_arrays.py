"""Arrays are validated on construction of a model type and are read-only afterwards."""

import numpy as np
import pytest

from syncaudit.model import arrays


def test_stamps_become_read_only_integers():
    found = arrays.stamps("time_ns", [3, 1, 2])
    assert found.dtype == np.int64
    assert found.tolist() == [3, 1, 2]
    with pytest.raises(ValueError, match="read-only"):
        found[0] = 9


def test_no_stamps_are_stamps():
    assert arrays.stamps("time_ns", []).dtype == np.int64


def test_float_stamps_are_refused():
    with pytest.raises(TypeError, match="time_ns must be integer nanoseconds, got float64"):
        arrays.stamps("time_ns", [1.0])


def test_stamps_are_one_column():
    with pytest.raises(ValueError, match=r"time_ns must have shape \(n,\), got \(1, 2\)"):
        arrays.stamps("time_ns", [[1, 2]])


def test_column_of_the_wrong_length():
    with pytest.raises(ValueError, match=r"std_s must have shape \(3,\), got \(2,\)"):
        arrays.finite_column("std_s", [1.0, 2.0], n=3)


def test_column_of_two_dimensions():
    with pytest.raises(ValueError, match=r"std_s must have shape \(n,\), got \(1, 1\)"):
        arrays.finite_column("std_s", [[1.0]])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite(bad):
    with pytest.raises(ValueError, match="times_s holds 1 non-finite values"):
        arrays.finite_column("times_s", [0.0, bad])
    with pytest.raises(ValueError, match="values holds 2 non-finite values"):
        arrays.finite_matrix("values", [[bad, 0.0], [1.0, bad]])


@pytest.mark.parametrize(
    ("values", "options", "shape"),
    [
        ([1.0], {}, r"\(n, d\), got \(1,\)"),
        ([[1.0]], {"n": 2}, r"\(2, d\), got \(1, 1\)"),
        ([[1.0]], {"width": 3}, r"\(n, 3\), got \(1, 1\)"),
    ],
)
def test_matrix_of_the_wrong_shape(values, options, shape):
    with pytest.raises(ValueError, match=f"values must have shape {shape}"):
        arrays.finite_matrix("values", values, **options)


def test_callers_array_stays_writable():
    mine = np.zeros(3)
    frozen = arrays.finite_column("times_s", mine)
    mine[0] = 1.0
    assert not frozen.flags.writeable
