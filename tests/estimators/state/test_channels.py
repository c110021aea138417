import numpy as np

from syncaudit.estimators.state.states import _independent_channels


def test_channels_at_rest_count_as_one():
    assert _independent_channels(np.zeros((40, 3))) == 1.0
    moving = np.random.default_rng(1).normal(size=(4000, 3))
    assert abs(_independent_channels(moving) - 3.0) < 0.1
