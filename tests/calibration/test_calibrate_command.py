"""`syncaudit calibrate` on the sample recording with flashes, whose truth is known."""

import json
import shutil

import pytest

from syncaudit.cli.exit_codes import ExitCode
from testkit.command_line import run_command
from testkit.places import SAMPLE_DATA

# Timestamps of these cameras have 0.1 ms of jitter, and some twenty flashes are seen.
OFFSET_TOL_S = 1.5e-4


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    """Return the run on the sample and its output folder."""
    folder = tmp_path_factory.mktemp("calibrated")
    result = run_command(
        "calibrate",
        SAMPLE_DATA,
        "--clip",
        "flashes",
        "--out",
        folder / "c.json",
        "--plots",
        folder / "plots",
    )
    return result, folder


def test_offsets_are_those_of_the_simulator(outcome):
    sources = json.loads((outcome[1] / "c.json").read_text(encoding="utf-8"))["sources"]
    truth = {"cam_rear": 0.0351, "cam_rear_left": -0.006, "trigger": 0.0}
    for name, offset_s in truth.items():
        assert abs(sources[name]["offset_s"] - offset_s) < OFFSET_TOL_S
        assert abs(sources[name]["offset_s"] - offset_s) < 4.0 * sources[name]["offset_std_s"]


def test_the_document_keeps_the_contract(outcome):
    document = json.loads((outcome[1] / "c.json").read_text(encoding="utf-8"))
    assert document["version"] == 1
    assert document["reference"] == "cam_front"
    assert isinstance(document["at_ns"], int)
    needed = {"offset_s", "offset_std_s", "drift_ppm", "drift_std_ppm", "flashes_seen"}
    assert all(needed <= set(source) for source in document["sources"].values())
    assert all({"t_ns", "seen_by"} <= set(flash) for flash in document["flashes"])


def test_it_is_told_in_words(outcome):
    result, _ = outcome
    assert result.exit_code == ExitCode.REJECTED  # the IMU detects no flash
    assert "not calibrated: imu" in result.output
    assert "reference" in result.output


def test_plots_are_written(outcome):
    names = {path.name for path in (outcome[1] / "plots").iterdir()}
    assert {"flashes.png", "residuals.png", "error_budget.png", "bands_cam_rear.png"} <= names
    assert all(path.stat().st_size > 5000 for path in (outcome[1] / "plots").iterdir())


def test_validate_judges_what_is_left(outcome):
    from syncaudit.cli.inputs import load_calibration, load_clips, pick_clip
    from syncaudit.pipeline import audit

    clip = pick_clip(load_clips(str(SAMPLE_DATA)), "flashes")
    verdict = audit(clip, calibration=load_calibration(outcome[1] / "c.json"))
    for name in ("cam_front", "cam_rear", "cam_rear_left"):
        assert verdict.sources[name].verdict == "pass"
        assert abs(verdict.sources[name].offset_s or 0.0) < 1e-3


def test_too_few_flashes_write_nothing(tmp_path):
    result = run_command("calibrate", SAMPLE_DATA, "--clip", "parked", "--out", tmp_path / "c.json")
    assert result.exit_code == ExitCode.NOTHING_VERIFIED
    assert "Nothing was written" in result.output
    assert "flash-plan" in result.output
    assert not (tmp_path / "c.json").exists()


def test_broken_videos_are_named(tmp_path):
    folder = shutil.copytree(SAMPLE_DATA / "flashes", tmp_path / "flashes")
    for video in folder.glob("*.mp4"):
        video.write_bytes(video.read_bytes()[:1000])
    (folder / "trigger.csv").write_text("timestamp_ns\n", encoding="utf-8")
    result = run_command("calibrate", folder, "--out", tmp_path / "c.json")
    assert result.exit_code == ExitCode.NOTHING_VERIFIED
    assert "cut off" in result.output.replace("\n", " ")
    assert not (tmp_path / "c.json").exists()


def test_an_unknown_reference(tmp_path):
    result = run_command(
        "calibrate",
        SAMPLE_DATA,
        "--clip",
        "flashes",
        "--out",
        tmp_path / "c.json",
        "--reference",
        "cam_raer",
    )
    assert result.exit_code == ExitCode.USAGE
    assert not (tmp_path / "c.json").exists()


def test_a_folder_is_no_file(tmp_path):
    result = run_command("calibrate", SAMPLE_DATA, "--clip", "flashes", "--out", tmp_path)
    assert result.exit_code == ExitCode.USAGE


def test_cameras_without_a_flash_are_named_with_a_cure(tmp_path):
    folder = shutil.copytree(
        SAMPLE_DATA / "flashes", tmp_path / "flashes", ignore=shutil.ignore_patterns("cam_rear*")
    )
    for suffix in (".mp4", ".csv"):
        shutil.copy(SAMPLE_DATA / "good" / f"cam_front_left{suffix}", folder / f"cam_left{suffix}")
    (folder / "manifest.jsonl").unlink()  # the content of the folder counts
    run_command("calibrate", folder, "--out", tmp_path / "c.json")
    document = json.loads((tmp_path / "c.json").read_text(encoding="utf-8"))
    assert "no flash was found in cam_left" in document["refused"]["cam_left"]


def test_cameras_without_a_flash_are_named_where_nothing_can_be_calibrated(tmp_path):
    folder = tmp_path / "flashes"
    folder.mkdir()
    cameras = {"cam_front": SAMPLE_DATA / "flashes", "cam_front_left": SAMPLE_DATA / "good"}
    for name, source in cameras.items():
        for suffix in (".mp4", ".csv"):
            shutil.copy(source / f"{name}{suffix}", folder)
    header, *rows = (
        (SAMPLE_DATA / "flashes" / "trigger.csv").read_text(encoding="utf-8").splitlines()
    )
    (folder / "trigger.csv").write_text("\n".join([header, *rows[:4]]), encoding="utf-8")
    result = run_command("calibrate", folder, "--out", tmp_path / "c.json")
    assert result.exit_code == ExitCode.NOTHING_VERIFIED
    assert "no flash was found in cam_front_left" in result.output.replace("\n", " ")
