"""Recordings for a calibration by flashes: frames, logs and sounds agree with the truth."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.io import wavfile

from syncaudit.simulate import RigConfig, Truth, read_truth, simulate_clip
from syncaudit.simulate.compare import read_luma
from syncaudit.simulate.flash_scenarios import FLASH_SCENARIOS
from syncaudit.simulate.light import draw_pulses
from syncaudit.simulate.light_faults import LightFault
from syncaudit.simulate.pulse_shapes import XenonPulse
from syncaudit.simulate.pulse_trains import SpacedTrain
from syncaudit.simulate.scenarios import with_all_cameras
from syncaudit.simulate.taps import TapConfig
from testkit.clip_folder import stamps_ns


def small(name: str, **fields: object) -> RigConfig:
    config = with_all_cameras(
        FLASH_SCENARIOS[name], size_px=(160, 120), names=("cam_front", "cam_rear"), crf=10
    )
    return replace(config, duration_s=4.0, **fields)  # type: ignore[arg-type]  # vary by case


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("all_sources")
    simulate_clip(small("flash_all_sources", taps=TapConfig(mean_interval_s=0.6)), folder, seed=3)
    return folder


def truth_of(folder: Path) -> Truth:
    (truth,) = read_truth(folder).values()
    return truth


def after_middle_s(truth: Truth, name: str, stamps: np.ndarray) -> np.ndarray:
    """Return the reference times of a source's timestamps, seconds after the clip's middle."""
    source = truth.sources[name]
    own_s = 1e-9 * (stamps - truth.at_ns)
    return own_s * (1 + 1e-6 * source.drift_ppm) + source.offset_s


def flashes_s(truth: Truth, times_ns: tuple[int, ...]) -> np.ndarray:
    return 1e-9 * (np.array(times_ns) - truth.at_ns)


def test_truth_survives_its_file(everything: Path, tmp_path: Path) -> None:
    truth = simulate_clip(small("flash_xenon"), tmp_path, seed=3)
    assert truth_of(tmp_path) == truth
    assert truth.light is not None
    assert truth.light.shape == "xenon"
    assert truth.light.half_light_s == XenonPulse(rise_s=1e-4, decay_s=1.2e-3).half_light_s
    assert truth.flash_width_s is None
    taps = truth_of(everything).tap_ns
    assert len(taps) > 3
    assert "tap_ns" not in (tmp_path / "truth.json").read_text()


def test_the_same_seed_gives_the_same_bytes(everything: Path, tmp_path: Path) -> None:
    config = small("flash_all_sources", taps=TapConfig(mean_interval_s=0.6))
    simulate_clip(config, tmp_path, seed=3)
    for path in everything.iterdir():
        assert path.read_bytes() == (tmp_path / path.name).read_bytes(), path.name


def test_stamps_agree_with_true_exposures(everything: Path) -> None:
    truth = truth_of(everything)
    shutter = truth.sources["cam_rear"].shutter
    assert shutter is not None
    stamped = after_middle_s(truth, "cam_rear", stamps_ns(everything, "cam_rear"))
    off_s = stamped - flashes_s(truth, shutter.frame_ns)
    assert np.abs(off_s).max() < 5 * 2e-5  # jitter of hardware timestamps


def test_bands_lie_where_the_truth_says(tmp_path: Path) -> None:
    config = small("flash_clean")
    cameras = {k: replace(c, exposure_s=0.002) for k, c in config.cameras.items()}
    assert config.flash is not None
    flash = replace(config.flash, train=SpacedTrain(mean_interval_s=0.06))
    config = replace(config, style="parked", cameras=cameras, flash=flash)
    truth = simulate_clip(config, tmp_path, seed=3)
    shutter = truth.sources["cam_front"].shutter
    assert shutter is not None
    assert truth.light is not None
    assert truth.light.half_light_s is not None
    rows = read_luma(tmp_path / "cam_front.mp4").astype(float).mean(axis=2)
    lift = rows - np.median(rows, axis=0)
    errors_s = []
    for frame, middle_ns in enumerate(shutter.frame_ns):
        for start_ns in truth.flash_ns:
            half_s = 1e-9 * (start_ns - middle_ns) + truth.light.half_light_s
            row = half_s / shutter.line_delay_s + (shutter.height_px - 1) / 2
            if not 30 < row < 90:
                continue
            weights = np.clip(lift[frame, int(row) - 30 : int(row) + 31], 0, None)
            centre = np.average(np.arange(int(row) - 30, int(row) + 31), weights=weights)
            errors_s.append((centre - row) * shutter.line_delay_s)
    assert len(errors_s) >= 4
    assert np.abs(np.median(errors_s)) < 1e-4  # one row; texture weights the band unevenly


def test_trigger_strobe_and_clicks_follow_the_onsets(everything: Path) -> None:
    truth = truth_of(everything)
    flashes = flashes_s(truth, truth.flash_ns)
    log = after_middle_s(truth, "trigger", stamps_ns(everything, "trigger"))
    assert np.abs(log - flashes).max() < 5 * 2e-6  # its jitter
    row = json.loads((everything / "manifest.jsonl").read_text())["sources"]
    assert row["trigger"] == {"kind": "events", "uri": "trigger.csv"}
    assert "strobe" in row["can"]["signals"]

    delay_s = truth.sources["mic"].sound_delay_s
    assert delay_s == pytest.approx(1.5 / 343, abs=1e-9)
    rate_hz, sound = wavfile.read(everything / "mic.wav")
    sample_ns = np.rint(1e9 * np.arange(sound.size) / rate_hz).astype(np.int64)
    heard = after_middle_s(truth, "mic", row["mic"]["start_ns"] + sample_ns)
    for start_s in flashes[flashes < 1.9]:
        first = int(np.searchsorted(heard, start_s + delay_s))
        assert np.abs(sound[first : first + 8].astype(int)).max() > 5000


def test_taps_shake_the_accelerometer(everything: Path) -> None:
    truth = truth_of(everything)
    times = after_middle_s(truth, "imu", stamps_ns(everything, "imu"))
    taps = flashes_s(truth, truth.tap_ns)
    lines = (everything / "imu.csv").read_text().splitlines()[1:]
    accel = np.array([[float(value) for value in line.split(",")[4:]] for line in lines])
    shock = np.abs(accel[:, 2] - np.median(accel[:, 2]))
    strong = times[shock > 8.0]
    for tap_s in taps:
        assert 0 < strong[strong >= tap_s - 2e-4][0] - tap_s + 2e-4 < 0.0105  # two samples
    assert all(np.min(np.abs(time - taps)) < 0.06 for time in strong)


def test_taps_can_fire_the_flash() -> None:
    pulses = np.array([0.5, 1.0, 2.5, 2.6, 7.0])
    taps = TapConfig(mean_interval_s=1.0, fires_flash=True).draw(
        6.0, pulses, np.random.default_rng(0)
    )
    assert set(taps) <= set(pulses)
    with pytest.raises(ValueError, match="mean_interval_s"):
        TapConfig(mean_interval_s=0.1)


def test_own_light_is_told_and_withheld_figures_are_not(tmp_path: Path) -> None:
    fault = LightFault(false_flashes_s=(0.25,), blind_s=((0.0, 3.0),))
    config = small("flash_withheld")
    rear = replace(config.cameras["cam_rear"], light=fault)
    config = replace(config, cameras={**config.cameras, "cam_rear": rear})
    truth = simulate_clip(config, tmp_path, seed=3)
    shutter = truth.sources["cam_rear"].shutter
    assert shutter is not None
    assert shutter.false_flash_ns == (truth.start_ns + 250_000_000,)
    assert shutter.blind_ns == ((truth.start_ns, truth.start_ns + 3_000_000_000),)
    assert truth_of(tmp_path) == truth
    row = json.loads((tmp_path / "manifest.jsonl").read_text())["sources"]["cam_rear"]
    assert row["stamp_at"] == "mid_exposure_mid_row"
    assert not {"line_delay_s", "exposure_s"} & set(row)
    rows = read_luma(tmp_path / "cam_rear.mp4").astype(float).mean(axis=2)
    is_blind = np.array(shutter.frame_ns) < truth.start_ns + 2_900_000_000
    lift = (rows - np.median(rows, axis=0)).max(axis=1)
    lit = np.flatnonzero(lift[is_blind] > 20)
    near_s = 1e-9 * (np.array(shutter.frame_ns)[lit] - shutter.false_flash_ns[0])
    assert np.abs(near_s).max(initial=0.0) < 0.02
    assert (lift[~is_blind] > 20).any()


def test_dropped_frames_are_missing_from_the_truth(tmp_path: Path) -> None:
    config = with_all_cameras(FLASH_SCENARIOS["flash_dropped"], size_px=(96, 64))
    config = replace(
        config, duration_s=5.0, cameras={"cam_rear_left": config.cameras["cam_rear_left"]}
    )
    truth = simulate_clip(config, tmp_path, seed=3)
    shutter = truth.sources["cam_rear_left"].shutter
    assert shutter is not None
    assert len(shutter.frame_ns) == truth.sources["cam_rear_left"].n_samples == 58
    gaps = np.diff(shutter.frame_ns) * 1e-9 * 12
    assert gaps.max() == pytest.approx(3, abs=1e-6)


def test_a_still_scene_sways_with_the_rig(tmp_path: Path) -> None:
    for style in ("parked", "held"):
        config = small("flash_clean", style=style, flash=None)
        front = {"cam_front": config.cameras["cam_front"]}
        config = replace(config, duration_s=1.5, cameras=front)
        simulate_clip(config, tmp_path / style, seed=3)
    still, swaying = (
        read_luma(tmp_path / style / "cam_front.mp4").astype(float) for style in ("parked", "held")
    )
    moves = [np.abs(np.diff(frames[::3], axis=0)).mean() for frames in (still, swaying)]
    assert moves[1] > moves[0]
    with pytest.raises(ValueError, match="is_still cannot be"):
        small("flash_clean", style="city")


def test_sparse_pulses_reach_two_cameras_at_most() -> None:
    config = FLASH_SCENARIOS["flash_sparse"]
    assert config.flash is not None
    pulses = draw_pulses(config.flash, config.duration_s, np.random.default_rng(1))
    sees = []
    for camera in config.cameras.values():
        assert camera.phase_s is not None
        after_s = (pulses - camera.phase_s + 0.5 / camera.fps) % (1 / camera.fps) - 0.5 / camera.fps
        sees.append(np.abs(after_s) < (camera.readout_s + camera.exposure_s) / 2)
    assert np.sum(sees, axis=0).max() == 2
    common = [(sees[k] & sees[k - 1]).sum() for k in range(6)]
    assert min(common) >= 10


def test_scenarios_keep_to_their_promise() -> None:
    assert {"flash_clean", "flash_xenon", "flash_periodic", "flash_sparse"} <= set(FLASH_SCENARIOS)
    for name, config in FLASH_SCENARIOS.items():
        assert config.clip_id == name
        assert config.is_still
        assert config.duration_s == 45.0
        assert len(config.cameras) == 6
        assert {camera.size_px for camera in config.cameras.values()} == {(854, 480)}
