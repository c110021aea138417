"""A clock step is found where there is one, and nowhere else."""

import numpy as np
import pytest
from scipy.stats import f as f_distribution

from syncaudit.dsp.integral import integrate_samples
from syncaudit.estimators.delay import clock_step
from syncaudit.estimators.delay.clock_step import (
    MIN_CHI2_GAIN,
    ClockStep,
    _best_split,
    find_step,
    is_uneven,
)
from syncaudit.estimators.delay.fit import fit_delay
from syncaudit.estimators.delay.increments import from_integral, from_rotation
from syncaudit.estimators.delay.parts import compare_other_delays, find_deviant_end
from syncaudit.estimators.inertial import measure_imu_imu
from testkit.moving_body import Bursts, Clock, camera, imu, shaking


def deviant_end_of(fit):
    return find_deviant_end(compare_other_delays(fit))


def recorded(seed, clock, highest_hz=4.0, **cam):
    """Return the increments of a camera, and the motion that a gyroscope records."""
    motion = shaking(seed, highest_hz=highest_hz)
    gyro = imu(motion, seed, seconds=cam.get("seconds", 20.0))
    driver = integrate_samples(gyro.times_s, gyro.values, is_smooth=True)
    return from_rotation(camera(motion, seed, clock=clock, **cam)), driver


def fitted(seed, clock, highest_hz=4.0, start_s=0.0):
    return fit_delay(*recorded(seed, clock, highest_hz), start_s=start_s)


def searched(seed, clock, highest_hz=4.0, start_s=0.0, **cam):
    rows, driver = recorded(seed, clock, highest_hz, **cam)
    fit = fit_delay(rows, driver, start_s=start_s)
    return find_step(rows, driver, fit, deviant_end_of(fit))


@pytest.mark.parametrize("at_s", [5.0, 10.0, 14.5])
@pytest.mark.parametrize("step_s", [0.06, -0.025])
def test_step_is_found_in_place_and_size(at_s, step_s):
    found = searched(1, Clock(step_s=step_s, step_at_s=at_s))
    # timestamps that jump ahead need less to be added
    assert abs(found.step_s + step_s) < 4.0 * found.step_std_s + 1e-4
    assert found.step_std_s < 1e-3
    # four frames of 83 ms
    assert abs(found.at_s - at_s) < 0.34


@pytest.mark.parametrize(
    ("seed", "step_s", "drift_ppm"),
    [
        (seed, step_s, drift_ppm)
        for row, drift_ppm in enumerate((0.0, 80.0, 200.0))
        for seed, step_s in zip((1, 2, 1 + row % 2), (0.01, 0.03, -0.1), strict=True)
    ],
)
def test_step_beside_a_drift(seed, step_s, drift_ppm):
    """The step is not part of the drift, and the drift is not part of the step."""
    clock = Clock(step_s=step_s, step_at_s=22.0, drift_ppm=drift_ppm, middle_s=20.0)
    found = searched(seed, clock, seconds=40.0)
    assert abs(found.step_s + step_s) < 3.0 * found.step_std_s
    assert found.step_std_s < 1e-3
    assert abs(found.drift_ppm + drift_ppm) < 3.0 * found.drift_std_ppm + 1e-3 * drift_ppm
    for at_s in (found.before_at_s, found.after_at_s):
        stamped_s = clock.reads(np.array(at_s))
        missed_s = found.offset_at(float(stamped_s)) - (at_s - stamped_s)
        assert abs(missed_s) < 4.0 * found.offset_std_at(float(stamped_s))
    # a second, because the body may hardly move for that long
    assert abs(found.at_s - 22.0) < 1.0


@pytest.mark.parametrize(("highest_hz", "step_s"), [(4.0, 0.01), (4.0, 0.025), (0.8, 0.03)])
def test_instant_of_a_step_lies_within_its_error(highest_hz, step_s):
    z = []
    for seed in range(1, 9):
        at_s = 6.0 + 1.2 * seed
        clock = Clock(step_s=step_s, step_at_s=at_s)
        found = searched(seed, clock, highest_hz=highest_hz, seconds=24.0)
        if found is not None:
            z.append((found.at_s - at_s) / found.at_std_s)
            assert found.at_std_s < 0.3
    assert len(z) >= 5
    assert np.max(np.abs(z)) < 3.0
    assert np.sqrt(np.mean(np.square(z))) > 0.3


@pytest.mark.parametrize("noise", [1e-3, 1e-2])
@pytest.mark.parametrize("at_s", [13.0, 20.0, 27.0])
def test_step_at_rest_may_lie_anywhere_in_the_rest(at_s, noise):
    """A driver's noise at rest is no evidence of when a clock stepped."""
    body = Bursts(shaking(3, rms=0.5), (2.0, 4.0, 6.0, 8.0, 32.0, 34.0, 36.0, 38.0))
    clock = Clock(step_s=0.04, step_at_s=at_s)
    source, target = (
        imu(body, seed, seconds=40.0, noise=noise, clock=each)
        for seed, each in ((4, clock), (5, Clock()))
    )
    signals = [integrate_samples(a.times_s, a.values, is_smooth=True) for a in (source, target)]
    rows = from_integral(signals[0], width_s=0.1)
    fit = fit_delay(rows, signals[1], start_s=0.0)
    found = find_step(rows, signals[1], fit, deviant_end_of(fit))
    assert abs(found.step_s + 0.04) < 4.0 * found.step_std_s
    assert abs(found.at_s - at_s) < 2.0 * found.at_std_s
    assert 5.0 < found.at_std_s < 15.0


@pytest.mark.parametrize("seed", range(10))
def test_clean_and_drifting_clips_have_none(seed):
    assert searched(seed, Clock(drift_ppm=100.0 * (seed % 3 - 1))) is None


def test_short_clip_is_not_cut_into_pieces():
    assert searched(2, Clock(step_s=0.012, step_at_s=4.0), seconds=8.0) is None


@pytest.mark.parametrize("step_s", [-0.2, 0.05])
@pytest.mark.parametrize("at_s", [2.9, 17.2])
def test_step_near_an_end_is_found(at_s, step_s):
    n_found = 0
    for seed in range(5, 10):
        most_s = -step_s if at_s < 10.0 else 0.0  # the delay of most of the clip
        found = searched(seed, Clock(step_s=step_s, step_at_s=at_s), start_s=most_s)
        if found is not None:  # else the end moves in too few ways to be measured alone
            n_found += 1
            assert abs(found.step_s + step_s) < 4.0 * found.step_std_s + 1e-4
            assert abs(found.at_s - at_s) < 0.34
    assert n_found >= 4


@pytest.mark.parametrize(("at_s", "is_start"), [(0.9, True), (19.1, False)])
def test_end_that_is_too_short_to_be_measured_is_told(at_s, is_start):
    clock = Clock(step_s=0.1, step_at_s=at_s)
    end = deviant_end_of(fitted(6, clock, start_s=-0.1 if is_start else 0.0))
    assert end.is_certain
    assert end.is_start is is_start
    assert abs(end.border_s - at_s) < 0.5
    assert abs(end.apart_s - (0.1 if is_start else -0.1)) < 0.02


def test_end_that_is_doubted_makes_a_clip_uneven():
    """Too little to say so; all frames are worth tracking."""
    rows, driver = recorded(6, Clock(step_s=0.1, step_at_s=18.9))
    fit = fit_delay(rows.rows(np.arange(0, rows.values.shape[0], 7)), driver, start_s=0.0)
    end = deviant_end_of(fit)
    assert not end.is_certain
    assert is_uneven(fit, end)


def test_ends_of_clips_of_one_delay_do_not_deviate():
    for seed in range(20):
        highest_hz = (1.0, 4.0)[seed % 2]
        end = deviant_end_of(fitted(seed, Clock(drift_ppm=80.0), highest_hz=highest_hz))
        assert end is None or not end.is_certain


@pytest.mark.parametrize(
    ("seconds", "rate_hz", "n"), [(8.0, 30.0, 0), (10.5, 30.0, 3), (20.0, 6.0, 3), (60.0, 12.0, 6)]
)
def test_pieces_are_long_enough_and_hold_enough(monkeypatch, seconds, rate_hz, n):
    """At least three seconds and 36 increments each; six of them, or at least three."""
    measured = []
    monkeypatch.setattr(
        clock_step, "measure_near", lambda rows, *_: measured.append(np.ptp(rows.mid_s))
    )
    clock = Clock(step_s=0.06, step_at_s=0.4 * seconds)
    rows, driver = recorded(2, clock, seconds=seconds, rate_hz=rate_hz)
    assert find_step(rows, driver, fit_delay(rows, driver, start_s=0.0), None) is None
    assert len(measured) == n


def test_step_below_three_milliseconds_is_not_told():
    assert searched(3, Clock(step_s=0.001, step_at_s=10.0)) is None


@pytest.mark.parametrize(("step_s", "is_there"), [(0.0, False), (0.08, True)])
def test_too_few_increments_to_measure_pieces_still_show_a_step(step_s, is_there):
    motion = shaking(4)
    gyro = imu(motion, 4)
    driver = integrate_samples(gyro.times_s, gyro.values, is_smooth=True)
    rows = from_rotation(camera(motion, 4, clock=Clock(step_s=step_s, step_at_s=15.0)))
    few = rows.rows(np.arange(0, rows.values.shape[0], 5))
    fit = fit_delay(few, driver, start_s=0.0)
    end = deviant_end_of(fit)
    assert find_step(few, driver, fit, end) is None
    assert is_uneven(fit, end) is is_there


def test_offset_before_and_after():
    step = ClockStep(at_s=5.0, before_s=0.1, before_std_s=3e-3, after_s=0.16, after_std_s=4e-3)
    assert step.offset_at(4.999) == 0.1
    assert step.offset_at(5.0) == 0.16
    assert (step.offset_std_at(4.0), step.offset_std_at(6.0)) == (3e-3, 4e-3)
    assert abs(step.step_s - 0.06) < 1e-15
    assert abs(step.step_std_s - np.hypot(3e-3, 4e-3)) < 1e-15


@pytest.mark.parametrize("slope", [0.0, 1e-3])
@pytest.mark.parametrize("error", [1.0, 5.0])
def test_steps_by_chance_are_as_rare_as_stated(error, slope):
    """Six pieces of one delay or drift, with errors as claimed or five times as large."""
    rng = np.random.default_rng(6)
    times, std = np.arange(6.0), np.full(6, 1e-3)
    bound = 5.0 * f_distribution.sf(MIN_CHI2_GAIN, 1, 3)
    delays = slope * times + error * rng.normal(0.0, 1e-3, (1000, 6))
    n_steps = sum(_best_split(times, row, std, MIN_CHI2_GAIN) is not None for row in delays)
    assert n_steps / len(delays) < bound
    stepped = delays + 0.1 * (times > 2.5)
    assert sum(_best_split(times, row, std, MIN_CHI2_GAIN) == 3 for row in stepped) > 0.97 * len(
        delays
    )


def test_step_at_rest_that_looks_like_a_drift_of_quartz_is_in_the_error():
    """The middle of the line is half a step, 10 ms, away from either side."""
    body = Bursts(shaking(3, rms=0.5), (2.0, 4.0, 6.0, 34.0, 36.0, 38.0))
    clock = Clock(step_s=0.02, step_at_s=25.0)
    z = []
    for seed in range(8):
        noise = (0.02, 0.1, 0.3)[seed % 3]
        head = imu(body, seed, name="head", seconds=40.0, noise=noise, clock=clock)
        found = measure_imu_imu(head, imu(body, seed + 10, seconds=40.0, noise=noise))
        if not found.accepted:
            continue
        assert found.step_s is None
        assert abs(1e-9 * (found.at_ns - head.epoch_ns) - 20.0) < 2.0  # before the step
        z.append(found.offset_s / found.offset_std_s)
    assert len(z) >= 6
    assert np.sqrt(np.mean(np.square(z))) < 2.5
