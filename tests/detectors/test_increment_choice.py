"""Which frame pairs are tracked when a gyroscope indicates where a camera's delay is measurable."""

from dataclasses import replace

import numpy as np
import pytest

from syncaudit.detectors import choose_increments
from syncaudit.detectors.rotation.detector import (
    AVERAGE_S,
    MAX_CHOSEN,
    MIN_CHOSEN,
    MIN_IN_PART,
    PART_S,
)
from syncaudit.model import Quantity
from testkit.streams import activity, camera_stream

EPOCH_NS = 1_767_225_600_000_000_000
RATE_HZ = 200.0


def camera(n=600, fps=30.0, start_s=0.0):
    stamps = EPOCH_NS + np.rint((start_s + np.arange(n) / fps) * 1e9).astype(np.int64)
    return camera_stream(stamps, width_px=640, height_px=480)


def gyro(rate, start_s=0.0, stop_s=20.0, epoch_ns=EPOCH_NS):
    """Return a gyroscope that rotates by `rate(times)` about one axis."""
    times_s = np.arange(start_s, stop_s, 1.0 / RATE_HZ)
    values = np.zeros((times_s.size, 3))
    values[:, 2] = rate(times_s)
    return activity("imu", Quantity.ANGULAR_RATE, times_s, values, epoch_ns=epoch_ns)


def turn(at_s, width_s=0.5):
    return lambda t: np.exp(-0.5 * ((t - at_s) / width_s) ** 2)


def wobble(t):
    return 0.05 * np.sin(2.0 * np.pi * 0.5 * t)


def test_frames_are_chosen_where_the_rate_changes():
    chosen = choose_increments(camera(), gyro(turn(8.0)))
    # A bell curve is steepest one width from its middle.
    steep = np.abs(np.abs(np.arange(600) / 30.0 - 8.0) - 0.5) < 0.2
    assert chosen[steep].all()
    # Six widths away there is no rotation: no more increments than every part gets.
    far = np.abs(np.flatnonzero(chosen) / 30.0 - 8.0) > 6.5 * 0.5
    assert far.sum() <= 10 * MIN_IN_PART


def test_parts_in_which_little_happens_have_some_frames_too():
    chosen = choose_increments(camera(), gyro(turn(8.0)))
    for part in np.array_split(chosen, round(20.0 / PART_S)):
        assert part.sum() >= MIN_IN_PART - 1  # parts of increments and of frames differ


def test_lively_clips_need_fewer_frames():
    lively = choose_increments(camera(), gyro(lambda t: 20.0 * wobble(t)))
    dull = choose_increments(camera(), gyro(wobble))
    assert lively.sum() == MIN_CHOSEN
    assert dull.sum() == MAX_CHOSEN


def test_clocks_half_an_averaging_time_apart_change_little():
    rate = gyro(turn(8.0))
    here = choose_increments(camera(), rate)
    late = choose_increments(camera(start_s=0.5 * AVERAGE_S), rate)
    assert (here & late).sum() > 0.7 * here.sum()


def test_every_span_keeps_some():
    """Drift needs all of a long clip, however little rotation some parts of it have."""
    chosen = choose_increments(camera(n=2400), gyro(turn(8.0), stop_s=81.0))
    per_span = chosen[4:].reshape(4, 599).sum(axis=1)
    assert per_span.min() > 0.9 * MIN_CHOSEN


@pytest.mark.parametrize("n", [0, 1, 2, 3, MIN_CHOSEN, MIN_CHOSEN + 1])
def test_few_frames_are_all_tracked(n):
    assert choose_increments(camera(n=n), gyro(turn(1.0))) is None


def test_a_slow_camera_keeps_enough():
    chosen = choose_increments(camera(n=60, fps=3.0), gyro(wobble))
    assert chosen.sum() == MIN_CHOSEN


def test_a_gyroscope_that_was_off_chooses_nothing():
    assert choose_increments(camera(), gyro(turn(1.0), stop_s=12.0)) is None
    assert choose_increments(camera(), gyro(turn(1.0), epoch_ns=0)) is None


def test_absurd_stamps_choose_nothing():
    stream = camera()
    stamps = stream.time_ns.copy()
    stamps[5] = np.iinfo(np.int64).max
    assert choose_increments(replace(stream, time_ns=stamps), gyro(turn(1.0))) is None


def test_only_frames_that_are_looked_at_are_chosen():
    wanted = np.zeros(600, dtype=np.bool_)
    wanted[100:300] = True
    chosen = choose_increments(camera(), gyro(turn(15.0)), wanted=wanted)
    assert chosen.sum() >= MIN_CHOSEN
    # The first of them has no preceding frame to compare with.
    assert not chosen[:101].any()
    assert not chosen[300:].any()
