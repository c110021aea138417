"""Wrong statements about a camera."""

import dataclasses

import numpy as np
import pytest
from syncaudit_calibration import calibrate_events

from testkit.event_rig import camera, irregular_onsets, stamped_at_start, trigger

EXPOSURE_S, LINE_DELAY_S = 0.004, 2.5e-5


@pytest.mark.parametrize("stated_s", [EXPOSURE_S, 0.0008, 0.016])
def test_an_exposure_that_flashes_contradict_moves_no_clock(stated_s):
    rng = np.random.default_rng(1)
    onsets_s = irregular_onsets(rng, 150)
    shutter = {"line_delay_s": LINE_DELAY_S, "exposure_s": EXPOSURE_S}
    cameras = [camera(rng, onsets_s, name=f"cam_{k}", **shutter) for k in range(3)]
    cameras[1] = stamped_at_start(cameras[1], exposure_s=stated_s)
    found = calibrate_events([*cameras, trigger(rng, onsets_s)])
    source = found.sources["cam_1"]
    assert abs(source.offset_s) < 3.0 * source.offset_std_s
    assert source.offset_std_s < 1e-4
    assert not source.steps
    is_told = any("exposure of cam_1" in words and "not used" in words for words in found.warnings)
    assert is_told is (stated_s != EXPOSURE_S)


def test_encoders_move_edges_where_the_line_delay_is_not_stated_too():
    # Edges six rows closer do not mean another exposure: cameras of three rates constrain rows.
    rng = np.random.default_rng(1)
    onsets_s = irregular_onsets(rng, 150)
    shutter = {"line_delay_s": 6e-5, "exposure_s": 0.012}
    cameras = [
        camera(rng, onsets_s, name=f"cam_{k}", rate_hz=rate_hz, **shutter)
        for k, rate_hz in enumerate((10.0, 11.3, 12.7))
    ]
    nearer = cameras[1].row_px + 6.0 * cameras[1].exposure_part
    cameras[1] = dataclasses.replace(cameras[1], row_px=nearer, line_delay_s=None)
    found = calibrate_events([*cameras, trigger(rng, onsets_s)])
    source = found.sources["cam_1"]
    assert abs(source.offset_s) < 3.0 * source.offset_std_s
    assert not any("exposure of cam_1" in words for words in found.warnings)
