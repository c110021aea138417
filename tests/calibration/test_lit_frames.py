"""Cameras that only know between which exposures some lights went on."""

import numpy as np
import pytest
from syncaudit_calibration import calibrate_events
from syncaudit_calibration.errors import CalibrationError

from syncaudit.model import FlashEdges, FlashIntervals, Quantity
from testkit.event_rig import SPAN_S, Clock, camera, irregular_onsets, switches, trigger

# Cameras with unexposed time between frames, and the clock of the last.
RATES_HZ = (24.0, 24.0, 25.0)
OPEN_S = 0.02
OFFSET_S = 0.3


def lit_frames(rng, name, rate_hz, onsets_s, clock, *, length_s):
    """Return what the frames of a global shutter show of lights of a given length."""
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


@pytest.mark.parametrize("length_s", [0.012, 0.03, 0.1])
def test_errors_of_cameras_without_dates_are_honest(length_s):
    z = []
    for seed in range(4):
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


# Half-width of a camera's knowledge of lights between two frames; its phase shifts all equally.
BETWEEN_S = 0.03
ROW_STD_PX = 5.0
LINE_DELAY_S = 20e-6


def edges(rng, name, onsets_s, clock, *, is_sharp):
    """Return lights dated by rows, or that went on between two frames of constant phase."""
    n = onsets_s.size
    row_error_s = ROW_STD_PX * LINE_DELAY_S * rng.normal(size=n)
    between_s = rng.uniform(-BETWEEN_S, BETWEEN_S)
    return FlashEdges(
        source=name,
        epoch_ns=0,
        frame_index=np.arange(n),
        frame_s=clock.own(onsets_s) + np.where(is_sharp, row_error_s, between_s),
        row_px=np.zeros(n),
        row_std_px=np.where(is_sharp, ROW_STD_PX, 0.0),
        exposure_part=np.zeros(n),
        band=np.arange(n),
        height_px=480,
        watched_s=np.empty((0, 2)),
        line_delay_s=LINE_DELAY_S,
        exposure_s=0.002,
        half_light_s=0.0,
        half_light_std_s=1e-4,
        sense=np.ones(n, dtype=np.int64),
        half_s=np.where(is_sharp, 0.0, BETWEEN_S),
    )


def test_intervals_of_either_side_bound_what_rows_of_the_other_date():
    # No light is dated by rows of both cameras: each light has one interval and one point.
    z = []
    for seed in range(6):
        rng = np.random.default_rng([seed, 12])
        onsets_s = 1.0 + np.cumsum(rng.uniform(0.4, 0.9, 50))
        is_sharp = rng.uniform(size=onsets_s.size) < 0.7
        found = calibrate_events([
            edges(rng, "cam_0", onsets_s, clock_of(0), is_sharp=is_sharp),
            edges(rng, "cam_2", onsets_s, clock_of(2), is_sharp=~is_sharp),
        ])  # fmt: skip
        source = found.sources["cam_2"]
        error_s = source.offset_s - clock_of(2).correction_s(found.at_ns * 1e-9)
        # The intervals of both sides leave no more uncertainty than those of one side.
        assert source.offset_std_s < BETWEEN_S / np.sqrt(3.0)
        assert not found.warnings
        z.append(error_s / source.offset_std_s)
    assert np.max(np.abs(z)) < 2.0
    assert np.sqrt(np.mean(np.square(z))) > 0.2


def test_reference_is_a_camera_that_dates_flashes():
    rng = np.random.default_rng(3)
    onsets_s = irregular_onsets(rng, 150)
    vague = lit_frames(rng, "cam_0", 24.0, onsets_s, Clock(), length_s=1e-3)
    sharp = [camera(rng, onsets_s, name=f"cam_{k}", rate_hz=12.0 + k) for k in (1, 2)]
    found = calibrate_events([vague, *sharp])
    assert set(found.sources) == {"cam_0", "cam_1", "cam_2"}
    assert found.reference == "cam_1"
    assert found.sources["cam_2"].offset_std_s < 1e-4 < found.sources["cam_0"].offset_std_s


@pytest.mark.parametrize("has_trigger", [True, False])
def test_intervals_do_not_make_timestamps_jitter(has_trigger):
    z, stds_s, jitters_s = [], [], []
    for seed in range(5):
        rng = np.random.default_rng([seed, 31])
        switches_s = 1.0 + np.cumsum(rng.uniform(0.3, 0.9, 60))
        evidence = [
            switches(
                rng,
                switches_s,
                name=f"cam_{k}",
                clock=clock_of(k),
                line_delay_s=line_s,
                is_stated=k > 0,
            )
            for k, line_s in enumerate((2.5e-5, 5e-5, 4e-5))
        ]
        if has_trigger:
            evidence.append(trigger(rng, switches_s[::2], std_s=1e-6))
        found = calibrate_events(evidence)
        for k in (1, 2):
            source = found.sources[f"cam_{k}"]
            error_s = source.offset_s - clock_of(k).correction_s(found.at_ns * 1e-9)
            z.append(error_s / source.offset_std_s)
            stds_s.append(source.offset_std_s)
            jitters_s.append(source.jitter_s)
    assert max(jitter_s or 0.0 for jitter_s in jitters_s) < 1e-3
    assert np.median(stds_s) < (1e-3 if has_trigger else BETWEEN_S)
    assert np.max(np.abs(z)) < 3.5
    assert np.sqrt(np.mean(np.square(z))) < 1.5


def lamps(seed, longest_late_s):
    """Return what two cameras show of two lamps on one switch, the second late by any time."""
    rng = np.random.default_rng([seed, 8])
    switches_s = 1.0 + np.cumsum(rng.uniform(0.35, 1.0, 64))
    late_s = rng.uniform(0.0, longest_late_s, switches_s.size)
    return [
        switches(rng, np.sort(light), name=name, rate_hz=rate_hz, line_delay_s=6e-5)
        for name, rate_hz, light in (("a", 30.0, switches_s), ("b", 20.0, switches_s + late_s))
    ]


@pytest.mark.parametrize("seed", range(6))
def test_lamps_that_follow_a_switch_at_random_are_refused(seed):
    with pytest.raises(CalibrationError, match=r"different lights|by chance"):
        calibrate_events(lamps(seed, 0.06))
    assert "b" in calibrate_events(lamps(seed, 1e-4)).sources
