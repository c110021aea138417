"""What a calibration reports about its input data."""

import numpy as np
from syncaudit_calibration import calibrate_events
from syncaudit_calibration.calibrate_recording import with_findings

from testkit.event_rig import camera, irregular_onsets


def test_a_camera_that_is_calibrated_is_not_refused_for_a_damaged_frame():
    rng = np.random.default_rng(3)
    onsets_s = irregular_onsets(rng, 60)
    cameras = [
        camera(rng, onsets_s, name=f"cam_{k}", rate_hz=rate) for k, rate in ((0, 12), (1, 25))
    ]
    found = with_findings(
        calibrate_events(cameras),
        {"cam_2": "no flash was found"},
        {"cam_1": "2 frames are grey", "cam_3": "it cannot be read"},
    )
    assert set(found.refused) == {"cam_2", "cam_3"}
    assert "2 frames are grey" in found.warnings
    assert "cam_1" in found.sources
