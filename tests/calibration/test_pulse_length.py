import dataclasses

import numpy as np
import pytest
from syncaudit_calibration import calibrate_events
from syncaudit_calibration.pulse_length import as_onsets, find_pulse_length

from syncaudit.detectors.flash.intervals import BetweenFrames, with_intervals
from syncaudit.estimators.events import Instants, instants_of, measure_flashes
from syncaudit.model import FlashEdges, FlashIntervals, Quantity
from testkit.event_rig import (
    SPAN_S,
    WIDTH_S,
    Clock,
    camera,
    irregular_onsets,
    trigger,
    without_exposure,
)

LENGTH_S = 0.03
LENGTH_ERROR_S = 3e-5
OFFSET_S = 50e-6


def _lamp_camera(
    rng: np.random.Generator,
    onsets_s: np.ndarray,
    ends_s: np.ndarray,
    *,
    name: str,
    clock: Clock | None = None,
    line_delay_s: float = 1.5e-5,
) -> FlashEdges:
    """Return where a 12 Hz camera with 2 ms of exposure shows a light going on or off."""
    clock = clock or Clock()
    frames = clock.own(rng.uniform(0.0, 1 / 12) + np.arange(int(SPAN_S * 12)) / 12)
    rows = []
    for sense, instants in ((1, clock.own(onsets_s)), (-1, clock.own(ends_s))):
        for instant in instants:
            k = int(np.argmin(np.abs(frames - instant)))
            row = (instant - frames[k]) / line_delay_s
            if abs(row) < 235:
                rows.append((k, frames[k], row, sense))
    k, frame_s, row, sense = np.array(sorted(rows)).T
    return FlashEdges(
        source=name,
        epoch_ns=0,
        frame_index=k.astype(np.int64),
        frame_s=frame_s,
        row_px=row + rng.normal(0.0, 2.0, row.size),
        row_std_px=np.full(row.size, 2.0),
        exposure_part=np.zeros(row.size),
        band=np.arange(row.size),
        height_px=480,
        watched_s=np.stack([frames[:-1], frames[1:]], axis=1),
        line_delay_s=line_delay_s,
        exposure_s=0.002,
        half_light_s=0.0,
        half_light_std_s=1e-4,
        sense=sense.astype(np.int64),
    )


def _lamp_rig(rng: np.random.Generator, onsets_s: np.ndarray, ends_s: np.ndarray):
    clocks = {f"cam_{k}": Clock(offset_s=rng.uniform(-2, 2), drift=2e-5 * k) for k in range(3)}
    clocks["cam_0"] = Clock()
    cameras = [
        _lamp_camera(rng, onsets_s, ends_s, name=name, clock=clock)
        for name, clock in clocks.items()
    ]
    return [*cameras, trigger(rng, onsets_s)], clocks


def _events(evidence):
    return {item.source: instants_of(item) for item in evidence}


@pytest.mark.parametrize("seed", range(6))
def test_length_of_programmed_pulses_is_found(seed):
    rng = np.random.default_rng(seed)
    onsets_s = irregular_onsets(rng, 60)
    evidence, _ = _lamp_rig(rng, onsets_s, onsets_s + LENGTH_S)
    length_s = find_pulse_length(_events(evidence), max_offset_s=30.0)
    assert length_s == pytest.approx(LENGTH_S, abs=LENGTH_ERROR_S)


@pytest.mark.parametrize("seed", range(12))
def test_lights_switched_by_hand_have_no_length(seed):
    rng = np.random.default_rng(seed)
    onsets_s = irregular_onsets(rng, 45)
    ends_s = onsets_s + rng.uniform(0.1, 0.9) * np.append(np.diff(onsets_s), 0.5)
    evidence, _ = _lamp_rig(rng, onsets_s, ends_s)
    assert find_pulse_length(_events(evidence), max_offset_s=30.0) is None


@pytest.mark.parametrize("seed", range(30))
def test_unrelated_trains_have_no_length(seed):
    rng = np.random.default_rng(seed)
    evidence = []
    for k in range(3):
        onsets_s = irregular_onsets(rng, 60)
        evidence.append(_lamp_camera(rng, onsets_s, onsets_s + LENGTH_S, name=f"cam_{k}"))
    evidence.append(trigger(rng, irregular_onsets(rng, 60)))
    assert find_pulse_length(_events(evidence), max_offset_s=30.0) is None


@pytest.mark.parametrize("seed", range(4))
def test_ends_of_pulses_tie_cameras_to_a_trigger(seed):
    rng = np.random.default_rng(seed)
    onsets_s = irregular_onsets(rng, 90)
    evidence, clocks = _lamp_rig(rng, onsets_s, onsets_s + LENGTH_S)
    found = calibrate_events(evidence)
    assert set(found.sources) == {*clocks, "trigger"}
    for name, clock in clocks.items():
        source = found.sources[name]
        true_s = clock.correction_s(1e-9 * source.at_ns)
        off_s = source.offset_s - true_s
        assert abs(off_s) < OFFSET_S
        assert abs(off_s) < 4.0 * source.offset_std_s or name == found.reference


def test_onsets_stay_and_ends_move():
    rng = np.random.default_rng(1)
    onsets_s = irregular_onsets(rng, 40)
    events = instants_of(_lamp_camera(rng, onsets_s, onsets_s + LENGTH_S, name="cam"))
    moved = as_onsets(events, LENGTH_S)
    apart_s = np.abs(moved.times_s[:, None] - onsets_s).min(axis=1)
    assert apart_s.max() < 5.0 * 2.0 * 1.5e-5
    assert np.all(np.diff(moved.times_s) >= 0.0)
    pulses = instants_of(camera(rng, onsets_s))
    assert as_onsets(pulses, LENGTH_S) is pulses


def test_exposure_that_dates_nothing_need_not_be_observable():
    rng = np.random.default_rng(3)
    onsets_s = irregular_onsets(rng, 60)
    lit_s = rng.uniform(0.05, 0.1, onsets_s.size)
    evidence = [
        _without_exposure(_lamp_camera(rng, onsets_s, onsets_s + lit_s, name="cam_0")),
        _lamp_camera(rng, onsets_s, onsets_s + lit_s, name="cam_1"),
        trigger(rng, onsets_s),
    ]
    found = calibrate_events(evidence)
    assert "cam_0" in found.sources
    assert found.sources["cam_0"].exposure_s is None


def _without_exposure(edges: FlashEdges) -> FlashEdges:
    return dataclasses.replace(edges, exposure_s=None)


def _with_changes_between_frames(seen: FlashEdges, onsets_s, ends_s, clock: Clock) -> FlashEdges:
    """Return a camera's view including lights that changed between two of its frames."""
    frames = np.unique(seen.watched_s)
    changes = [(t, 1) for t in clock.own(onsets_s)] + [(t, -1) for t in clock.own(ends_s)]
    whole = {int(np.searchsorted(frames, t)): sense for t, sense in changes}
    last = np.array([k for k in sorted(whole) if 0 < k < frames.size])
    # After the first row's exposure in the frame before began, and before it ended in this one.
    reach_s = 0.5 * (seen.line_delay_s * seen.height_px + seen.exposure_s)
    begin_s, end_s = frames[last - 1] - reach_s, frames[last] - reach_s + seen.exposure_s
    sense = np.array([whole[k] for k in last.tolist()])
    return with_intervals(seen, BetweenFrames(last - 1, last, begin_s, end_s, sense))


def test_lights_between_frames_tie_cameras_that_share_no_dated_one():
    rng = np.random.default_rng(7)
    onsets_s = irregular_onsets(rng, 40)
    ends_s = onsets_s + rng.uniform(0.1, 0.2, onsets_s.size)
    clocks = {
        "cam_0": Clock(),
        "cam_1": Clock(offset_s=1.1, drift=2e-5),
        "cam_2": Clock(offset_s=-0.4),
    }
    evidence = [
        _with_changes_between_frames(
            _lamp_camera(rng, onsets_s, ends_s, name=name, clock=clock, line_delay_s=4e-6),
            onsets_s,
            ends_s,
            clock,
        )
        for name, clock in clocks.items()
    ]
    assert all(instants_of(item).n < 12 for item in evidence)
    found = calibrate_events(evidence)
    assert set(found.sources) == set(clocks)
    for name, clock in clocks.items():
        source = found.sources[name]
        off_s = source.offset_s - clock.correction_s(1e-9 * source.at_ns)
        assert abs(off_s) < 3.0 * source.offset_std_s or name == found.reference
        # Constant phases leave the offset undetermined within a frame period, uniformly.
        assert source.offset_std_s < 1.0 / 12.0 / np.sqrt(12.0)


def _with_half_light_camera(seed: int):
    """Return lamps seen by cameras as going on and off, and by one that dates their middles."""
    rng = np.random.default_rng(seed)
    onsets_s = irregular_onsets(rng, 60)
    evidence, _ = _lamp_rig(rng, onsets_s, onsets_s + LENGTH_S)
    middles = camera(rng, onsets_s + 0.5 * (LENGTH_S - WIDTH_S), name="middles")
    return evidence, dataclasses.replace(middles, half_light_s=None, half_light_std_s=None)


def test_half_light_of_unknown_latency_ties_nothing_to_lights_that_last():
    rng = np.random.default_rng(1)
    onsets_s = irregular_onsets(rng, 60)
    lamps = _lamp_camera(rng, onsets_s, onsets_s + LENGTH_S, name="lamps", line_delay_s=1e-4)
    _, middles = _with_half_light_camera(1)
    for pair in ((lamps, middles), (middles, lamps)):
        found = measure_flashes(*pair)
        assert not found.accepted
        assert "half-light" in found.why


@pytest.mark.parametrize("seed", range(4))
def test_half_light_is_no_event_of_a_light_that_goes_off(seed):
    # The ends of pulses, of which the lamp's camera shows more than onsets, agree on an offset that
    # is wrong by the length of the pulses.
    rng = np.random.default_rng(seed)
    onsets_s = irregular_onsets(rng, 60)
    shown_s = onsets_s[rng.random(onsets_s.size) < 0.8]
    lamps = _lamp_camera(rng, shown_s, onsets_s + LENGTH_S, name="lamps", line_delay_s=1e-4)
    middles = camera(rng, onsets_s + 0.5 * (LENGTH_S - WIDTH_S), name="middles", line_delay_s=1e-4)
    known = {"half_light_s": 0.5 * LENGTH_S, "half_light_std_s": 2e-4}
    middles = dataclasses.replace(middles, **known)
    found = measure_flashes(lamps, middles)
    assert found.accepted
    assert abs(found.offset_s) < 3.0 * found.offset_std_s < 0.1 * LENGTH_S
    calibrated = calibrate_events([lamps, middles]).sources["middles"]
    assert abs(calibrated.offset_s) < 3.0 * calibrated.offset_std_s < 0.1 * LENGTH_S


def test_half_light_of_programmed_pulses_comes_after_half_their_length():
    evidence, middles = _with_half_light_camera(2)
    found = calibrate_events([*evidence, middles], reference="cam_0")
    source = found.sources["middles"]
    assert abs(source.offset_s) < 2.0 * source.offset_std_s
    assert source.offset_std_s < 0.1 * LENGTH_S


@pytest.mark.parametrize("seed", range(8))
def test_lights_on_the_frames_of_a_screen_have_no_wrong_length(seed):
    # 7 of 60 frames/s: 30 Hz cameras show only one end of each flash, and not the same one.
    rng = np.random.default_rng(seed)
    tick_s, length_s = 1 / 60, 7 / 60
    ticks = 60 + np.cumsum(rng.integers(27, 57, 42))
    onset_tick = np.concatenate([ticks, ticks + 7])
    sense = np.repeat([1, -1], ticks.size)
    events = {}
    for name, parity, offset_s in (("cam_0", 0, 0.0), ("cam_1", 1, 0.31)):
        own = onset_tick % 2 == parity
        times_s = onset_tick[own] * tick_s + offset_s + rng.normal(0.0, 2e-5, own.sum())
        zeros = np.zeros(times_s.size)
        events[name] = Instants(
            source=name,
            epoch_ns=0,
            times_s=times_s,
            std_s=zeros + 3e-5,
            half_s=zeros,
            row_px=zeros,
            item=np.arange(times_s.size),
            sense=sense[own],
            is_onset=False,
        ).in_order()
    found = find_pulse_length(events, max_offset_s=30.0)
    assert found is None or found == pytest.approx(length_s, abs=LENGTH_ERROR_S)


def test_ends_that_whole_frames_show_count_as_onsets():
    rng = np.random.default_rng(4)
    onsets_s = irregular_onsets(rng, 60)
    evidence, _ = _lamp_rig(rng, onsets_s, onsets_s + LENGTH_S)
    clock = Clock(offset_s=0.7, drift=3e-5)
    instants_s = clock.own(np.concatenate([onsets_s, onsets_s + LENGTH_S]))
    start_s = instants_s - rng.uniform(0.0, 0.01, instants_s.size)
    order = np.argsort(start_s)
    lit = FlashIntervals(
        source="whole",
        quantity=Quantity.FLASH,
        epoch_ns=0,
        start_s=start_s[order],
        stop_s=(start_s + 0.01)[order],
        std_s=np.full(order.size, 1e-4),
        count=np.ones(order.size, dtype=np.int64),
        sense=np.repeat([1, -1], onsets_s.size)[order],
    )
    found = calibrate_events([*evidence, lit], reference="cam_0")
    source = found.sources["whole"]
    error_s = source.offset_s - clock.correction_s(1e-9 * found.at_ns)
    assert abs(error_s) < 3.0 * source.offset_std_s
    assert source.offset_std_s < 7e-4


@pytest.mark.parametrize("stamp_part", [0.0, 0.5])
@pytest.mark.parametrize("seed", range(4))
def test_bands_of_lasting_pulses_are_as_high_as_the_pulse_is_long(seed, stamp_part):
    # A camera of 2 ms of exposure that does not state it, and one that shows more ends than onsets.
    rng = np.random.default_rng(seed)
    onsets_s = irregular_onsets(rng, 60)
    middles_s = onsets_s + 0.5 * (LENGTH_S - WIDTH_S)
    seen = camera(rng, middles_s, name="cam", exposure_s=LENGTH_S)
    unstated = without_exposure(seen, exposure_s=0.002, stamp_part=stamp_part)
    known = {"half_light_s": 0.5 * LENGTH_S, "half_light_std_s": 2e-4}
    middles = camera(rng, middles_s, name="middles", rate_hz=25.0, exposure_s=0.004)
    shown_s = onsets_s[rng.random(onsets_s.size) < 0.5]
    lamps = _lamp_camera(rng, shown_s, onsets_s + LENGTH_S, name="lamps", line_delay_s=1e-4)
    evidence = [unstated, dataclasses.replace(middles, **known), lamps]
    found = calibrate_events(evidence, reference="lamps").sources["cam"]
    assert abs(found.offset_s) < 2.5 * found.offset_std_s < LENGTH_S / 3.0
