"""Tone curves: how an image shows a light, and lights dated through them."""

import numpy as np
import pytest

from syncaudit.detectors.flash.shape import RampShape, usual_bend
from syncaudit.model.evidence.flashes import FlashEdges
from testkit.flash_footage import camera, detected, errors_s, footage, onsets

SHARES = np.linspace(0.0, 1.0, 101)
ON, OFF = np.array(False), np.array(True)


def curve(bend, ratio):
    return RampShape(1.0, bend=bend, ratio=ratio)


def power_law(light, gamma, ratio):
    return ((1.0 + light * (ratio**gamma - 1.0)) ** (1.0 / gamma) - 1.0) / (ratio - 1.0)


@pytest.mark.parametrize(("gamma", "ratio"), [(1.0, 3.0), (2.2, 1.2), (2.2, 4.0), (0.7, 2.0)])
def test_curves_of_an_exponent_are_told_by_their_bend(gamma, ratio):
    truth = power_law(SHARES, gamma, ratio)
    shown, slope = curve(4.0 * (truth[50] - 0.5), ratio).shown(SHARES, ON)
    assert np.max(np.abs(shown - truth)) < 1e-3
    assert np.max(np.abs(slope[1:-1] - np.gradient(shown, SHARES)[1:-1])) < 0.02


def test_what_goes_dark_shows_the_rest_of_the_light():
    lit, slope = curve(0.35, 3.0).shown(1.0 - SHARES, ON)
    dark, slope_of_dark = curve(0.35, 3.0).shown(SHARES, OFF)
    assert np.allclose(dark, 1.0 - lit)
    assert np.allclose(slope_of_dark, slope)


def test_bends_that_no_exponent_has_are_parabolas():
    shown, _ = curve(-0.6, 1.0).shown(SHARES, ON)
    assert np.allclose(shown, SHARES - 0.6 * SHARES * (1.0 - SHARES), atol=2e-3)


def test_faint_lights_are_hardly_bent():
    faint, clear = usual_bend(1.05)[0], usual_bend(4.0)[0]
    assert 0.0 < faint < 0.02
    assert 0.2 < clear < 0.6


@pytest.mark.parametrize("gamma", [1.0, 2.2])
def test_exposures_longer_than_the_read_out_date_lights(gamma):
    # Ramps of 590 rows in images of 480: none is shown completely.
    timing = {"exposure_s": 0.010, "line_delay_s": 1.7e-5}
    rng = np.random.default_rng(4)
    on_s = np.cumsum(rng.uniform(0.45, 0.9, 40))
    length_s, n = 0.2, 300
    frames = footage(on_s, n=n, width_s=length_s, brightness=60.0 * length_s / 0.01, **timing)
    toned = ((255.0 * (x / 255.0) ** (1.0 / gamma) + 0.5).astype(np.uint8) for x in frames)
    found = detected(camera(n, **timing), toned)
    assert isinstance(found, FlashEdges)
    assert found.sense is not None
    assert found.half_s is None or np.count_nonzero(found.half_s == 0.0) >= 6
    dated = np.ones(found.band.size, bool) if found.half_s is None else found.half_s == 0.0
    at_s = found.frame_s + found.row_px * timing["line_delay_s"]
    truth_s = np.where(found.sense[:, None] > 0, on_s, on_s + length_s)
    off_s = (at_s[:, None] - truth_s)[
        np.arange(at_s.size), np.abs(at_s[:, None] - truth_s).argmin(1)
    ]
    z = off_s / np.hypot(found.row_std_px * timing["line_delay_s"], found.edge_shift_std_s)
    assert np.sqrt(np.mean(off_s[dated] ** 2)) < 1.5e-4
    assert np.median(found.row_std_px[dated]) * timing["line_delay_s"] < 3e-4
    assert np.mean(np.abs(z[dated]) < 1.96) > 0.9


def test_flashes_are_dated_though_other_light_comes_and_goes():
    # In a tunnel a flash adds as much as before, on two fifths of the brightness.
    timing = {"exposure_s": 0.008, "line_delay_s": 2.5e-5}
    pulses_s = onsets(3, mean_s=0.23, duration_s=20.0)

    def tunnel(frame, k, middle_s):
        return frame * (0.4 if 80 <= k < 170 else 1.0)

    found = detected(camera(240, **timing), footage(pulses_s, n=240, paint=tunnel, **timing))
    assert isinstance(found, FlashEdges)
    off_s = errors_s(found, pulses_s + 0.001, **timing)
    within = (found.frame_index > 82) & (found.frame_index < 168)
    assert within.sum() >= 10
    assert (~within).sum() >= 15
    assert np.sqrt(np.mean(off_s**2)) < 5e-5
