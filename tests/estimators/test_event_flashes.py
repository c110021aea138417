import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from syncaudit.estimators.events import (
    are_equally_high,
    band_height_px,
    instants_of,
    measure_flashes,
    why_bands_contradict,
)
from syncaudit.estimators.events.flash_bands import MAX_CHANCE
from syncaudit.estimators.events.instants import READOUT_S, usual_line_delay
from syncaudit.model import FlashEdges
from testkit.event_rig import (
    WIDTH_S,
    Clock,
    camera,
    counter,
    global_shutter,
    irregular_onsets,
    stamped_at_start,
    trigger,
)

MOVED = Clock(offset_s=1.7, drift=5e-5)


def _true_offset_s(measurement, source: Clock, target: Clock, epoch_ns: int = 0) -> float:
    at_s = (measurement.at_ns - epoch_ns) * 1e-9
    reference_s = at_s + source.correction_s(at_s)
    return float(target.own(np.array(reference_s))) - at_s


@pytest.fixture
def onsets():
    return irregular_onsets(np.random.default_rng(0))


def test_unequal_exposures_and_rates_do_not_enter_the_offset(onsets):
    rng = np.random.default_rng(1)
    a = camera(rng, onsets, name="a", exposure_s=0.015)
    b = camera(rng, onsets, name="b", exposure_s=0.002, rate_hz=30.0, clock=MOVED)
    found = measure_flashes(a, b)
    assert found.accepted
    assert found.method == "flash"
    assert abs(found.offset_s - _true_offset_s(found, Clock(), MOVED)) < 20e-6
    assert found.offset_std_s < 20e-6
    # The map from reference to a clock that is corrected by +50 ppm runs at -50 ppm.
    assert found.drift_ppm == pytest.approx(-50.0, abs=1.0)


def test_swapping_source_and_target_negates(onsets):
    rng = np.random.default_rng(2)
    a, b = camera(rng, onsets, name="a"), camera(rng, onsets, name="b", rate_hz=25.0, clock=MOVED)
    one, other = measure_flashes(a, b), measure_flashes(b, a)
    # The two hold at one instant but on different clocks, 1.7 s apart at 50 ppm.
    moved_s = 1e-6 * other.drift_ppm * ((one.at_ns - other.at_ns) * 1e-9 + one.offset_s)
    assert one.offset_s == pytest.approx(-(other.offset_s + moved_s), abs=2e-6)
    assert one.offset_std_s == pytest.approx(other.offset_std_s, rel=0.05)


@settings(max_examples=10, deadline=None)
@given(shift_ms=st.integers(-9000, 9000), epoch_ns=st.integers(0, 2_000_000_000_000_000_000))
def test_shifting_a_source_shifts_the_answer(shift_ms, epoch_ns):
    rng = np.random.default_rng(3)
    pulses = irregular_onsets(rng, 40)
    a, b = trigger(rng, pulses, name="a"), trigger(rng, pulses, name="b")
    before = measure_flashes(a, b)
    after = measure_flashes(
        dataclasses.replace(a, epoch_ns=epoch_ns),
        dataclasses.replace(b, epoch_ns=epoch_ns + shift_ms * 1_000_000),
    )
    assert after.offset_s - before.offset_s == pytest.approx(1e-3 * shift_ms, abs=1e-6)
    assert after.offset_std_s == pytest.approx(before.offset_std_s)


def test_a_trigger_dates_the_onset_and_a_camera_half_light(onsets):
    rng = np.random.default_rng(4)
    found = measure_flashes(camera(rng, onsets), trigger(rng, onsets, clock=MOVED))
    assert abs(found.offset_s - _true_offset_s(found, Clock(), MOVED)) < 60e-6
    unknown = dataclasses.replace(camera(rng, onsets), half_light_s=None, half_light_std_s=None)
    vague = measure_flashes(unknown, trigger(rng, onsets, clock=MOVED))
    assert vague.systematic_std_s > 0.4 * WIDTH_S


def test_a_strobe_counter_says_its_interval(onsets):
    rng = np.random.default_rng(5)
    found = measure_flashes(counter(rng, onsets), trigger(rng, onsets, clock=MOVED))
    error_s = found.offset_s - _true_offset_s(found, Clock(), MOVED)
    assert abs(error_s) < 3.0 * found.offset_std_s
    assert 5e-3 < found.offset_std_s < 7e-3  # 20 ms: the position within them is unknown


def test_an_unstated_line_delay_is_found_where_it_shows(onsets):
    rng = np.random.default_rng(6)
    a = camera(rng, onsets, name="a", is_stated=False, line_delay_s=5e-5)
    found = measure_flashes(a, trigger(rng, onsets, clock=MOVED))
    assert found.diagnostics["source_line_delay_s"] == pytest.approx(5e-5, rel=2e-3)
    assert found.diagnostics["source_line_delay_known"] == 1.0
    # Half-light of the pulse is known no better than the usual line delay.
    error_s = found.offset_s - _true_offset_s(found, Clock(), MOVED)
    assert abs(error_s) < 1.96 * found.offset_std_s < 5e-4


def test_an_unstated_exposure_is_found_where_no_band_shows_both_edges(onsets):
    rng = np.random.default_rng(6)
    rows = camera(rng, onsets, name="a", rate_hz=25.0, line_delay_s=2e-5, exposure_s=0.012)
    rows = dataclasses.replace(rows, exposure_s=None)
    found = measure_flashes(rows, trigger(rng, onsets, clock=MOVED))
    assert found.diagnostics["source_exposure_s"] == pytest.approx(0.012, abs=2e-4)
    assert found.diagnostics["source_exposure_known"] == 1.0
    assert "target_exposure_s" not in found.diagnostics


def test_an_unobservable_line_delay_widens_the_error(onsets):
    rng = np.random.default_rng(7)
    a, b = (
        camera(rng, onsets, name=name, is_stated=False, phase_s=phase, clock=clock)
        for name, phase, clock in (("a", 0.01, Clock()), ("b", 0.02, MOVED))
    )
    found = measure_flashes(a, b)
    assert found.diagnostics["source_line_delay_known"] == 0.0
    assert found.offset_std_s > 1e-3
    assert abs(found.offset_s - _true_offset_s(found, Clock(), MOVED)) < 3.0 * found.offset_std_s


def test_jitter_of_timestamps_does_not_lengthen_line_delays():
    # Cameras of one frame rate do not show their line delay: it stays what is usual.
    z = []
    for seed in range(25):
        rng = np.random.default_rng([seed, 77])
        onsets = irregular_onsets(rng, 60)
        phase_s = rng.uniform(0.0, 1.0 / 12.0)
        readout_s = rng.uniform(*READOUT_S)
        seen = []
        for name, clock in (("a", Clock()), ("b", MOVED)):
            shutter = {"line_delay_s": readout_s / 480, "exposure_s": 0.004, "noise_s": 2e-6}
            near_s = phase_s + rng.uniform(-0.004, 0.004)
            edges = camera(
                rng, onsets, name=name, is_stated=False, clock=clock, phase_s=near_s, **shutter
            )
            late_s = rng.normal(0.0, 1e-4, 2000)
            seen.append(
                dataclasses.replace(
                    edges, frame_s=edges.frame_s + late_s[edges.frame_index], jitter_s=1e-4
                )
            )
        found = measure_flashes(*seen)
        assert found.accepted
        figures = found.diagnostics
        for side in ("source", "target"):
            off_s = figures[f"{side}_line_delay_s"] - readout_s / 480
            z.append(off_s / figures[f"{side}_line_delay_std_s"])
    assert abs(np.mean(z)) < 0.5


def test_dropped_frames_read_as_a_step(onsets):
    rng = np.random.default_rng(8)
    a, b = camera(rng, onsets, name="a", rate_hz=25.0), trigger(rng, onsets)
    lost = dataclasses.replace(a, frame_s=a.frame_s - 0.04 * (a.frame_s > 20.0))
    found = measure_flashes(lost, b)
    assert found.step_s == pytest.approx(0.04, abs=50e-6)
    assert abs(found.step_at_ns * 1e-9 - 20.0) < 2.0


def test_a_clock_that_steps_twice_is_refused(onsets):
    rng = np.random.default_rng(8)
    a, b = camera(rng, onsets, name="a", rate_hz=25.0), trigger(rng, onsets)
    lost = dataclasses.replace(
        a, frame_s=a.frame_s - 0.04 * (a.frame_s > 15.0) - 0.04 * (a.frame_s > 30.0)
    )
    found = measure_flashes(lost, b)
    assert not found.accepted
    assert "steps 2 times" in found.why


def test_a_refusal_names_period_and_cure():
    rng = np.random.default_rng(9)
    pulses = np.arange(0.5, 44.0, 0.731)
    found = measure_flashes(camera(rng, pulses, rate_hz=30.0), trigger(rng, pulses))
    assert not found.accepted
    assert "modulo 731 ms" in found.why
    assert "irregular" in found.why
    assert found.offset_s is None


def test_standard_errors_are_honest():
    rng = np.random.default_rng(10)
    z = []
    for _ in range(60):
        pulses = irregular_onsets(rng, 60)
        clock = Clock(offset_s=rng.uniform(-5.0, 5.0), drift=rng.normal(0.0, 5e-5))
        a, b = trigger(rng, pulses, name="a", std_s=5e-5), trigger(rng, pulses, clock=clock)
        found = measure_flashes(a, b)
        z.append((found.offset_s - _true_offset_s(found, Clock(), clock)) / found.offset_std_s)
    # Standard deviation of 60 unit normals: 1 +- 0.09; the floor makes it slightly smaller.
    assert 0.65 < np.std(z) < 1.25


def test_band_height_is_exposure_over_line_delay(onsets):
    edges = camera(np.random.default_rng(11), onsets, exposure_s=0.004, line_delay_s=4e-5)
    height, std = band_height_px(edges)
    assert abs(height - 100.0) < 4.0 * std
    assert std < 0.5


def test_instants_do_not_depend_on_the_order_of_bands(onsets):
    edges = camera(np.random.default_rng(12), onsets)
    order = np.random.default_rng(0).permutation(edges.frame_s.size)
    columns = ("frame_index", "frame_s", "row_px", "row_std_px", "exposure_part", "band")
    mixed = dataclasses.replace(edges, **{name: getattr(edges, name)[order] for name in columns})
    assert isinstance(mixed, FlashEdges)
    one, other = instants_of(edges), instants_of(mixed)
    assert np.allclose(one.times_s, other.times_s, rtol=0.0, atol=1e-12)
    assert np.array_equal(one.item, other.item)


def test_a_counter_that_jumped_by_two_gives_two_instants():
    pulses = np.array([1.0, 1.004, 5.0])
    instants = instants_of(counter(np.random.default_rng(2), pulses, period_s=0.1))
    assert instants.n == 3
    assert np.all(np.abs(instants.times_s - pulses) <= instants.half_s)


def test_an_error_that_all_events_of_a_train_share_does_not_average_out(onsets):
    rng = np.random.default_rng(4)
    a, b = trigger(rng, onsets, name="a"), trigger(rng, onsets, name="b", clock=MOVED)
    shared = dataclasses.replace(b, systematic_std_s=7e-4)
    for one, other in ((a, shared), (shared, a)):
        found = measure_flashes(one, other)
        assert found.systematic_std_s == pytest.approx(7e-4, rel=0.01)
        assert found.offset_std_s == pytest.approx(7e-4, rel=0.01)


@pytest.mark.parametrize("is_sent", [True, False])
def test_few_messages_of_a_counter_are_flashes_only_if_sent_at_them(is_sent):
    """With messages every 20 ms, chance puts three of them equally far behind their flashes."""
    n_sharp = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        pulses = np.sort(rng.uniform(1.0, 40.0, 4))
        counted = counter(rng, pulses, period_s=0.02)
        if is_sent:
            counted = dataclasses.replace(
                counted, start_s=np.r_[0.0, pulses[:-1]], stop_s=pulses + 1e-4
            )
        found = measure_flashes(counted, trigger(rng, pulses), max_offset_s=2.0)
        if found.accepted:
            assert abs(found.offset_s) < 3.0 * found.offset_std_s
            n_sharp += found.offset_std_s < 1e-3
    assert n_sharp >= 36 if is_sent else n_sharp == 0


def test_a_refusal_tells_how_near_it_came():
    rng = np.random.default_rng(3)
    pulses = np.array([1.0, 4.3, 9.1])
    found = measure_flashes(
        trigger(rng, pulses, std_s=4e-3), trigger(rng, pulses, name="b", std_s=4e-3)
    )
    assert not found.accepted
    assert found.diagnostics["matched"] == 3.0
    assert found.diagnostics["chance"] > 3e-4


@pytest.mark.parametrize("stated_s", [0.0008, 0.004, 0.0044, 0.016])
def test_a_stated_exposure_that_bands_contradict_moves_no_offset(onsets, stated_s):
    rng = np.random.default_rng(3)
    shutter = {"line_delay_s": 2.5e-5, "exposure_s": 0.004}
    a = stamped_at_start(camera(rng, onsets, name="a", **shutter), exposure_s=stated_s)
    found = measure_flashes(a, camera(rng, onsets, name="b", rate_hz=30.0, **shutter))
    assert found.accepted
    assert abs(found.offset_s) < 3.0 * found.offset_std_s < 3e-4
    assert (why_bands_contradict(a) is None) is (stated_s == 0.004)


@pytest.mark.parametrize("stated_s", [1.2e-5, 2.5e-5, 3e-5, 4e-5])
def test_a_stated_line_delay_that_bands_contradict_is_found(onsets, stated_s):
    rng = np.random.default_rng(3)
    shutter = {"line_delay_s": 2.5e-5, "exposure_s": 0.004}
    a = dataclasses.replace(camera(rng, onsets, name="a", **shutter), line_delay_s=stated_s)
    found = measure_flashes(a, trigger(rng, onsets))
    assert found.accepted
    assert abs(found.offset_s) < 3.0 * found.offset_std_s < 2.5e-4
    assert (why_bands_contradict(a) is None) is (stated_s == 2.5e-5)


def bands_of(heights_px):
    """Return bands of these heights at random rows, without the light that caused them."""
    n = heights_px.size
    top_px = np.random.default_rng(n).uniform(-200.0, 0.0, n)
    return FlashEdges(
        source="a",
        epoch_ns=0,
        frame_index=np.repeat(np.arange(n), 2),
        frame_s=np.repeat(np.arange(float(n)), 2),
        row_px=np.stack([top_px, top_px + heights_px], axis=1).ravel(),
        row_std_px=np.full(2 * n, 1.0),
        exposure_part=np.tile([0.5, -0.5], n),
        band=np.repeat(np.arange(n), 2),
        height_px=480,
        watched_s=np.empty((0, 2)),
        line_delay_s=2.5e-5,
        exposure_s=0.004,
    )


@pytest.mark.parametrize("n", [3, 5, 12])
@pytest.mark.parametrize("height_px", [8.0, 160.0])
def test_bands_of_lights_are_equally_high(n, height_px):
    error_px = np.random.default_rng(n).normal(0.0, 0.002 * height_px, n)
    assert are_equally_high(bands_of(height_px + error_px))


@pytest.mark.parametrize("n", [2, 5])
def test_bands_of_texture_are_equally_high_by_chance_alone(n):
    rng = np.random.default_rng(n)
    heights_px = rng.uniform(0.0, 100.0, (5000, n))
    found = sum(are_equally_high(bands_of(each)) for each in heights_px)
    assert found <= 2.5 * 5000 * MAX_CHANCE  # 5 are expected


@pytest.mark.parametrize(
    ("rate_hz", "longest_s"), [(12.0, 0.032), (60.0, 1 / 60), (240.0, 1 / 240)]
)
def test_a_read_out_that_nothing_states_lasts_a_frame_period_at_most(onsets, rate_hz, longest_s):
    rng = np.random.default_rng(9)
    edges = camera(rng, onsets, rate_hz=rate_hz, is_stated=False)
    mean_s, std_s = (edges.height_px * each for each in usual_line_delay(edges))
    assert mean_s + np.sqrt(3.0) * std_s == pytest.approx(longest_s, rel=1e-3)
    assert mean_s - np.sqrt(3.0) * std_s > 0.0


@pytest.mark.parametrize("exposure_s", [0.0065, 0.0125])
@pytest.mark.parametrize("knows_line_delay", [True, False])
def test_an_unstated_exposure_is_found_where_bands_have_one_edge(exposure_s, knows_line_delay):
    # Exposed for longer than the readout of 6 ms: no frame shows both edges of a band.
    z = []
    for seed in range(8):
        rng = np.random.default_rng([seed, 31])
        onsets = irregular_onsets(rng, 50)
        timing = {"exposure_s": exposure_s, "line_delay_s": 1.25e-5, "rate_hz": 30.0}
        seen = camera(rng, onsets, name="a", **timing)
        seen = dataclasses.replace(seen, exposure_s=None)
        if not knows_line_delay:
            seen = dataclasses.replace(seen, line_delay_s=None)
        assert band_height_px(seen) is None
        found = measure_flashes(seen, trigger(rng, onsets, clock=MOVED))
        assert found.accepted
        assert found.offset_std_s < 1e-4
        z.append((found.offset_s - _true_offset_s(found, Clock(), MOVED)) / found.offset_std_s)
    assert np.max(np.abs(z)) < 3.0


def test_an_exposure_that_one_kind_of_edge_leaves_open_widens_the_error(onsets):
    rng = np.random.default_rng(32)
    timing = {"exposure_s": 0.0125, "line_delay_s": 1.25e-5, "rate_hz": 30.0}
    seen = camera(rng, onsets, name="a", **timing)
    upper = seen.exposure_part > 0.0
    columns = ("frame_index", "frame_s", "row_px", "row_std_px", "exposure_part", "band")
    kept = {name: getattr(seen, name)[upper] for name in columns}
    found = measure_flashes(
        dataclasses.replace(seen, **kept, exposure_s=None), trigger(rng, onsets, clock=MOVED)
    )
    assert found.accepted
    assert 2e-3 < found.systematic_std_s < 4e-3
    assert abs(found.offset_s - _true_offset_s(found, Clock(), MOVED)) < 2.0 * found.offset_std_s


@pytest.mark.parametrize("rates_hz", [(30.0, 30.0), (30.0, 30.001), (30.0, 31.0)])
def test_whole_frames_of_one_rate_do_not_average_out(rates_hz):
    z = []
    for seed in range(8):
        rng = np.random.default_rng([seed, 41])
        lights_s = irregular_onsets(rng, 60)
        pair = (
            global_shutter(rng, lights_s, name=name, rate_hz=rate_hz, exposure_s=0.025)
            for name, rate_hz in zip("ab", rates_hz, strict=True)
        )
        found = measure_flashes(*pair)
        assert found.accepted
        z.append(found.offset_s / found.offset_std_s)
    assert np.max(np.abs(z)) < 2.5
