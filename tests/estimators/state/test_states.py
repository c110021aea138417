"""States against states: one delay for all channels or none, and the same from either side."""

import re
from dataclasses import replace

import numpy as np
import pytest

from syncaudit.estimators.state.states import measure_states
from syncaudit.model import Quantity
from testkit.streams import activity
from testkit.working_arm import arm, joints

# Three standard errors of a typical clip of 12 s.
TOLERANCE_S = 0.008


def following(course, lags_s, seconds=12.0, rate_hz=30.0, seed=0):
    """Return a command with one channel per lag, and the state that trails it by these lags."""
    rng = np.random.default_rng([seed, 9])
    times_s = np.arange(round(seconds * rate_hz)) / rate_hz
    turns = rng.normal(size=(course.command(times_s).shape[1], len(lags_s)))

    def read(late_s):
        places = np.stack(
            [
                course.command(times_s - late) @ turn
                for late, turn in zip(late_s, turns.T, strict=True)
            ],
            axis=1,
        )
        return places + 0.02 * rng.normal(size=places.shape)

    told, did = (
        activity(name, quantity, times_s, values)
        for name, quantity, values in (
            ("action", Quantity.COMMAND, read(np.zeros(len(lags_s)))),
            ("state", Quantity.STATE, read(np.array(lags_s))),
        )
    )
    return told, did


@pytest.mark.parametrize("seed", range(3))
def test_channels_that_lag_differently_have_no_one_delay(seed):
    pair = measure_states(*following(arm(seed), [0.1] * 4 + [0.3] * 3, seed=seed))
    assert not pair.accepted
    assert "channels lag differently: of those of state that follow action" in pair.why
    assert re.search(r"4 by (99|10[0-4])[. ].* and 3 by (299|300|301)[. ]", pair.why), pair.why


@pytest.mark.parametrize("seed", range(3))
def test_a_gripper_with_a_lag_of_its_own_is_left_out(seed):
    pair = measure_states(*following(arm(seed), [0.1] * 6 + [0.3], seed=seed))
    assert pair.accepted, pair.why
    assert abs(pair.offset_s - 0.1) < TOLERANCE_S
    assert pair.diagnostics["channels"] == 7.0
    assert pair.diagnostics["channels_alike"] == 6.0


def test_the_error_holds_lags_that_scatter():
    lags_s = [0.08, 0.12, 0.1, 0.06, 0.14, 0.1]
    told, did = following(arm(4), lags_s, seed=4)
    plain = measure_states(*following(arm(4), [0.1] * 6, seed=4))
    pair = measure_states(told, did)
    assert pair.accepted, pair.why
    assert abs(pair.offset_s - 0.1) < 3.0 * pair.offset_std_s
    # The standard deviation of the lags, 26 ms, over the root of six channels.
    assert pair.offset_std_s > plain.offset_std_s + 0.004


def pairs():
    course = arm(8)
    other = replace(joints(course, late_s=0.06), source="encoders")
    yield joints(arm(7, lag_s=0.12), is_command=True), joints(arm(7, lag_s=0.12))
    yield other, joints(course)
    yield replace(other, epoch_ns=10**18), joints(course, rate_hz=100.0)
    yield following(arm(1), [0.1] * 4 + [0.3] * 3)
    yield following(arm(2), [0.1] * 6 + [0.3])
    yield joints(course), replace(joints(arm(30)), source="other")
    still = joints(course)
    yield still, replace(still, source="still", values=np.ones_like(still.values))


@pytest.mark.parametrize("case", range(7))
def test_swapping_the_sides_negates(case):
    one, other = list(pairs())[case]
    there, back = measure_states(one, other), measure_states(other, one)
    assert (there.accepted, there.why) == (back.accepted, back.why)
    assert (there.source, there.target) == (back.target, back.source)
    if there.accepted:
        assert there.offset_s == -back.offset_s
        assert there.offset_std_s == back.offset_std_s


def test_drift_is_seen_from_either_side():
    course = arm(3, 25.0)
    state = joints(course, 25.0)
    slow = replace(state, source="slow", times_s=state.times_s * (1.0 + 2e-3))
    there, back = measure_states(slow, state), measure_states(state, slow)
    assert there.accepted, there.why
    assert abs(there.drift_ppm + 2000.0) < 3.0 * there.drift_std_ppm + 4.0
    # For the inverse of 1 - 0.002.
    assert abs(back.drift_ppm - 2004.0 - (-2000.0 - there.drift_ppm)) < 1.0
    assert abs(back.at_ns - there.at_ns - 1e9 * there.offset_s) <= 1.0


@pytest.mark.parametrize("n", [90, 110, 130])
def test_channels_at_rest_where_the_sides_overlap_tell_nothing(n):
    course = arm(42)
    times_s = np.arange(n) / 30.0
    noise = 0.02 * np.random.default_rng(42).normal(size=course.command(times_s).shape)
    told, did = (
        replace(joints(course, is_command=is_command), times_s=times_s, values=values)
        for is_command, values in (
            (True, course.command(times_s)),
            (False, course.command(times_s - 0.1) + noise),
        )
    )
    pair = measure_states(told, did)
    assert pair.accepted, pair.why
    assert abs(pair.offset_s - 0.1) < TOLERANCE_S
