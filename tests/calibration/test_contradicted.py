"""Intervals that cannot be: of a long light the frame that shows most of it is not when it was."""

import numpy as np
import pytest
from event_rig import SPAN_S, Clock
from syncaudit_calibration import CalibrationError, calibrate_events

from syncaudit.model import FlashIntervals, Quantity

# Cameras with dark times between frames, and the clock of the last.
RATES_HZ = (24.0, 24.0, 25.0)
OPEN_S = 0.02
OFFSET_S = 0.3


def brightest_frames(rng, name, rate_hz, onsets_s, clock, *, length_s):
    """Return the frames that show most of lights of a length."""
    starts_s = rng.uniform(0.0, 1 / rate_hz) + np.arange(int(SPAN_S * rate_hz)) / rate_hz
    first = np.maximum(starts_s, onsets_s[:, None])
    last = np.minimum(starts_s + OPEN_S, onsets_s[:, None] + length_s)
    shown_s = last - first
    frames = np.unique(np.argmax(shown_s, axis=1)[shown_s.max(axis=1) > 0.0])
    return FlashIntervals(
        source=name,
        quantity=Quantity.FLASH,
        epoch_ns=0,
        start_s=clock.own(starts_s[frames]),
        stop_s=clock.own(starts_s[frames] + OPEN_S),
        std_s=np.full(frames.size, 1e-4),
        count=np.ones(frames.size, dtype=np.int64),
    )


def rig(seed, *, length_s):
    rng = np.random.default_rng(seed)
    onsets_s = np.cumsum(rng.uniform(0.4, 0.9, 60))
    onsets_s = 1.0 + onsets_s[onsets_s < SPAN_S - 3.0]
    return [
        brightest_frames(
            rng,
            f"cam_{k}",
            rate_hz,
            onsets_s,
            Clock(offset_s=OFFSET_S if k == 2 else 0.0, drift=1e-5 * k),
            length_s=length_s,
        )
        for k, rate_hz in enumerate(RATES_HZ)
    ]


@pytest.mark.parametrize("seed", [1, 3])
def test_frames_that_contradict_one_another_are_refused(seed):
    with pytest.raises(CalibrationError, match="contradict the others"):
        calibrate_events(rig(seed, length_s=0.03))


@pytest.mark.parametrize("seed", range(4))
def test_frames_that_agree_are_not(seed):
    found = calibrate_events(rig(seed, length_s=0.0005))
    assert not any("contradict" in words for words in found.refused.values())
