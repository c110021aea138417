"""How far residuals may lie from zero."""

import numpy as np

from syncaudit.estimators.delay.model import noise_of_motion


def test_errors_grow_with_the_motion_unless_they_are_even():
    rng = np.random.default_rng(1)
    motion = np.repeat([0.0, 1.0], 300)[:, None]
    residuals = rng.normal(size=(600, 2)) * (0.01 + motion)
    noise, spread = noise_of_motion(residuals, motion * np.ones((1, 2)))
    assert spread[-1].min() > 10.0 * spread[0].max()
    even_noise, even = noise_of_motion(residuals, motion * np.ones((1, 2)), is_even=True)
    assert np.array_equal(even_noise, noise)
    assert np.array_equal(even, np.ones_like(residuals))
