"""Robot state tables as one activity."""

import numpy as np
import pytest

from syncaudit.detectors import find_state
from syncaudit.detectors.signals import why_no_state
from syncaudit.model import Channel, Quantity, SignalStream, SourceKind

T_S = np.arange(60) / 30.0
SWEEP = np.sin(2.0 * T_S)


def stream(channels, *, name="state", time_ns=None, kind=SourceKind.STATE, **known):
    stamps = np.rint(T_S * 1e9).astype(np.int64) if time_ns is None else time_ns
    return SignalStream(
        name=name,
        clock=name,
        kind=kind,
        time_ns=stamps,
        channels=tuple(
            Channel(name=key, time_ns=stamps, values=np.atleast_2d(np.asarray(values).T).T)
            for key, values in channels.items()
        ),
        **known,
    )


def test_moving_channels_become_the_columns():
    found = find_state(stream({"a": np.stack([SWEEP, 2 * SWEEP], axis=1), "b": SWEEP}))
    assert found.quantity is Quantity.STATE
    np.testing.assert_allclose(found.values, np.stack([SWEEP, 2 * SWEEP, SWEEP], axis=1))


@pytest.mark.parametrize("name", ["action", "arm_cmd", "joint_target", "leader_joints"])
def test_commands_are_known_by_name(name):
    assert find_state(stream({"q": SWEEP}, name=name)).quantity is Quantity.COMMAND


def test_channels_may_name_commands_too():
    assert find_state(stream({"action_1": SWEEP}, name="table")).quantity is Quantity.COMMAND
    mixed = stream({"action_1": SWEEP, "q": SWEEP}, name="table")
    assert find_state(mixed).quantity is Quantity.STATE


def test_manifest_overrules_the_name():
    assert find_state(stream({"q": SWEEP}, name="action", is_command=False)).quantity is (
        Quantity.STATE
    )
    assert find_state(stream({"q": SWEEP}, is_command=True)).quantity is Quantity.COMMAND


def test_velocities_are_summed_up():
    rate = 2.0 * np.cos(2.0 * T_S)
    for found in (
        find_state(stream({"qvel": rate})),
        find_state(stream({"q": rate}, is_rate=True)),
    ):
        # Error of the trapezoidal rule at 30 Hz on a 0.3 Hz signal.
        np.testing.assert_allclose(found.values[:, 0], SWEEP, atol=1e-3)
    assert find_state(stream({"qvel": rate}, is_rate=False)).values[0, 0] == 2.0


def test_commanded_steps_are_reached_at_the_next_command():
    steps = np.diff(SWEEP, append=SWEEP[-1])
    found = find_state(stream({"delta": 30.0 * steps}, is_command=True))
    np.testing.assert_allclose(found.values[:, 0], SWEEP - SWEEP[0], atol=1e-6)


def test_a_dead_channel_takes_no_other_with_it():
    dead = np.full(60, np.nan)
    found = find_state(stream({"q": np.stack([dead, SWEEP], axis=1), "r": dead}))
    np.testing.assert_allclose(found.values, SWEEP[:, None])


@pytest.mark.parametrize("turn", [2.0 * np.pi, 360.0])
def test_angles_that_run_over_their_end_are_unwrapped(turn):
    angle = 1.3 * turn * T_S
    wrapped = (angle + 0.5 * turn) % turn - 0.5 * turn
    found = find_state(stream({"roll": wrapped}))
    np.testing.assert_allclose(np.diff(found.values[:, 0]), np.diff(angle), atol=1e-9)


def test_switches_efforts_and_what_stands_still_are_no_motion():
    still = np.full(60, 3.0)
    grip = (T_S > 1.0).astype(float)
    assert find_state(stream({"still": still, "grip": grip, "effort": SWEEP})) is None
    assert find_state(stream({"q": SWEEP}, name="joint_torque")) is None


def test_samples_that_are_no_evidence_are_left_out():
    values = SWEEP.copy()
    values[7] = np.nan
    stamps = np.rint(T_S * 1e9).astype(np.int64)
    stamps[20] = stamps[10]
    found = find_state(stream({"q": values}, time_ns=stamps))
    np.testing.assert_allclose(found.values[:, 0], np.delete(SWEEP, [7, 20]))
    assert np.diff(found.times_s).min() > 0.0


def test_other_kinds_and_short_tables_hold_no_state():
    assert find_state(stream({"q": SWEEP}, kind=SourceKind.CAN)) is None
    assert find_state(stream({"q": SWEEP[:5]}, time_ns=np.arange(5) * 10**7)) is None
    empty = stream({"q": np.zeros((0, 1))}, time_ns=np.zeros(0, np.int64))
    assert find_state(empty) is None


def test_forces_alone_ask_for_the_clock_that_they_share():
    wrench = stream({"force_x": SWEEP, "torque_x": SWEEP}, name="wrench")
    assert find_state(wrench) is None
    assert 'state one "clock" for both' in why_no_state(wrench)
