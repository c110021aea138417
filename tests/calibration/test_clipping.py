"""Flashes that are too bright are reported."""

import numpy as np
import pytest
from syncaudit_calibration.bundle import calibrate_events
from syncaudit_calibration.errors import CalibrationError
from syncaudit_calibration.seed import word_clipping

from syncaudit.model import FlashIntervals, Quantity


def lit(source, times_s, clipped_share):
    return FlashIntervals(
        source=source,
        quantity=Quantity.FLASH,
        epoch_ns=0,
        start_s=times_s - 0.01,
        stop_s=times_s + 0.01,
        std_s=np.full(times_s.size, 1e-4),
        count=np.ones(times_s.size, dtype=np.int64),
        clipped_share=clipped_share,
    )


def test_clipped_flashes_are_worded_with_a_cure():
    words = word_clipping(lit("cam_rear", np.array([1.0]), 0.7))
    assert words.startswith("the flash clips 70 % of what it lights in the image of cam_rear")
    assert "dim the light" in words
    assert word_clipping(lit("cam_rear", np.array([1.0]), 0.1)) is None


def test_camera_blinded_by_flashes_is_refused_for_that():
    sources = [lit(name, np.empty(0), 0.9) for name in ("cam_a", "cam_b")]
    with pytest.raises(CalibrationError) as caught:
        calibrate_events(sources, reference=None, max_offset_s=1.0)
    assert "clips 90 %" in caught.value.refused["cam_a"]
