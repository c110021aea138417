"""Whole clips: valid manifests, correct counts, faults with the right sign, reproducible bytes."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from syncaudit.simulate import (
    EPOCH_NS,
    SIX_CAMERAS,
    CameraConfig,
    CanConfig,
    ClockFault,
    FlashConfig,
    FrameFault,
    ImuConfig,
    MicrophoneConfig,
    RigConfig,
    read_truth,
    simulate_clip,
    simulate_manifest,
)
from syncaudit.simulate.compare import compare_clips, read_luma
from syncaudit.simulate.config import with_cameras
from syncaudit.simulate.scenarios import SCENARIOS, with_all_cameras
from testkit.clip_folder import stamps_ns
from testkit.json_lines import read_json_lines

ROW_KEYS = {"clip_id", "recording_id", "start_ns", "end_ns", "reference", "sources"}
SOURCE_KEYS = {  # formats.md section 2
    "camera": {
        "kind",
        "uri",
        "timestamps",
        "stamp_at",
        "line_delay_s",
        "exposure_s",
        "focal_px",
    },
    "imu": {"kind", "uri"},
    "can": {"kind", "uri", "dbc", "signals"},
    "audio": {"kind", "uri", "start_ns"},
}
SMALL = CameraConfig(size_px=(96, 64), line_delay_s=1e-4)
BASE = RigConfig(
    duration_s=2.0,
    cameras={
        "cam_front": replace(SMALL, phase_s=0.01),
        "cam_rear": replace(SMALL, phase_s=0.03, mount_yaw_rad=np.pi),
    },
    microphone=MicrophoneConfig(),
)


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("good")
    simulate_clip(BASE, folder, seed=1)
    return folder


def with_camera(**fields: object) -> RigConfig:
    rear = replace(BASE.cameras["cam_rear"], **fields)  # type: ignore[arg-type]  # vary by case
    return replace(BASE, cameras={**BASE.cameras, "cam_rear": rear})


def test_manifest_has_the_fields_of_the_contract(good: Path) -> None:
    (line,) = (good / "manifest.jsonl").read_text().splitlines()
    row = json.loads(line)
    assert set(row) <= ROW_KEYS
    assert row["start_ns"] == EPOCH_NS
    assert row["end_ns"] - row["start_ns"] == 2_000_000_000
    for source in row["sources"].values():
        assert set(source) <= SOURCE_KEYS[source["kind"]]
        for key in ("uri", "timestamps", "dbc"):
            assert key not in source or (good / source[key]).is_file()
    can = row["sources"]["can"]
    header = (good / can["uri"]).read_text().splitlines()[0].split(",")
    assert set(can["signals"].values()) <= set(header)
    imu_header = (good / "imu.csv").read_text().splitlines()[0]
    assert imu_header == "timestamp_ns,gyro_x,gyro_y,gyro_z,accel_x,accel_y,accel_z"


def test_counts_agree_between_video_stamps_and_truth(good: Path) -> None:
    truth = read_truth(good)["clip"]
    for name in BASE.cameras:
        n_frames = len(read_luma(good / f"{name}.mp4"))
        assert n_frames == len(stamps_ns(good, name)) == truth.sources[name].n_samples == 24
    assert len(stamps_ns(good, "imu")) == truth.sources["imu"].n_samples == 400
    assert all(source.offset_s == 0 for source in truth.sources.values())
    assert truth.at_ns == EPOCH_NS + 1_000_000_000


def test_same_seed_gives_the_same_bytes(good: Path, tmp_path: Path) -> None:
    simulate_clip(BASE, tmp_path / "again", seed=1)
    for path in good.iterdir():
        assert path.read_bytes() == (tmp_path / "again" / path.name).read_bytes(), path.name
    simulate_clip(BASE, tmp_path / "other", seed=2)
    assert (good / "imu.csv").read_bytes() != (tmp_path / "other" / "imu.csv").read_bytes()
    assert compare_clips(good, tmp_path / "again") == []
    assert compare_clips(good, tmp_path / "other") != []


@pytest.mark.parametrize("source", ["cam_rear", "imu", "can"])
def test_stamps_plus_offset_are_true_time(good: Path, tmp_path: Path, source: str) -> None:
    fault = ClockFault(offset_s=0.035)
    config = {
        "cam_rear": with_camera(clock=fault),
        "imu": replace(BASE, imu=ImuConfig(clock=fault)),
        "can": replace(BASE, can=CanConfig(clock=fault)),
    }[source]
    truth = simulate_clip(config, tmp_path, seed=1, videos_from=good)
    assert truth.sources[source].offset_s == 0.035
    corrected = stamps_ns(tmp_path, source) + 35_000_000
    assert np.abs(corrected - stamps_ns(good, source)).max() <= 1  # rounding to nanoseconds
    untouched = {"cam_rear", "imu", "can", "cam_front"} - {source}
    for name in untouched:
        assert (tmp_path / f"{name}.csv").read_bytes() == (good / f"{name}.csv").read_bytes()


def test_microphone_offset_moves_its_start(good: Path, tmp_path: Path) -> None:
    config = replace(BASE, microphone=MicrophoneConfig(clock=ClockFault(offset_s=0.06)))
    simulate_clip(config, tmp_path, seed=1, videos_from=good)
    row = json.loads((tmp_path / "manifest.jsonl").read_text())
    assert row["sources"]["mic"]["start_ns"] == EPOCH_NS - 60_000_000


def test_stamp_at_start_of_frame_is_half_a_frame_earlier(good: Path, tmp_path: Path) -> None:
    simulate_clip(with_camera(stamp_at="start_of_frame"), tmp_path, seed=1, videos_from=good)
    earlier_ns = stamps_ns(good, "cam_rear") - stamps_ns(tmp_path, "cam_rear")
    expected_ns = round((63 * 1e-4 + SMALL.exposure_s) / 2 * 1e9)
    assert np.abs(earlier_ns - expected_ns).max() <= 1


def test_videos_are_shared_by_reference_link_or_copy(good: Path, tmp_path: Path) -> None:
    for transfer in ("reference", "link", "copy"):
        folder = tmp_path / transfer
        simulate_clip(BASE, folder, seed=1, videos_from=good, video_transfer=transfer)
        row = json.loads((folder / "manifest.jsonl").read_text())
        video = folder / row["sources"]["cam_front"]["uri"]
        assert video.read_bytes() == (good / "cam_front.mp4").read_bytes()
        assert (folder / "cam_front.mp4").exists() == (transfer != "reference")
    with pytest.raises(ValueError, match="video_transfer is 'beam'"):
        simulate_clip(BASE, tmp_path / "x", seed=1, videos_from=good, video_transfer="beam")


def test_videos_of_another_drive_are_refused(good: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="was made with seed 1"):
        simulate_clip(BASE, tmp_path, seed=2, videos_from=good)
    doubled = with_camera(frames=FrameFault(doubled=(3,)))
    with pytest.raises(ValueError, match="frames of cam_rear differ"):
        simulate_clip(doubled, tmp_path, seed=1, videos_from=good)
    more = replace(BASE, cameras={**BASE.cameras, "cam_left": SMALL})
    with pytest.raises(ValueError, match="has no camera 'cam_left'"):
        simulate_clip(more, tmp_path, seed=1, videos_from=good)


def test_slipped_frames_are_stated_as_steps_of_a_period(tmp_path: Path) -> None:
    frames = FrameFault(dropped=(5, 12), drop_mode="slip")
    config = with_camera(frames=frames, stamp_jitter_s=0.0)
    truth = simulate_clip(config, tmp_path, seed=1).sources["cam_rear"]
    assert truth.n_samples == truth.n_stamps == 22
    assert [step.by_s for step in truth.steps] == [pytest.approx(1 / 12, abs=1e-12)] * 2
    stamps = stamps_ns(tmp_path, "cam_rear")
    steps = np.array([[step.at_ns, round(step.by_s * 1e9)] for step in truth.steps])
    kept = np.array([k for k in range(24) if k not in (5, 12)])
    true_ns = EPOCH_NS + np.rint((0.03 + kept / 12) * 1e9).astype(np.int64)
    corrected = stamps + (true_ns[:, None] >= steps[:, 0]) @ steps[:, 1]
    assert np.abs(corrected - true_ns).max() <= 2  # periods of 83 333 333.3 ns are rounded


def test_lost_frames_gaps_and_wrong_lengths(tmp_path: Path) -> None:
    clock = ClockFault(gaps_s=((0.5, 1.0),), n_rows_extra=3)
    config = with_camera(clock=clock, frames=FrameFault(dropped=(2,), drop_mode="frame_only"))
    truth = simulate_clip(config, tmp_path, seed=1).sources["cam_rear"]
    assert len(read_luma(tmp_path / "cam_rear.mp4")) == truth.n_samples == 24 - 6 - 1
    assert len(stamps_ns(tmp_path, "cam_rear")) == truth.n_stamps == 24 - 6 + 3
    assert truth.gaps_ns == ((EPOCH_NS + 500_000_000, EPOCH_NS + 1_000_000_000),)


def test_doubled_frame_repeats_the_image(tmp_path: Path) -> None:
    simulate_clip(with_camera(frames=FrameFault(doubled=(9,)), crf=10), tmp_path, seed=1)
    frames = read_luma(tmp_path / "cam_rear.mp4").astype(int)
    change = np.abs(np.diff(frames, axis=0)).mean(axis=(1, 2))
    assert np.argmin(change) == 8
    assert change[8] < 0.3 * np.median(change)


@pytest.mark.parametrize("codec", ["hevc", "mjpeg", "images"])
def test_other_codecs_write_every_frame(codec: str, tmp_path: Path) -> None:
    camera = replace(SMALL, codec=codec)
    config = RigConfig(duration_s=0.5, cameras={"cam": camera}, imu=None, can=None)
    simulate_clip(config, tmp_path, seed=3)
    if codec == "images":
        assert len(list((tmp_path / "cam").glob("*.jpg"))) == 6
    else:
        assert len(read_luma(tmp_path / "cam.mp4")) == 6


def test_flashes_are_in_truth_in_frames_and_on_the_bus(tmp_path: Path) -> None:
    config = replace(BASE, style="parked", n_movers=0, flash=FlashConfig(mean_interval_s=0.2))
    config = replace(config, can=CanConfig(arbitration_s=0.0))
    truth = simulate_clip(config, tmp_path, seed=4)
    assert len(truth.flash_ns) > 5
    table = (tmp_path / "can.csv").read_text().splitlines()
    column = table[0].split(",").index("StrobeCount")
    counts = np.array([float(line.split(",")[column]) for line in table[1:]])
    stamps = stamps_ns(tmp_path, "can")
    seen = stamps[np.flatnonzero(np.diff(counts) > 0) + 1]
    assert np.abs(seen - np.array(truth.flash_ns[: len(seen)])).max() <= 1
    rows = read_luma(tmp_path / "cam_front.mp4").astype(int).mean(axis=2)
    lift = (rows - np.median(rows, axis=0)).max(axis=1)
    assert lift.max() > 20
    assert np.median(lift) < 5


def test_manifest_of_several_clips(tmp_path: Path) -> None:
    tiny = replace(BASE, cameras={"cam_front": SMALL}, duration_s=0.5)
    configs = [replace(tiny, clip_id=name) for name in ("drive/a", "drive/b")]
    truths = simulate_manifest(configs, tmp_path, 5)
    rows = read_json_lines(tmp_path / "manifest.jsonl")
    assert [row["clip_id"] for row in rows] == ["drive/a", "drive/b"] == list(truths)
    assert read_truth(tmp_path) == truths
    for row in rows:
        assert (tmp_path / row["sources"]["cam_front"]["uri"]).is_file()
    with pytest.raises(ValueError, match="clip_id must be unique"):
        simulate_manifest([tiny, tiny], tmp_path, 5)


def test_scenarios_are_six_camera_clips_of_20_s() -> None:
    wanted = {"good", "shifted_camera", "shifted_imu", "shifted_can", "drifting", "jittering"}
    wanted |= {"dropped_frames", "doubled_frames", "clock_step", "parked", "straight_smooth"}
    assert wanted | {"flash"} <= set(SCENARIOS)
    for name, config in SCENARIOS.items():
        assert config.clip_id == name
        assert list(config.cameras) == list(SIX_CAMERAS)
    large = with_all_cameras(SCENARIOS["good"], size_px=(854, 480), names=("cam_front",))
    assert large.cameras["cam_front"].readout_s == pytest.approx(0.012, abs=1e-4)
    with pytest.raises(ValueError, match="no camera 'cam_up'"):
        with_cameras(large, "cam_up", clock=ClockFault())


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"style": "moon"}, "unknown driving style"),
        ({"duration_s": 0.1}, "duration_s"),
        ({"cameras": {"imu": SMALL}}, "taken by other sources"),
        ({"reference": "gps"}, "reference 'gps'"),
    ],
)
def test_impossible_rigs_are_refused(fields: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        RigConfig(**fields)  # type: ignore[arg-type]  # fields vary by case
