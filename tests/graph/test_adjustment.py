"""The least squares behind the clock solution."""

from __future__ import annotations

import numpy as np
import pytest

from syncaudit.graph.network import adjust, fit


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


def test_equation_that_a_blunder_masks_is_kept() -> None:
    # One unknown measured ten times: a blunder of 20 sigma and a value at 4.2 sigma from the mean
    # of all, which is 2.2 sigma once the blunder is gone.
    y = np.array([20.0, -2.2, *np.zeros(8)])
    result = adjust(np.ones((10, 1)), y, np.ones(10), np.arange(10))
    assert result.is_outlier.tolist() == [True] + [False] * 9


def test_blunder_is_not_explained_by_what_another_blunder_widened() -> None:
    # Four clocks, all pairs: pair (0, 2) is off by 16 sigma, and (2, 3) by 13. Of the latter's loop
    # any may be wrong, and a blunder fits what is that uncertain.
    pairs = [(0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3)]
    A = np.array([[float(clock == i) - float(clock == j) for clock in (1, 2, 3)] for i, j in pairs])
    result = adjust(A, np.array([0.0, 16.0, 0.0, 0.0, 0.0, 13.0]), np.ones(6), np.arange(6))
    assert result.is_outlier.tolist() == [False, True, False, False, False, False]
    assert np.all(np.abs(result.fit.x) < 2.0 * np.sqrt(np.diag(result.fit.covariance)))


def test_equations_of_one_measurement_fall_together() -> None:
    A = np.kron(np.eye(2), np.ones((4, 1)))
    y = np.array([50.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    result = adjust(A, y, np.ones(8), np.array([0, 1, 2, 3, 0, 1, 2, 3]))
    assert result.is_outlier.tolist() == [True, False, False, False] * 2
