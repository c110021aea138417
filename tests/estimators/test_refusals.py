"""Reasons to reject a delay, one by one."""

import numpy as np
import pytest

from syncaudit.dsp.integral import integrate_samples
from syncaudit.estimators.delay.fit import fit_delay
from syncaudit.estimators.delay.increments import from_rotation
from syncaudit.estimators.delay.refusals import (
    band_disagreement,
    why_ambiguous,
    why_gain_is_off,
    why_no_clock,
    why_too_weak,
)
from testkit.moving_body import TILTED, camera, imu, shaking


def fit_of(seed, *, other=None, **cam):
    motion = shaking(seed)
    gyro = imu(other or motion, seed)
    driver = integrate_samples(gyro.times_s, gyro.values, is_smooth=True)
    return fit_delay(from_rotation(camera(motion, seed, **cam)), driver, start_s=0.0)


@pytest.mark.parametrize(
    ("best", "runner_up", "factor", "is_clear"),
    [
        (8.0, 0.0, 1.0, True),
        (7.9, 0.0, 1.0, False),
        (90.0, 0.0, 10.0, True),
        (70.0, 0.0, 10.0, False),
        (1000.0, 500.0, 1.0, True),
        # a second lobe that explains three quarters rises and falls with the target's noise
        (545.0, 500.0, 1.0, False),
        (0.0, 0.0, 1.0, False),
        # explains all but a thousandth: periodic motion, however small the noise
        (9000.0, 2500.0, 1.0, False),
        # leaves 1.7 %, three times as much as the best; then only a half more
        (1820.0, 1425.0, 1.0, True),
        (1565.0, 1425.0, 1.0, False),
    ],
)
def test_gap_to_the_second_lobe(best, runner_up, factor, is_clear):
    why = why_ambiguous(best, runner_up, factor, 700)
    assert (why is None) == is_clear
    if why:
        is_periodic = runner_up > 1000.0
        assert f"another delay fits almost as well ({'it' if is_periodic else 'score'}" in why


@pytest.mark.parametrize("gain", [0.5, 1.0, 2.0, 30.0, 100.0])
def test_gain_of_either_unit(gain):
    assert why_gain_is_off(gain, expected=(1.0, 57.3), lowest=0.5, highest=2.0) is None


@pytest.mark.parametrize("gain", [0.0, 0.49, 2.1, 28.0, 115.0])
def test_gain_of_no_unit(gain):
    why = why_gain_is_off(gain, expected=(1.0, 57.3), lowest=0.5, highest=2.0)
    assert "outside [0.5, 2] of the expected 1 or 57.3" in why


def test_strong_signal_is_not_too_weak():
    assert why_too_weak(fit_of(1)) is None


def test_buried_signal_is_too_weak():
    why = why_too_weak(fit_of(2, other=shaking(900)))
    assert "too little common motion" in why
    assert "at least 50" in why


def test_bands_of_one_delay_agree():
    assert all(band_disagreement(fit_of(seed)) is None for seed in range(10))


def test_gain_of_the_whole_triple():
    assert abs(fit_of(3).gain - 1.0) < 0.02
    assert abs(fit_of(3, mount=0.3 * TILTED).gain - 0.3) < 0.02
    assert np.isfinite(fit_of(3, mount=np.zeros((3, 3))).gain)


@pytest.mark.parametrize(("drift_ppm", "std_ppm"), [(-5840.0, 600.0), (13464.0, 2000.0)])
def test_drift_that_no_clock_has_is_refused(drift_ppm, std_ppm):
    why = why_no_clock({"drift_ppm": drift_ppm, "drift_std_ppm": std_ppm}, most_ppm=5000.0)
    assert "no clock is off by more than 5000 ppm" in why


@pytest.mark.parametrize(("drift_ppm", "std_ppm"), [(4000.0, 300.0), (9000.0, 4000.0), (0.0, 1.0)])
def test_drift_of_a_poor_clock_or_of_noise_refuses_nothing(drift_ppm, std_ppm):
    assert why_no_clock({"drift_ppm": drift_ppm, "drift_std_ppm": std_ppm}, most_ppm=5000.0) is None
