"""Lights of any length, as people have them."""

import numpy as np
import pytest
from flash_footage import camera, detected, footage

from syncaudit.model.evidence import FlashEdges

EXPOSURE_S, LINE_S = 0.008, 2.5e-5


def irregular(length_s, *, duration_s=15.0, seed=3, gap_s=(0.15, 0.4)):
    rng = np.random.default_rng(seed)
    times_s = np.cumsum(length_s + rng.uniform(*gap_s, 200))
    return times_s[times_s < duration_s - length_s - 0.5]


def shaking(picture, k, middle_s):
    shift = round(0.7 * np.sin(2.1 * k)), round(0.7 * np.cos(1.3 * k))
    return np.roll(picture, shift, axis=(0, 1))


def seen(onsets_s, length_s, *, n=180, exposure_s=EXPOSURE_S, line_delay_s=LINE_S, paint=shaking):
    timing = {"line_delay_s": line_delay_s, "exposure_s": exposure_s}
    # A light that is on for longer than an exposure is as bright as it is.
    brightness = 40.0 * max(1.0, length_s / exposure_s)
    case = {"n": n, "width_s": length_s, "brightness": brightness, "paint": paint}
    return detected(camera(n, **timing), footage(onsets_s, **case, **timing))


def instants_s(found, *, exposure_s=EXPOSURE_S, line_delay_s=LINE_S):
    return found.frame_s + found.row_px * line_delay_s + found.exposure_part * exposure_s


@pytest.mark.parametrize("length_s", [0.0003, 0.004, 0.0065])
def test_lights_shorter_than_the_exposure_are_dated_by_their_half(length_s):
    onsets_s = irregular(length_s)
    found = seen(onsets_s, length_s)
    assert isinstance(found, FlashEdges)
    off_s = instants_s(found)[:, None] - onsets_s - 0.5 * length_s
    off_s = off_s[np.arange(len(off_s)), np.abs(off_s).argmin(axis=1)]
    assert off_s.size >= 12
    std_s = found.row_std_px * LINE_S
    assert np.sqrt(np.average(off_s**2, weights=std_s**-2.0)) < (5e-5 if length_s < 0.005 else 2e-4)
    assert np.mean(np.abs(off_s) < 1.96 * found.row_std_px * LINE_S) > 0.9
    assert abs(found.half_light_s - 0.5 * length_s) < max(5e-5, 3.0 * found.half_light_std_s)


@pytest.mark.parametrize("length_s", [0.03, 0.2, 0.4])
def test_lights_longer_than_the_picture_are_dated_on_and_off(length_s):
    exposure_s, line_delay_s = 0.002, 1.5e-5
    onsets_s = irregular(length_s, duration_s=28.0, gap_s=(0.2, 0.5))
    timing = {"exposure_s": exposure_s, "line_delay_s": line_delay_s, "n": 340}
    found = seen(onsets_s, length_s, **timing)
    at_s = instants_s(found, exposure_s=exposure_s, line_delay_s=line_delay_s)
    true_s = np.where(found.sense > 0, 0.0, length_s)
    off_s = at_s[:, None] - onsets_s - true_s[:, None]
    off_s = np.abs(off_s).min(axis=1)
    assert off_s.size >= 3
    assert np.max(off_s) < 6e-5
    assert set(found.exposure_part.tolist()) == {0.0}


def test_bands_that_the_picture_cuts_are_timed():
    # Ramps of 160 of the 480 rows: hardly a band lies in the picture with both of its edges.
    onsets_s = irregular(0.004)
    found = seen(onsets_s, 0.004)
    n_frames = np.unique(found.frame_index).size
    rows = 240 + (onsets_s[:, None] - np.arange(180) / 12.0) / LINE_S
    n_seen = np.count_nonzero(((rows > -240) & (rows < 560)).any(axis=1))
    assert n_frames > 0.7 * n_seen


def test_exposure_that_answers_the_light_does_no_harm():
    def dimmed(picture, k, middle_s):
        # The frame after a lit one is darker as a whole.
        lit = np.any(np.abs(onsets_s - (k - 1) / 12.0) < 0.012)
        return picture * (0.93 if lit else 1.0)

    onsets_s = irregular(0.002)
    found = seen(onsets_s, 0.002, paint=dimmed)
    off_s = instants_s(found)[:, None] - onsets_s - 0.001
    assert found.frame_s.size >= 12
    assert np.sqrt(np.mean(np.abs(off_s).min(axis=1) ** 2)) < 3e-5
