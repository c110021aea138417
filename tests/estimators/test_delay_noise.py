"""How far residuals may lie from zero."""

import numpy as np
from scipy.ndimage import uniform_filter1d

from syncaudit.estimators.delay.model import moving_mean, noise_of_motion


def test_errors_grow_with_the_motion_unless_they_are_even():
    rng = np.random.default_rng(1)
    motion = np.repeat([0.0, 1.0], 300)[:, None]
    residuals = rng.normal(size=(600, 2)) * (0.01 + motion)
    noise, spread = noise_of_motion(residuals, motion * np.ones((1, 2)))
    assert spread[-1].min() > 10.0 * spread[0].max()
    even_noise, even = noise_of_motion(residuals, motion * np.ones((1, 2)), is_even=True)
    assert np.array_equal(even_noise, noise)
    assert np.array_equal(even, np.ones_like(residuals))


def test_mean_of_squares_is_not_negative_where_a_signal_becomes_constant():
    """Rounding of a running sum below zero made rests look infinitely informative."""
    squares = np.append(np.random.default_rng(2).uniform(0.0, 1e6, 200), np.full(200, 1e-30))
    assert uniform_filter1d(squares, 5).min() < 0.0
    assert moving_mean(squares).min() >= 0.0
