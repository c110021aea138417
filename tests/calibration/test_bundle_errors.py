"""Claimed errors follow jitter and the number of flashes; flash counters date flashes."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest
from syncaudit_calibration import calibrate_events
from syncaudit_calibration.plots import _instants_s

from syncaudit.estimators.events.instants import READOUT_S
from syncaudit.model import FlashIntervals, Quantity
from testkit.event_rig import (
    WIDTH_S,
    Clock,
    camera,
    counter,
    full_rig,
    irregular_onsets,
    without_exposure,
)
from testkit.flash_calibration import errors_of


def _two_cameras(seed):
    """Return random numbers, a clock, and two cameras, the second of which has that clock."""
    rng = np.random.default_rng(seed)
    onsets = irregular_onsets(rng)
    clock = Clock(offset_s=1.0, drift=2e-5)
    steady = camera(rng, onsets, name="a", rate_hz=30.0)
    return rng, clock, steady, camera(rng, onsets, name="b", rate_hz=25.0, clock=clock)


def _stamped(item, error_s, **lateness):
    """Return a camera in which each frame has the error of its timestamp."""
    return dataclasses.replace(item, frame_s=item.frame_s + error_s[item.frame_index], **lateness)


def _jittered(rng, item, jitter_s):
    return _stamped(item, rng.normal(0.0, jitter_s, int(item.frame_index.max()) + 1))


def test_jitter_of_the_stamps_widens_the_errors():
    z, n_warned = [], 0
    for seed in range(15):
        rng, clock, steady, shaky = _two_cameras(200 + seed)
        found = calibrate_events([steady, _jittered(rng, shaky, 3e-4)])
        source = found.sources["b"]
        assert source.steps == found.sources["a"].steps == ()
        assert 2e-5 < source.offset_std_s < 3e-4
        assert 1.5e-4 < np.hypot(source.jitter_s, found.sources["a"].jitter_s) < 4.5e-4
        n_warned += any("the timestamps of a or b jitter by" in words for words in found.warnings)
        z.append(errors_of(found, {"a": Clock(), "b": clock})["b"][0] / source.offset_std_s)
    assert np.std(z) < 1.4
    assert n_warned >= 12


def _bare_camera(rng, onsets, clock, *, exposure_s, line_delay_s, stamp_part):
    """Return a camera that states nothing; no frame shows both edges of a band."""
    timing = {"exposure_s": exposure_s, "line_delay_s": line_delay_s, "rate_hz": 25.0}
    seen = camera(rng, onsets, name="b", clock=clock, **timing)
    bare = without_exposure(seen, exposure_s=exposure_s, stamp_part=stamp_part)
    return dataclasses.replace(bare, line_delay_s=None)


@pytest.mark.parametrize("stamp_part", [0.0, 0.5])
def test_a_camera_that_states_nothing_and_shows_one_edge_of_each_band_is_calibrated(stamp_part):
    z = []
    for seed in range(8):
        rng = np.random.default_rng(1200 + seed)
        onsets, clock = irregular_onsets(rng), Clock(offset_s=0.8, drift=-3e-5)
        timing = {"exposure_s": 0.014, "line_delay_s": 1.25e-5, "stamp_part": stamp_part}
        bare = _bare_camera(rng, onsets, clock, **timing)
        found = calibrate_events([camera(rng, onsets, name="a", rate_hz=30.0), bare])
        source = found.sources["b"]
        assert source.offset_std_s < 2e-4
        assert abs(source.exposure_s - 0.014) < 4.0 * source.exposure_std_s + 1e-4
        z.append(errors_of(found, {"a": Clock(), "b": clock})["b"][0] / source.offset_std_s)
    assert np.max(np.abs(z)) < 3.0


@pytest.mark.parametrize("stamp_part", [0.5, -0.5])
def test_plots_date_flashes_on_one_clock_whatever_timestamps_mark(stamp_part):
    rng = np.random.default_rng(1250)
    onsets, clock = irregular_onsets(rng), Clock(offset_s=0.8, drift=-3e-5)
    timing = {"exposure_s": 0.014, "line_delay_s": 1.25e-5, "stamp_part": stamp_part}
    evidence = [camera(rng, onsets, name="a"), _bare_camera(rng, onsets, clock, **timing)]
    found = SimpleNamespace(
        calibration=calibrate_events([*evidence, camera(rng, onsets, name="c", rate_hz=30.0)]),
        evidence={item.source: item for item in evidence},
    )
    since_s, _ = _instants_s(found, "b", is_corrected=True)
    half_light_s = onsets + 0.5 * WIDTH_S - found.calibration.at_ns * 1e-9
    assert np.max(np.abs(since_s[:, None] - half_light_s).min(axis=1)) < 5e-4


def _as_light_that_stays(item):
    """Return one-edged bands as a detector reports them: perhaps those of a light that stays."""
    return dataclasses.replace(
        item,
        sense=np.sign(item.exposure_part).astype(np.int64),
        exposure_part=np.zeros(item.band.size),
        half_light_s=0.0,
        half_light_std_s=1e-4,
        edge_shift_std_s=0.004,
    )


@pytest.mark.parametrize("stamp_part", [0.0, 0.5])
@pytest.mark.parametrize("half_light_s", [5e-4, 1.5e-3])
def test_other_cameras_tell_one_edged_bands_from_lights_that_stay(half_light_s, stamp_part):
    # Where timestamps need the exposure, bands show it if they outlast the light.
    z = []
    for seed in range(4):
        rng = np.random.default_rng(1300 + seed)
        onsets, clock = irregular_onsets(rng), Clock(offset_s=0.8, drift=-3e-5)
        timing = {"exposure_s": 0.016, "line_delay_s": 1.5e-5, "stamp_part": stamp_part}
        bare = _bare_camera(rng, onsets, clock, **timing)
        others = [camera(rng, onsets, name=name, rate_hz=24.0) for name in ("a", "c")]
        light = {"half_light_s": half_light_s, "half_light_std_s": 1.2e-4}
        found = calibrate_events(
            [
                _as_light_that_stays(bare),
                *(dataclasses.replace(other, **light) for other in others),
            ]
        )
        source = found.sources["b"]
        assert abs(source.exposure_s - 0.016) < 4.0 * source.exposure_std_s + 1e-4
        assert source.offset_std_s < 2e-4
        z.append(
            errors_of(found, {"a": Clock(), "b": clock, "c": Clock()})["b"][0] / source.offset_std_s
        )
    assert np.max(np.abs(z)) < 3.0


@pytest.mark.parametrize("is_late", [True, False])
def test_flashes_tell_late_stamps_from_uneven_exposures(is_late):
    z, shares = [], []
    for seed in range(12):
        rng, clock, steady, shaky = _two_cameras(700 + seed)
        late_s = rng.normal(0.0, 2e-3, int(shaky.frame_index.max()) + 1)
        lateness = {"late_s": late_s[shaky.frame_index], "jitter_s": 2e-3}
        found = calibrate_events([steady, _stamped(shaky, late_s * is_late, **lateness)])
        source = found.sources["b"]
        assert source.offset_std_s < 1e-4
        shares.append(source.removed_jitter_s / 2e-3)
        assert any("about a regular clock" in words for words in found.warnings) == is_late
        z.append(errors_of(found, {"a": Clock(), "b": clock})["b"][0] / source.offset_std_s)
    assert np.allclose(shares, float(is_late), atol=0.3)
    assert np.std(z) < 1.4


def test_one_sided_lateness_leaves_the_offset_of_the_median_stamp():
    rng, clock, steady, shaky = _two_cameras(5)
    late_s = rng.exponential(3e-3, int(shaky.frame_index.max()) + 1)
    late_s -= np.median(late_s)
    lateness = {"late_s": late_s[shaky.frame_index], "jitter_s": 2e-3}
    found = calibrate_events([steady, _stamped(shaky, late_s, **lateness)])
    error_s = errors_of(found, {"a": Clock(), "b": clock})["b"][0]
    assert abs(error_s) < 1e-4  # the mean timestamp is 0.9 ms late
    assert abs(error_s) < 3.0 * found.sources["b"].offset_std_s


def test_usual_jitter_is_reported_without_a_warning(rig):
    rng = np.random.default_rng(8)
    shaky = [_jittered(rng, item, 2e-5) for item in rig[0][:3]]
    found = calibrate_events([*shaky, *rig[0][3:]])
    assert found.warnings == ()
    for k in range(3):
        assert abs(found.sources[f"cam_{k}"].jitter_s - 2e-5) < 8e-6
    assert found.sources["cam_3"].jitter_s < 8e-6
    assert found.sources["can"].jitter_s is None
    assert found.to_json()["sources"]["cam_0"]["jitter_s"] == found.sources["cam_0"].jitter_s


def test_few_flashes_widen_the_errors():
    z = []
    for seed in range(20):
        rng = np.random.default_rng(300 + seed)
        onsets = np.sort(rng.choice(irregular_onsets(rng), 20, replace=False))
        clock = Clock(offset_s=-0.4, drift=1e-5)
        cameras = [
            _jittered(rng, camera(rng, onsets, name=name, rate_hz=rate_hz, clock=own), 3e-5)
            for name, rate_hz, own in (("a", 30.0, None), ("b", 25.0, clock))
        ]
        found = calibrate_events(cameras)
        z.append(errors_of(found, {"a": Clock(), "b": clock})["b"][0])
        z[-1] /= found.sources["b"].offset_std_s
    assert np.std(z) < 1.3


def test_a_counter_tells_its_clock_to_its_period_over_the_number_of_flashes(rig):
    z = []
    for seed in range(8):
        rng = np.random.default_rng(400 + seed)
        clock = Clock(offset_s=0.7, drift=-2e-5)
        found = calibrate_events([rig[0][1], counter(rng, rig[2], clock=clock)], reference="cam_1")
        source = found.sources["can"]
        camera_s = rig[1]["cam_1"].correction_s(found.at_ns * 1e-9)
        error_s = source.offset_s - clock.correction_s(found.at_ns * 1e-9 + camera_s) + camera_s
        # About 40 common flashes: 20 ms / 40, not 20 ms / sqrt(12 * 40).
        assert source.offset_std_s < 9e-4
        z.append(error_s / source.offset_std_s)
    assert 0.5 < np.std(z) < 1.5


def test_a_counter_sent_at_every_flash_dates_them(rig):
    rng = np.random.default_rng(9)
    clock = Clock(offset_s=1.3, drift=4e-5)
    stop_s = clock.own(rig[2]) + rng.uniform(0.0, 1e-4, rig[2].size)
    found = calibrate_events(
        [
            *rig[0][:3],
            FlashIntervals(
                source="can",
                quantity=Quantity.STROBE,
                epoch_ns=0,
                start_s=stop_s - rng.uniform(5e-3, 0.1, stop_s.size),
                stop_s=stop_s,
                std_s=np.full(stop_s.size, 1e-6),
                count=np.ones(stop_s.size, dtype=np.int64),
            ),
        ]
    )
    source = found.sources["can"]
    error_s = source.offset_s - clock.correction_s(found.at_ns * 1e-9)
    assert abs(error_s) < 1.5e-4
    assert 2e-4 < source.offset_std_s < 3e-4  # if the time of sending is unknown
    assert source.flashes_seen > 70


def test_a_counter_may_be_the_reference(rig):
    found = calibrate_events([*rig[0][:3], rig[0][4]], reference="can")
    plain = calibrate_events([*rig[0][:3], rig[0][4]])
    back = plain.sources["can"]
    for name in ("cam_0", "cam_1", "cam_2"):
        source = found.sources[name]
        at_s = (found.at_ns - plain.at_ns) * 1e-9
        other = plain.sources[name]
        expected = (
            other.offset_s
            - back.offset_s
            + 1e-6
            * (other.drift_ppm * at_s - back.drift_ppm * (at_s + other.offset_s - back.offset_s))
        )
        assert source.offset_s == pytest.approx(expected, abs=0.02 * source.offset_std_s)
        assert source.offset_std_s == pytest.approx(back.offset_std_s, rel=0.2)
    assert found.warnings == ()


def test_intervals_alone_are_honest():
    z = []
    for seed in range(4):
        rng = np.random.default_rng(500 + seed)
        onsets = irregular_onsets(rng)
        clocks = {name: Clock(offset_s=rng.uniform(-1.0, 1.0)) for name in ("b", "c")}
        found = calibrate_events(
            [
                counter(rng, onsets, name=name, clock=clocks.get(name), period_s=period_s)
                for name, period_s in (("a", 0.02), ("b", 0.023), ("c", 0.017))
            ]
        )
        assert found.reference == "a"
        for name, clock in clocks.items():
            source = found.sources[name]
            assert source.offset_std_s < 2.5e-3
            error_s = source.offset_s - clock.correction_s(found.at_ns * 1e-9)
            z.append(error_s / source.offset_std_s)
    assert np.max(np.abs(z)) < 3.0


@pytest.mark.parametrize("shows_ends", [True, False])
def test_lights_that_a_camera_shows_longer_hardly_move_it_where_both_ends_show(shows_ends):
    shift_s, z, stds = 1.5e-4, [], []
    for seed in range(12):
        rng = np.random.default_rng(900 + seed)
        clock, changes = Clock(offset_s=0.3, drift=2e-5), irregular_onsets(rng)
        steady, other = (
            _switched(
                camera(
                    rng, changes, name=name, rate_hz=45.0, exposure_s=1e-4, clock=own, noise_s=6e-5
                ),
                own.own(changes),
            )
            for name, own in (("a", Clock()), ("b", clock))
        )
        other = dataclasses.replace(
            other, row_px=other.row_px - other.sense * rng.normal(0.0, shift_s) / 4e-5
        )
        other = dataclasses.replace(other, edge_shift_std_s=shift_s)
        if not shows_ends:
            other = _some(other, other.sense > 0)
        found = calibrate_events([steady, other])
        std_s = found.sources["b"].offset_std_s
        z.append(errors_of(found, {"a": Clock(), "b": clock})["b"][0] / std_s)
        stds.append(std_s)
    assert np.max(stds) < 5e-5 if shows_ends else 1.4e-4 < np.min(stds) < 2e-4
    assert 0.5 < np.sqrt(np.mean(np.square(z))) < 1.5


def _some(item, chosen):
    names = ("frame_index", "frame_s", "row_px", "row_std_px", "exposure_part", "band", "sense")
    return dataclasses.replace(item, **{name: getattr(item, name)[chosen] for name in names})


def _switched(item, changes_s):
    """Return the lower edges as those of a light that goes on and off in turn.

    `changes_s`: when it does, on the camera's clock.
    """
    item = _some(
        dataclasses.replace(item, sense=np.zeros_like(item.band)), item.exposure_part < 0.0
    )
    at_s = item.frame_s + item.row_px * 4e-5
    change = np.abs(at_s[:, None] - changes_s).argmin(axis=1)
    return dataclasses.replace(
        item,
        exposure_part=np.zeros(at_s.size),
        half_light_s=0.0,
        half_light_std_s=1e-4,
        sense=1 - 2 * (change % 2),
    )


def test_a_counter_is_no_better_known_than_the_latency_of_half_light():
    # Its intervals alone would date the onsets to 0.1 ms.
    rng = np.random.default_rng(6)
    evidence, clocks, _ = full_rig(rng)
    evidence = [
        dataclasses.replace(item, half_light_std_s=1e-3) if item.source.startswith("cam") else item
        for item in evidence
        if item.source != "trigger"
    ]
    found = calibrate_events(evidence)
    can = found.sources["can"]
    assert can.offset_std_s > 0.9 * found.half_light_std_s > 4e-4
    assert abs(errors_of(found, clocks)["can"][0]) < 1.96 * can.offset_std_s


def test_line_delays_of_one_model_that_no_flash_shows_remain_as_open_as_usual_ones():
    z = []
    for seed in range(6):
        rng = np.random.default_rng([seed, 99])
        onsets = irregular_onsets(rng, 80)
        line_delay_s = rng.uniform(*READOUT_S) / 480
        phase_s = rng.uniform(0.0, 1.0 / 12.0)
        seen, clocks = [], {}
        for name in "abcdef":
            clock = Clock(offset_s=rng.uniform(-0.05, 0.05), drift=rng.uniform(-8e-5, 8e-5))
            edges = camera(
                rng,
                onsets,
                name=name,
                clock=clock,
                rate_hz=12.0 / (1.0 + clock.drift),
                is_stated=False,
                line_delay_s=line_delay_s,
                exposure_s=0.006,
                phase_s=phase_s + rng.uniform(-0.004, 0.004),
                noise_s=4e-6,
            )
            seen.append(_jittered(rng, edges, 2e-5))
            clocks[name] = clock
        found = calibrate_events(seen, reference="a")
        at_s = found.at_ns * 1e-9
        for name, source in found.sources.items():
            if name != "a":
                reference_s = at_s + clocks[name].correction_s(at_s)
                true_s = float(clocks["a"].own(np.array(reference_s))) - at_s
                z.append((source.offset_s - true_s) / source.offset_std_s)
    assert np.sqrt(np.mean(np.square(z))) < 2.2
