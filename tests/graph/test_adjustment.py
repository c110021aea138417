"""The least squares behind the clock solution."""

from __future__ import annotations

import numpy as np
import pytest

from syncaudit.graph.adjustment import adjust, fit


def test_weighted_mean_of_one_unknown() -> None:
    solved = fit(
        np.ones((2, 1)), np.array([0.0, 4.0]), np.array([1.0, 3.0]), np.ones(2, dtype=np.bool_)
    )
    assert solved.x == pytest.approx([1.0])
    assert solved.covariance[0, 0] == pytest.approx(0.75)
    assert solved.leverage_var == pytest.approx([0.75, 0.75])


def test_unknown_that_nothing_determines_stays_finite() -> None:
    A = np.array([[1.0, 1.0], [1.0, 1.0]])
    solved = fit(A, np.array([1.0, 1.0]), np.ones(2), np.ones(2, dtype=np.bool_))
    assert np.all(np.isfinite(solved.x))
    assert A @ solved.x == pytest.approx([1.0, 1.0])


def test_no_unknowns_leave_the_residuals() -> None:
    solved = fit(np.zeros((1, 0)), np.array([2.0]), np.ones(1), np.ones(1, dtype=np.bool_))
    assert solved.residuals == pytest.approx([2.0])


def test_equation_that_was_masked_by_a_blunder_is_readmitted() -> None:
    # One unknown measured ten times: a blunder of 20 sigma and a value at 4.2 sigma from the mean
    # of all, which is 2.2 sigma once the blunder is gone.
    y = np.array([20.0, -2.2, *np.zeros(8)])
    result = adjust(np.ones((10, 1)), y, np.ones(10), np.arange(10))
    assert result.is_outlier.tolist() == [True] + [False] * 9


def test_equations_of_one_measurement_fall_together() -> None:
    A = np.kron(np.eye(2), np.ones((4, 1)))
    y = np.array([50.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    result = adjust(A, y, np.ones(8), np.array([0, 1, 2, 3, 0, 1, 2, 3]))
    assert result.is_outlier.tolist() == [True, False, False, False] * 2
