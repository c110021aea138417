"""Single wrong clips lose their weight, and clocks that merely wander do not."""

import numpy as np
import pytest

from syncaudit.graph.clock_filter import Readings
from syncaudit.graph.course import first_weights, follow_clock

START_NS = 1_767_225_600_000_000_000
STD_S = 8e-4


def readings(offsets_s):
    n = offsets_s.size
    return Readings(
        times_s=20.0 * np.arange(n),
        offsets_s=offsets_s,
        precision=np.full(n, STD_S**-2),
        step_std_s=1.0,
    )


@pytest.mark.parametrize("k", [0, 1, 7, 18, 19])
def test_a_wrong_clip_hardly_counts_anywhere(k):
    offsets_s = STD_S * np.random.default_rng(2).normal(size=20)
    offsets_s[k] += 0.1
    weights = first_weights(readings(offsets_s))
    assert weights[k] < 1e-3
    assert np.all(np.delete(weights, k) == 1.0)


def test_a_drifting_or_stepping_clock_keeps_its_weights():
    offsets_s = 2e-3 * np.arange(20.0)
    assert np.all(first_weights(readings(offsets_s)) == 1.0)
    assert np.all(first_weights(readings(np.where(offsets_s > 0.02, 0.03, 0.0))) == 1.0)


def test_few_clips_are_all_believed():
    assert np.all(first_weights(readings(np.array([0.0, 0.0, 5.0, 0.0]))) == 1.0)


@pytest.mark.parametrize("wrong_s", [0.02, 1.0, 1000.0])
def test_one_gross_error_does_not_bend_the_course(wrong_s):
    rng = np.random.default_rng(7)
    offsets_s = 1e-6 * 20.0 * np.arange(40) + STD_S * rng.normal(size=40)
    at_ns = START_NS + 20_000_000_000 * np.arange(40)
    stds = [STD_S] * 40
    clean = follow_clock("cam", at_ns, offsets_s.tolist(), stds)
    offsets_s[13] += wrong_s
    bent = follow_clock("cam", at_ns, offsets_s.tolist(), stds)
    assert not bent.steps
    # A quarter of what forty clips claim.
    assert bent.offset_s == pytest.approx(clean.offset_s, abs=0.25 * STD_S)
