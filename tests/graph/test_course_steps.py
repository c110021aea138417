"""Where a clock stepped, distinguished from wander and from single wrong clips."""

import numpy as np
import pytest

from syncaudit.graph.clock_filter import Readings
from syncaudit.graph.course import find_step

STD_S = 8e-4


def readings(offsets_s, missing=()):
    n = offsets_s.size
    precision = np.full(n, STD_S**-2)
    precision[list(missing)] = 0.0
    return Readings(
        times_s=20.0 * np.arange(n), offsets_s=offsets_s, precision=precision, step_std_s=1.0
    )


def jumping(seed, n, after, size_s):
    noise = STD_S * np.random.default_rng(seed).normal(size=n)
    return noise + size_s * (np.arange(n) > after)


@pytest.mark.parametrize("after", [1, 9, 17])
def test_a_reboot_is_found_with_two_clips_on_either_side(after):
    assert find_step(readings(jumping(1, 20, after, 0.03)), ()) == after


@pytest.mark.parametrize("after", [0, 18])
def test_one_clip_alone_is_no_step(after):
    assert find_step(readings(jumping(1, 20, after, 0.03)), ()) is None


def test_a_known_step_is_not_found_again():
    assert find_step(readings(jumping(1, 20, 9, 0.03)), {9}) is None


def test_a_second_step_is_found_beside_a_known_one():
    offsets_s = jumping(1, 20, 5, 0.03) - 0.02 * (np.arange(20) > 12)
    assert find_step(readings(offsets_s), {5}) == 12


def test_a_step_over_a_gap_lies_before_the_next_measured_clip():
    assert find_step(readings(jumping(1, 20, 9, 0.03), missing=(9, 10, 11)), ()) == 11


def test_a_straight_drift_is_no_step():
    drifting = 2e-3 * np.arange(20.0) + jumping(2, 20, 0, 0.0)
    assert find_step(readings(drifting), ()) is None


def test_three_clips_have_no_step():
    assert find_step(readings(np.array([0.0, 0.0, 0.5])), ()) is None
