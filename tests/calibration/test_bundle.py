"""Offsets and drifts of all clocks in a recording of flashes, and the laws that they obey."""

import dataclasses

import numpy as np
import pytest
from syncaudit_calibration import calibrate_events

from testkit.event_rig import EXPOSURES_S, LINE_DELAYS_S, full_rig
from testkit.flash_calibration import OFFSET_S, errors_of

DRIFT_PPM = 1.0


def test_offsets_and_drifts_are_within_the_targets(calibration, rig):
    for name, (offset_s, drift_ppm) in errors_of(calibration, rig[1]).items():
        if name == "can":  # a counter gives 20 ms intervals
            assert abs(offset_s) < 1.5e-3
        else:
            assert abs(offset_s) < OFFSET_S, name
            assert abs(drift_ppm) < DRIFT_PPM, name
    assert calibration.refused == {}
    assert calibration.warnings == ()


def test_flashes_are_dated_at_their_onset(calibration, rig):
    found_s = np.array([flash.t_ns for flash in calibration.flashes]) * 1e-9
    onsets = rig[2]
    nearest = onsets[np.argmin(np.abs(found_s[:, None] - onsets), axis=1)]
    assert np.sqrt(np.mean((found_s - nearest) ** 2)) < 60e-6
    assert len(calibration.flashes) >= 78
    assert all(len(flash.seen_by) >= 2 for flash in calibration.flashes)


def test_no_flash_need_be_seen_by_all(calibration):
    cameras = {f"cam_{k}" for k in range(4)}
    seen_by_all = [flash for flash in calibration.flashes if cameras <= set(flash.seen_by)]
    assert len(seen_by_all) < 0.3 * len(calibration.flashes)


def test_line_delays_and_exposures_are_found_where_not_stated():
    rng = np.random.default_rng(1)
    evidence, clocks, _ = full_rig(rng, is_stated=False)
    found = calibrate_events(evidence)
    for k in range(4):
        source = found.sources[f"cam_{k}"]
        assert source.line_delay_s == pytest.approx(LINE_DELAYS_S[k], rel=3e-3)
        assert abs(source.exposure_s - EXPOSURES_S[k]) < 50e-6
        assert abs(errors_of(found, clocks)[f"cam_{k}"][0]) < OFFSET_S


def test_stamps_of_the_start_or_end_of_frames_need_no_statement():
    rng = np.random.default_rng(12)
    evidence, clocks, _ = full_rig(rng, is_stated=False)
    for k, stamp_part in enumerate((0.5, -0.5, 0.5, -0.5)):
        frame_s = EXPOSURES_S[k] + 480 * LINE_DELAYS_S[k]
        from_stamp_s = stamp_part * 0.010  # as the detector does without stated values
        evidence[k] = dataclasses.replace(
            evidence[k],
            frame_s=evidence[k].frame_s - stamp_part * frame_s + from_stamp_s,
            stamp_part=stamp_part,
            from_stamp_s=from_stamp_s,
        )
    found = calibrate_events(evidence)
    for name in ("cam_1", "cam_2", "cam_3", "trigger"):
        source = found.sources[name]
        assert abs(errors_of(found, clocks)[name][0]) < min(OFFSET_S, 2.5 * source.offset_std_s)
        assert source.offset_std_s < 2e-4  # encoders shift edges by four rows


def test_a_reference_whose_bands_show_one_edge_costs_no_accuracy():
    rng = np.random.default_rng(13)
    evidence, clocks, _ = full_rig(rng, is_stated=False)
    first = evidence[0]
    is_kept = first.exposure_part == np.where(first.band % 2 == 0, 0.5, -0.5)
    evidence[0] = dataclasses.replace(
        first,
        **{
            name: getattr(first, name)[is_kept]
            for name in ("frame_index", "frame_s", "row_px", "row_std_px", "exposure_part", "band")
        },
    )
    found = calibrate_events(evidence, reference="cam_0")
    for name in ("cam_1", "cam_2", "cam_3"):
        assert found.sources[name].offset_std_s < OFFSET_S
        assert abs(errors_of(found, clocks)[name][0]) < OFFSET_S


def test_standard_errors_are_honest():
    z = {kind: [] for kind in ("offset", "drift", "line delay", "exposure", "can")}
    for seed in range(14):
        rng = np.random.default_rng(100 + seed)
        evidence, clocks, _ = full_rig(rng, is_stated=seed % 2 == 0)
        found = calibrate_events(evidence)
        for name, (offset_s, drift_ppm) in errors_of(found, clocks).items():
            source = found.sources[name]
            assert source.steps == ()
            if name == "cam_0":
                continue
            kind = "can" if name == "can" else "offset"
            z[kind].append(offset_s / source.offset_std_s)
            z["drift"].append(drift_ppm / source.drift_std_ppm)
            if seed % 2 and name.startswith("cam"):
                k = int(name[-1])
                error_s = source.line_delay_s - LINE_DELAYS_S[k]
                z["line delay"].append(error_s / source.line_delay_std_s)
                z["exposure"].append((source.exposure_s - EXPOSURES_S[k]) / source.exposure_std_s)
    for kind, values in z.items():
        # 90 to 98 % for 95; a few dozen values scatter by a few per cent more.
        inside = np.mean(np.abs(values) < 1.96)
        assert inside >= 0.85, (kind, inside)
        assert np.max(np.abs(values)) < 4.5, kind


def test_changing_the_reference_changes_nothing_else(calibration, rig):
    other = calibrate_events(rig[0], reference="trigger")
    assert other.sources["trigger"].offset_s == 0.0
    for name, source in calibration.sources.items():
        # Correct the same timestamp to both references, and the results by the known relation.
        stamp_s = calibration.at_ns * 1e-9
        to_camera = stamp_s + source.offset_s
        mine = other.sources[name]
        to_trigger = stamp_s + mine.offset_s
        to_trigger += 1e-6 * mine.drift_ppm * (calibration.at_ns - other.at_ns) * 1e-9
        bridge = calibration.sources["trigger"]
        back = to_trigger + bridge.offset_s
        back += 1e-6 * bridge.drift_ppm * (to_trigger - stamp_s)
        # Known to intervals only, a clock is an average over what they allow: not quite linear.
        assert back == pytest.approx(to_camera, abs=1e-6 + 0.02 * source.offset_std_s), name


def test_renaming_changes_nothing(calibration, rig):
    renamed = [dataclasses.replace(item, source=f"z_{item.source}") for item in reversed(rig[0])]
    other = calibrate_events(renamed, reference="z_cam_0")
    for name, source in calibration.sources.items():
        assert other.sources[f"z_{name}"].offset_s == pytest.approx(source.offset_s, abs=1e-6)
        assert other.sources[f"z_{name}"].drift_ppm == pytest.approx(source.drift_ppm, abs=0.01)


def test_shifting_a_source_shifts_its_offset_alone(calibration, rig):
    moved = [
        dataclasses.replace(item, epoch_ns=1_234_567_890) if item.source == "cam_2" else item
        for item in rig[0]
    ]
    other = calibrate_events(moved)
    drift = 1e-6 * calibration.sources["cam_2"].drift_ppm
    expected = calibration.sources["cam_2"].offset_s - 1.23456789 * (1.0 + drift)
    expected += drift * (other.at_ns - calibration.at_ns) * 1e-9
    assert other.sources["cam_2"].offset_s == pytest.approx(expected, abs=1e-6)
    assert other.sources["cam_1"].offset_s == pytest.approx(
        calibration.sources["cam_1"].offset_s, abs=1e-6
    )


def test_boot_time_clocks_keep_their_digits(rig):
    epoch_ns = 1_767_225_600_000_000_000
    moved = [dataclasses.replace(item, epoch_ns=epoch_ns) for item in rig[0][:4]]
    found = calibrate_events([*moved, rig[0][5]], max_offset_s=20.0)
    trigger_source = found.sources["trigger"]
    own_s = trigger_source.at_ns * 1e-9
    assert own_s < 100.0  # its timestamps are seconds since boot
    expected = epoch_ns * 1e-9 + rig[1]["trigger"].correction_s(own_s)
    assert trigger_source.offset_s == pytest.approx(expected, abs=50e-6)
