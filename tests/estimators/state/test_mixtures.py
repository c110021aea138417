"""Mixtures are recomputed at the delay they yield."""

import numpy as np
import pytest

from syncaudit.estimators.delay.increments import Increments
from syncaudit.estimators.state.driver import state_driver
from syncaudit.estimators.state.search import fit_mixtures, search_state
from testkit.working_arm import arm, joints, pictures

# A twentieth of a frame period at 10 Hz.
TOLERANCE_S = 0.005


@pytest.mark.parametrize("apart_s", [-0.1, 0.1])
def test_search_that_ends_a_period_off_moves_nothing(apart_s):
    course = arm(21, 20.0)
    camera = pictures(course, 21, 20.0, fps=10.0, late_s=0.4)
    increments = Increments(
        start_s=camera.start_s,
        stop_s=camera.stop_s,
        values=camera.moves,
        weights=np.ones_like(camera.moves),
    )
    driver = state_driver(
        joints(course, 20.0, rate_hz=10.0), slower_s=0.1, n_rows=199, is_linear=False
    )
    start_s = -0.4 + apart_s
    foretold = search_state(increments, driver, np.array([start_s]))
    mixed, mixing, fit = fit_mixtures(increments, driver, foretold, start_s=start_s)
    assert abs(fit.offset_s + 0.4) < TOLERANCE_S
    assert mixing.shape == (driver.n_channels, mixed.values.shape[1])


def test_too_few_rows_have_no_fit():
    course = arm(22)
    camera = pictures(course, 22)
    increments = Increments(
        start_s=camera.start_s[:10],
        stop_s=camera.stop_s[:10],
        values=camera.moves[:10],
        weights=np.ones_like(camera.moves[:10]),
    )
    driver = state_driver(joints(course), slower_s=0.05, n_rows=60, is_linear=False)
    whole = Increments(
        start_s=camera.start_s,
        stop_s=camera.stop_s,
        values=camera.moves,
        weights=np.ones_like(camera.moves),
    )
    foretold = search_state(whole, driver, np.array([0.0]))
    _, _, fit = fit_mixtures(increments, driver, foretold, start_s=0.0)
    assert fit is None
