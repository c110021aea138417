import dataclasses

import numpy as np
import pytest
from syncaudit_calibration import calibrate_events
from syncaudit_calibration.outcome import is_played

from syncaudit.model import Quantity
from testkit.event_rig import Clock, camera, irregular_onsets, trigger

SPEAKER_S = 0.07  # later than the screen


def clicks(rng, onsets_s, name="mic", clock=None):
    heard = trigger(rng, onsets_s, name=name, clock=clock, std_s=1e-4)
    return dataclasses.replace(heard, quantity=Quantity.CLICK)


@pytest.mark.parametrize("rate_hz", [60.0, 59.94])
def test_sound_of_a_sync_video_tells_no_time_of_its_light(rate_hz):
    rng = np.random.default_rng(3)
    onsets_s = np.rint(irregular_onsets(rng, 60) * 60) / rate_hz
    cameras = [
        camera(rng, onsets_s, name=f"cam_{k}", rate_hz=rate) for k, rate in ((0, 12), (1, 25))
    ]
    found = calibrate_events([*cameras, clicks(rng, onsets_s + SPEAKER_S)])
    mic = found.sources["mic"]
    assert abs(mic.offset_s) == pytest.approx(SPEAKER_S, abs=2e-3)
    assert abs(mic.offset_s) < 1.96 * mic.offset_std_s
    assert found.sources["cam_1"].offset_std_s < 1e-4
    assert any("frames of a video" in words for words in found.warnings)
    # The error between two microphones is not that between speaker and screen.
    two = [clicks(rng, onsets_s, name=f"mic_{k}", clock=Clock(offset_s=0.2 * k)) for k in (0, 1)]
    assert calibrate_events(two, reference="mic_0").sources["mic_1"].offset_std_s < 1e-2


@pytest.mark.parametrize("tick_s", [None, 0.05, 0.02, 0.001])
def test_other_clicks_are_not_played(tick_s):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        onsets_s = irregular_onsets(rng, 60)
        if tick_s:
            onsets_s = np.rint(onsets_s / tick_s) * tick_s
        assert not is_played(clicks(rng, onsets_s))


def test_frames_are_told_by_clicks_alone():
    rng = np.random.default_rng(3)
    onsets_s = np.rint(irregular_onsets(rng, 60) * 60) / 60
    assert is_played(clicks(rng, onsets_s))
    assert not is_played(trigger(rng, onsets_s))
    assert not is_played(clicks(rng, onsets_s[:1]))
