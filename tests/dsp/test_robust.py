"""Robust scale and correlated scores against their definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncaudit.dsp.robust import (
    block_covariance,
    cauchy_weights,
    hac_covariance,
    mad_std,
    mad_std_of_columns,
    student_widening,
)


def test_scale_of_normal_values_is_their_standard_deviation():
    values = 3.0 * np.random.default_rng(1).normal(size=200_001)
    assert abs(mad_std(values) - 3.0) < 0.03  # 3 sigma of the median of that many samples


def test_scale_ignores_a_third_of_outliers_and_the_shape():
    values = np.random.default_rng(2).normal(size=(300, 3))
    spoiled = values.copy()
    spoiled[::3] = 1e6
    assert mad_std(spoiled) < 2.0
    assert mad_std(values) == mad_std(values.ravel())


def test_scale_of_odd_counts_is_the_median():
    assert mad_std(np.array([-5.0, 1.0, 2.0])) == 1.4826 * 2.0
    assert mad_std(np.array([4.0])) == 1.4826 * 4.0


def test_scale_of_columns_is_that_of_each():
    values = np.random.default_rng(8).normal(size=(30, 3)) * [1.0, 5.0, 0.1]
    assert mad_std_of_columns(values).tolist() == [mad_std(column) for column in values.T]


def test_scale_of_nothing_is_zero():
    assert mad_std(np.zeros(0)) == 0.0


@given(st.floats(-1e3, 1e3))
def test_weights_fall_from_one_as_cauchy(scaled):
    weight = float(cauchy_weights(np.array([scaled]))[0])
    assert 0.0 < weight <= 1.0
    assert weight == float(cauchy_weights(np.array([-scaled]))[0])
    assert abs(weight * (1.0 + (scaled / 2.385) ** 2) - 1.0) < 1e-12


def test_serially_correlated_scores_against_the_double_sum():
    scores = np.random.default_rng(3).normal(size=(40, 2))
    n_lags = 5
    direct = np.zeros((2, 2))
    for i in range(40):
        for j in range(40):
            kernel = max(0.0, 1.0 - abs(i - j) / (n_lags + 1))
            direct += kernel * np.outer(scores[i], scores[j])
    assert np.max(np.abs(hac_covariance(scores, n_lags=n_lags) - direct)) < 1e-10


def test_no_lags_is_the_white_sandwich():
    scores = np.random.default_rng(4).normal(size=(30, 3))
    assert np.max(np.abs(hac_covariance(scores, n_lags=0) - scores.T @ scores)) < 1e-10


def test_lags_beyond_the_data_are_harmless():
    scores = np.random.default_rng(5).normal(size=(4, 1))
    assert np.isfinite(hac_covariance(scores, n_lags=50)).all()


@given(st.integers(0, 2**31), st.integers(0, 12))
def test_sandwich_is_never_negative(seed, n_lags):
    scores = np.cumsum(np.random.default_rng(seed).normal(size=(25, 3)), axis=0)
    assert np.linalg.eigvalsh(hac_covariance(scores, n_lags=n_lags)).min() > -1e-8


def test_blocks_are_those_of_a_split_array():
    scores = np.random.default_rng(7).normal(size=(47, 2))
    sums = np.stack([block.sum(axis=0) for block in np.array_split(scores, 10)])
    known = 10.0 * np.cov(sums.T)
    assert np.max(np.abs(block_covariance(scores, n_blocks=10) - known)) < 1e-10


def test_positive_correlation_raises_the_variance():
    white = np.random.default_rng(6).normal(size=(2000, 1))
    smooth = np.apply_along_axis(np.convolve, 0, white, np.ones(5) / 5**0.5, mode="same")
    ratio = hac_covariance(smooth, n_lags=20)[0, 0] / hac_covariance(smooth, n_lags=0)[0, 0]
    assert 3.5 < ratio < 5.5  # five in the limit


def test_blocks_against_the_direct_formula():
    scores = np.random.default_rng(7).normal(size=(103, 2))
    sums = np.array([part.sum(axis=0) for part in np.array_split(scores, 10)])
    direct = 10 * np.cov(sums.T)  # ten sums of equal variance
    assert np.max(np.abs(block_covariance(scores, n_blocks=10) - direct)) < 1e-10


def test_blocks_agree_with_white_noise_on_average():
    rng = np.random.default_rng(8)
    found = [block_covariance(rng.normal(size=(200, 1)), n_blocks=10)[0, 0] for _ in range(400)]
    # chi-square of nine: standard error of the mean of 400 is 2.4 %
    assert np.mean(found) == pytest.approx(200.0, abs=15.0)


@pytest.mark.parametrize(("n_free", "quantile"), [(1, 12.7062), (2, 4.30265), (9, 2.26216)])
def test_few_degrees_of_freedom_widen_an_interval(n_free, quantile):
    """Quantiles as printed in tables of Student's t."""
    assert student_widening(n_free) == pytest.approx(quantile / 1.96, rel=1e-5)
