import dataclasses

import numpy as np
import pytest
from syncaudit_calibration import calibrate_events

from syncaudit.estimators.events import instants_of
from syncaudit.estimators.events.missed import Missed, find_missed, views_of
from syncaudit.model import FlashIntervals, Quantity
from testkit.event_rig import SPAN_S, Clock, camera, counter, irregular_onsets, trigger

OFFSET_S = 50e-6
PULSE_S = 1.0 / 48.0


EVEN_S = np.arange(4) * PULSE_S
UNEVEN_S = np.array([0.0, 0.017, 0.041, 0.06])


def _bursts(rng: np.random.Generator, pulses_s: np.ndarray) -> np.ndarray:
    """Return bursts of four pulses within a frame period at 12 Hz."""
    starts = np.cumsum(rng.uniform(0.3, 0.9, 90))
    starts = starts[starts < SPAN_S - 1.0]
    return (starts[:, None] + pulses_s).ravel()


def _sharp(times_s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return times_s, np.zeros(times_s.size)


def _camera(rng: np.random.Generator, onsets: np.ndarray, name: str, phase_s: float):
    return camera(rng, onsets, name=name, phase_s=phase_s, line_delay_s=2.5e-5, exposure_s=0.008)


def _cameras(rng: np.random.Generator, onsets: np.ndarray):
    """Return two cameras that see some pulses in common, and one that shares none with them."""
    return [
        _camera(rng, onsets, name, phase_s)
        for name, phase_s in (("a", 0.005), ("b", 0.009), ("c", 0.005 + PULSE_S))
    ]


@pytest.mark.parametrize("seed", range(4))
def test_cameras_that_never_see_the_same_pulse_are_not_matched_a_pulse_apart(seed):
    rng = np.random.default_rng(seed)
    found = calibrate_events(_cameras(rng, _bursts(rng, EVEN_S)))
    assert set(found.sources) == {"a", "b"}
    assert "flashes in full view of" in found.refused["c"]


def test_a_trigger_that_sees_every_pulse_ties_them():
    rng = np.random.default_rng(4)
    onsets = _bursts(rng, UNEVEN_S)
    found = calibrate_events([*_cameras(rng, onsets), trigger(rng, onsets)])
    for name in ("b", "c", "trigger"):
        assert abs(found.sources[name].offset_s) < OFFSET_S


@pytest.mark.parametrize("is_stated", [True, False])
def test_a_covered_camera_is_calibrated(is_stated):
    rng = np.random.default_rng(5)
    onsets = irregular_onsets(rng)
    clock = Clock(offset_s=0.3, drift=2e-5)
    found = [
        camera(rng, onsets, name=name, rate_hz=rate_hz, clock=own, is_stated=is_stated)
        for name, rate_hz, own in (("a", 30.0, None), ("b", 25.0, None), ("c", 28.0, clock))
    ]
    open_ = found[2].frame_s > 18.0  # of 45 s
    columns = ("frame_index", "frame_s", "row_px", "row_std_px", "exposure_part", "band")
    found[2] = dataclasses.replace(
        found[2], **{name: getattr(found[2], name)[open_] for name in columns}
    )
    calibration = calibrate_events(found)
    source = calibration.sources["c"]
    error_s = source.offset_s - clock.correction_s(calibration.at_ns * 1e-9)
    assert abs(error_s) < OFFSET_S


def test_only_full_view_counts():
    rng = np.random.default_rng(6)
    onsets = irregular_onsets(rng)
    seen = camera(rng, onsets)
    half_light_s = onsets + 5e-4
    views = views_of(seen, 4e-5)
    found = find_missed(views, _sharp(half_light_s), _sharp(instants_of(seen).times_s))
    # Readout, exposure minus edges: 19 ms of every 83 ms, and everything in that time is seen.
    assert found.n_unseen == 0
    assert 0.1 * onsets.size < found.n_seen < 0.4 * onsets.size
    assert not found.exceeds()


def test_rows_that_no_light_reaches_have_no_view():
    rng = np.random.default_rng(6)
    onsets = irregular_onsets(rng)
    everywhere = camera(rng, onsets)
    is_above = everywhere.row_px < -80.0
    columns = ("frame_index", "frame_s", "row_px", "row_std_px", "exposure_part", "band")
    taken = {name: getattr(everywhere, name)[is_above] for name in columns}
    above = dataclasses.replace(everywhere, **taken, reached_px=(-239.5, -80.0))
    flashes, seen = _sharp(onsets + 5e-4), _sharp(instants_of(above).times_s)
    assert not find_missed(views_of(above, 4e-5), flashes, seen).exceeds()
    blind = dataclasses.replace(above, reached_px=None)
    assert find_missed(views_of(blind, 4e-5), flashes, seen).exceeds()


def test_scattered_misses_contradict_and_a_cover_does_not():
    views = np.array([[0.0, 100.0]])
    flashes = np.arange(1.0, 61.0)
    scattered = find_missed(views, _sharp(flashes), _sharp(flashes[flashes % 2 == 0]))
    assert (scattered.n_seen, scattered.n_unseen, scattered.n_runs) == (30, 30, 30)
    assert scattered.exceeds()
    assert "of 60 flashes in full view of cam it shows 30" in scattered.words("cam")
    covered = find_missed(views, _sharp(flashes), _sharp(flashes[flashes > 30.0]))
    assert (covered.n_unseen, covered.n_runs) == (30, 1)
    assert not covered.exceeds(0.4)


def test_a_global_shutter_has_its_exposures_in_view():
    frame_s = np.arange(10) / 10.0
    lit = FlashIntervals(
        source="cam",
        quantity=Quantity.FLASH,
        epoch_ns=0,
        start_s=np.array([0.295]),
        stop_s=np.array([0.305]),
        std_s=np.array([1e-4]),
        count=np.array([1]),
        dead_s=np.stack([frame_s[:-1] + 0.004, frame_s[1:] - 0.004], axis=1)[[0, 1, 2, 5, 6, 7]],
    )
    views = views_of(lit, 0.0)
    # Frames 3 to 5 were not watched throughout; the ends of an exposure are uncertain.
    assert views == pytest.approx(np.array([0.1, 0.2, 0.6, 0.7])[:, None] + [-0.0024, 0.0024])


def test_a_counter_has_no_view():
    rng = np.random.default_rng(7)
    assert views_of(counter(rng, irregular_onsets(rng)), 0.0).shape == (0, 2)


def test_global_shutters_are_asked_more_of():
    few = {"n_seen": 24, "n_unseen": 6, "n_runs": 5}
    assert Missed(**few, is_whole=True).exceeds()
    assert not Missed(**few).exceeds()
