"""The refined delay is unbiased, with drift, line delay and honest errors."""

import numpy as np
import pytest

from syncaudit.dsp.integral import integrate_samples
from syncaudit.estimators.delay import fit as delay_fit
from syncaudit.estimators.delay.fit import fit_delay
from syncaudit.estimators.delay.increments import from_integral, from_rotation
from testkit.moving_body import Clock, Motion, camera, imu, shaking

# Only rounding and the spline of a 200 Hz gyro on motion up to 4 Hz.
EXACT_S = 5e-6


def sides(seed, *, cam=None, gyro=None):
    motion = shaking(seed)
    target = imu(motion, seed, **(gyro or {}))
    driver = integrate_samples(target.times_s, target.values, is_smooth=True)
    return from_rotation(camera(motion, seed, **(cam or {}))), driver


def fitted(seed, *, start_s=0.0, with_drift=False, cam=None, gyro=None):
    rows, driver = sides(seed, cam=cam, gyro=gyro)
    return fit_delay(rows, driver, start_s=start_s, with_drift=with_drift)


CLEAN = {"noise_rad": 1e-9}
QUIET = {"noise": 0.0}


@pytest.mark.parametrize("start_s", [-0.03, -0.01, 0.0, 0.02])
def test_start_does_not_matter_within_half_a_lobe(start_s):
    found = fitted(1, start_s=start_s, cam=CLEAN, gyro=QUIET)
    assert abs(found.offset_s) < EXACT_S


@pytest.mark.parametrize("n", [1, 2])
def test_a_fit_that_is_broken_off_claims_what_is_left_to_go(monkeypatch, n):
    monkeypatch.setattr(delay_fit, "MAX_ITERATIONS", n)
    found = fitted(1, start_s=0.04)
    assert 2e-4 < abs(found.offset_s) < 4.0 * found.offset_std_s


@pytest.mark.parametrize("late_s", [0.0371, -0.0123])
def test_delay_is_exact_without_noise(late_s):
    found = fitted(
        2, start_s=-late_s + 0.005, cam=CLEAN | {"clock": Clock(late_s=late_s)}, gyro=QUIET
    )
    assert abs(found.offset_s + late_s) < EXACT_S
    assert abs(found.gain - 1.0) < 1e-3
    assert found.explained > 0.9999


@pytest.mark.parametrize("drift_ppm", [300.0, -50.0])
def test_drift_is_exact_without_noise(drift_ppm):
    gyro = QUIET | {"clock": Clock(drift_ppm=drift_ppm)}
    found = fitted(3, with_drift=True, cam=CLEAN, gyro=gyro)
    assert abs(found.drift_ppm - drift_ppm) < 2.0
    assert abs(found.offset_s - drift_ppm * 1e-6 * (found.anchor_s - 10.0)) < EXACT_S


def test_drift_errors_cover_the_truth():
    z = []
    for seed in range(60):
        found = fitted(
            seed,
            with_drift=True,
            cam={"noise_rad": 1e-3},
            gyro={"clock": Clock(drift_ppm=80.0)},
        )
        z.append((found.drift_ppm - 80.0) / found.drift_std_ppm)
    # at least 88 %: 3 sigma of the binomial of 100 below 95 %
    assert np.mean(np.abs(z) < 1.96) >= 0.88
    assert 0.6 < np.std(z) < 1.3


def test_offset_and_drift_are_uncorrelated_at_the_anchor():
    """Over 60 draws of the noise the two errors correlate by less than 3 sigma (0.39)."""
    pairs = []
    motion = shaking(4)
    gyro = imu(motion, 4, noise=0.0)
    driver = integrate_samples(gyro.times_s, gyro.values, is_smooth=True)
    for seed in range(60):
        rows = from_rotation(camera(motion, seed, phase=0.3, noise_rad=1e-3))
        found = fit_delay(rows, driver, start_s=0.0, with_drift=True)
        pairs.append((found.offset_s, found.drift_ppm))
    assert abs(np.corrcoef(np.array(pairs).T)[0, 1]) < 0.39


def test_anchor_lies_in_the_clip():
    found = fitted(5, with_drift=True)
    assert 4.0 < found.anchor_s < 16.0
    assert found.span_s > 19.0


def test_line_delay_is_fitted_within_its_error():
    z = []
    for seed in range(30):
        found = fitted(seed, cam={"line_delay_s": 4e-5, "stated": False})
        assert found.line_delay_std_s < 1.5e-5
        z.append((found.line_delay_s - 4e-5) / found.line_delay_std_s)
    assert np.mean(np.abs(z) < 1.96) >= 0.8  # 3 sigma of the binomial of 30


def test_offset_without_line_delay_is_that_of_the_mean_row():
    rows, driver = sides(6, cam={"line_delay_s": 4e-5, "stated": False})
    found = fit_delay(rows, driver, start_s=0.0)
    row_px = rows.shutter.mean_row_px
    assert abs(found.row_shift_s - row_px * found.line_delay_s) < 1e-12
    assert abs(found.offset_s - row_px * 4e-5) < 5.0 * found.offset_std_s + 1e-5


def test_stated_line_delay_is_not_fitted():
    found = fitted(6, cam={"line_delay_s": 4e-5})
    assert found.line_delay_s is None
    assert found.row_shift_s == 0.0
    assert abs(found.offset_s) < 5.0 * found.offset_std_s


def test_slow_bias_is_no_evidence():
    motion = shaking(7)
    gyro = imu(motion, 7, noise=0.0)
    biased = gyro.values + 0.3 * np.cos(2 * np.pi * gyro.times_s / 16.0)[:, None]
    driver = integrate_samples(gyro.times_s, biased, is_smooth=True)
    found = fit_delay(from_rotation(camera(motion, 7)), driver, start_s=0.0)
    assert abs(found.offset_s) < 5e-4


def test_correlated_noise_is_counted():
    """Noise at 1 Hz on 12 Hz increments: claimed errors rise with it and stay honest."""
    motion = shaking(8)
    gyro = imu(motion, 8, noise=0.0)
    driver = integrate_samples(gyro.times_s, gyro.values, is_smooth=True)
    z, factors = [], []
    for seed in range(60):
        cam = camera(motion, seed, phase=0.1, noise_rad=1e-6)
        rough = np.random.default_rng(seed).normal(0.0, 2e-3, (cam.start_s.size + 11, 3))
        smooth = np.stack([np.convolve(c, np.ones(12) / 12, mode="valid") for c in rough.T], 1)
        rows = from_rotation(cam)
        noisy = type(rows)(
            start_s=rows.start_s,
            stop_s=rows.stop_s,
            values=rows.values + smooth,
            weights=np.ones_like(rows.values),
        )
        found = fit_delay(noisy, driver, start_s=0.0)
        z.append(found.offset_s / found.offset_std_s)
        factors.append(found.correlation_factor)
    assert np.mean(np.abs(z) < 1.96) >= 0.85
    assert min(factors) >= 1.0


def test_quantities_for_further_tests_have_their_shapes():
    found = fitted(9)
    n = found.n_rows
    assert found.mid_s.shape == (n,)
    for name in ("residuals", "sensitivity", "weights"):
        assert getattr(found, name).shape == (n, 3)


def test_fewer_than_twenty_rows_in_common_are_too_few():
    rows, driver = sides(10)
    assert fit_delay(rows, driver, start_s=19.0) is None


def test_a_driver_that_rests_gives_nothing():
    still = Motion(hz=np.ones(1), size=np.zeros((3, 1)), phase=np.zeros((3, 1)))
    gyro = imu(still, 1, noise=0.0)
    driver = integrate_samples(gyro.times_s, gyro.values, is_smooth=True)
    assert fit_delay(from_rotation(camera(shaking(1), 1)), driver, start_s=0.0) is None


def test_one_channel_against_three():
    motion = shaking(11)
    gyro, rate = imu(motion, 11, noise=0.0), imu(motion, 12, noise=0.0)
    driver = integrate_samples(gyro.times_s, gyro.values, is_smooth=True)
    signal = integrate_samples(rate.times_s, rate.values[:, 1:2] * 2.0, is_smooth=True)
    found = fit_delay(from_integral(signal, width_s=0.1), driver, start_s=0.01)
    assert abs(found.offset_s) < EXACT_S
    assert abs(found.gain - 2.0) < 0.01
