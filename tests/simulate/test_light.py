"""Flashes light the rows that are exposed at the time, in proportion."""

import numpy as np
import pytest

from syncaudit.simulate.camera import CameraConfig
from syncaudit.simulate.light import FlashConfig, draw_pulses, lit_fraction
from syncaudit.simulate.sensor import Sensor


def test_band_edges_are_end_and_start_of_exposure() -> None:
    # design 3.1: top edge at row (tau - E - s) / T, bottom edge at (tau + w - s) / T
    line_s, exposure_s, width_s, start_s, tau_s = 1e-4, 0.004, 0.001, 0.0, 0.02
    rows = np.arange(400.0)
    middles = start_s + rows * line_s + exposure_s / 2
    share = lit_fraction(np.array([tau_s]), width_s, middles, exposure_s)
    lit = np.flatnonzero(share > 1e-9)
    assert lit[0] == pytest.approx((tau_s - exposure_s - start_s) / line_s, abs=1)
    assert lit[-1] == pytest.approx((tau_s + width_s - start_s) / line_s, abs=1)
    assert share.max() == pytest.approx(1.0, abs=1e-9)
    ramp = share[lit[0] : lit[0] + 10]
    np.testing.assert_allclose(np.diff(ramp), line_s / width_s, rtol=0, atol=1e-6)


def test_pulses_are_irregular_and_inside_the_clip() -> None:
    pulses = draw_pulses(FlashConfig(mean_interval_s=0.2), 20.0, np.random.default_rng(1))
    spacing = np.diff(pulses)
    assert 0 < pulses[0] < pulses[-1] < 20
    assert spacing.min() > 0.09
    assert spacing.std() > 0.03


def test_flash_brightens_only_lit_rows() -> None:
    camera = CameraConfig(size_px=(64, 48), gain_wobble=0.0)
    sensor = Sensor(camera, 3, np.random.default_rng(2))
    scene = np.full((48, 64), 100, np.uint8)
    flash = np.zeros(48)
    flash[10:20] = 60.0
    lift = sensor.expose(scene, 1, flash).astype(float) - sensor.expose(scene, 1)
    assert lift[10:20].mean() > 40
    assert np.abs(np.delete(lift, np.s_[10:20], axis=0)).max() == 0


def test_noise_grows_with_light() -> None:
    camera = CameraConfig(size_px=(128, 96), photon_noise=0.05, read_noise=1.0, fov_deg=20.0)
    sensor = Sensor(camera, 1, np.random.default_rng(3))
    for level in (20, 180):
        frame = sensor.expose(np.full((96, 128), level, np.uint8), 0)
        assert frame.std() == pytest.approx(np.sqrt(0.05 * level + 1), abs=0.5)


def test_impossible_flash_is_refused() -> None:
    with pytest.raises(ValueError, match="width_s"):
        FlashConfig(mean_interval_s=0.001, width_s=0.002)
