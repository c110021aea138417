"""Cameras that know only between which exposures a light went on."""

import numpy as np
import pytest
from syncaudit_calibration import calibrate_events

from syncaudit.model import FlashIntervals, Quantity
from testkit.event_rig import SPAN_S, Clock

# Cameras with dark times between frames, and the clock of the last.
RATES_HZ = (24.0, 24.0, 25.0)
OPEN_S = 0.02
OFFSET_S = 0.3


def lit_frames(rng, name, rate_hz, onsets_s, clock, *, length_s):
    """Return what the frames of a global shutter show of lights of a length."""
    stops_s = OPEN_S + rng.uniform(0.0, 1 / rate_hz) + np.arange(int(SPAN_S * rate_hz)) / rate_hz
    first = np.searchsorted(stops_s, onsets_s, side="right")
    first = np.unique(first[stops_s[first] - OPEN_S < onsets_s + length_s])
    return FlashIntervals(
        source=name,
        quantity=Quantity.FLASH,
        epoch_ns=0,
        start_s=clock.own(stops_s[first - 1]),
        stop_s=clock.own(stops_s[first]),
        lit_s=clock.own(stops_s[first] - OPEN_S),
        std_s=np.full(first.size, 1e-4),
        count=np.ones(first.size, dtype=np.int64),
    )


def clock_of(k):
    return Clock(offset_s=OFFSET_S if k == 2 else 0.0, drift=1e-5 * k)


def rig(seed, *, length_s):
    rng = np.random.default_rng(seed)
    onsets_s = np.cumsum(rng.uniform(0.4, 0.9, 60))
    onsets_s = 1.0 + onsets_s[onsets_s < SPAN_S - 3.0]
    return [
        lit_frames(rng, f"cam_{k}", rate_hz, onsets_s, clock_of(k), length_s=length_s)
        for k, rate_hz in enumerate(RATES_HZ)
    ]


@pytest.mark.parametrize("length_s", [0.012, 0.03, 0.048, 0.1])
def test_errors_of_cameras_without_dates_are_honest(length_s):
    z = []
    for seed in range(5):
        found = calibrate_events(rig(seed, length_s=length_s))
        assert found.reference == "cam_0"
        assert set(found.sources) == {"cam_0", "cam_1", "cam_2"}
        for k in (1, 2):
            source = found.sources[f"cam_{k}"]
            error_s = source.offset_s - clock_of(k).correction_s(found.at_ns * 1e-9)
            z.append(error_s / source.offset_std_s)
            assert source.offset_std_s < 0.02
    assert np.max(np.abs(z)) < 2.5
    assert np.sqrt(np.mean(np.square(z))) > 0.2
