"""The repository's sample data: complete, small, and reproduced by today's simulator."""

import json
import shutil
from pathlib import Path

import pytest

from syncaudit.simulate.compare import compare_clips
from syncaudit.simulate.sample_clips import sample_clips
from syncaudit.simulate.sample_data import DEFECTS, break_clip, build_sample_data
from syncaudit.simulate.truth import read_truth
from testkit.places import SAMPLE_DATA

MOST_BYTES = 15_000_000


def test_sample_data_is_complete_and_small() -> None:
    lines = (SAMPLE_DATA / "manifest.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    clip_ids = [row["clip_id"] for row in rows]
    assert clip_ids == [*sample_clips(), *DEFECTS]
    assert list(read_truth(SAMPLE_DATA)) == clip_ids
    assert list(json.loads((SAMPLE_DATA / "expected_verdicts.json").read_text())) == clip_ids
    absent = [
        (row["clip_id"], name)
        for row in rows
        for name, source in row["sources"].items()
        if not (SAMPLE_DATA / source["uri"]).exists()
    ]
    assert absent == [("missing_file", "cam_front")]
    sizes = [path.stat().st_size for path in SAMPLE_DATA.rglob("*") if path.is_file()]
    assert sum(sizes) < MOST_BYTES


def test_truth_names_the_fault_of_each_clip() -> None:
    truths = read_truth(SAMPLE_DATA)
    assert truths["cam_rear_early"].sources["cam_rear"].offset_s == 0.035
    assert truths["imu_shifted"].sources["imu"].offset_s == -0.040
    assert truths["can_shifted"].sources["can"].offset_s == -0.080
    assert truths["drifting_camera"].sources["cam_rear"].drift_ppm == 2000.0
    assert truths["clock_step"].sources["cam_rear"].steps[0].by_s == 0.060
    assert truths["nan_imu"].sources["imu"].defect is not None
    assert truths["good"].sources["cam_rear"].defect is None


def test_a_clip_is_what_the_simulator_makes_today(tmp_path: Path) -> None:
    assert build_sample_data(tmp_path, only=["parked"]) == ["parked"]
    assert compare_clips(SAMPLE_DATA / "parked", tmp_path / "parked") == []


def test_comparison_finds_other_stamps_images_and_values(tmp_path: Path) -> None:
    parked = SAMPLE_DATA / "parked"
    for name in ("stamps", "pictures", "values", "absent"):
        shutil.copytree(parked, tmp_path / name)
    stamps = tmp_path / "stamps" / "cam_rear.csv"
    text = stamps.read_text().splitlines()
    stamps.write_text("\n".join([text[0], str(int(text[1]) + 1), *text[2:]]) + "\n")
    assert compare_clips(parked, tmp_path / "stamps") == ["cam_rear: cam_rear.csv: stamps differ"]
    shutil.copyfile(parked / "cam_rear.mp4", tmp_path / "pictures" / "cam_front.mp4")
    (words,) = compare_clips(parked, tmp_path / "pictures")
    assert words.startswith("cam_front: cam_front.mp4: frame")
    imu = tmp_path / "values" / "imu.csv"
    imu.write_text(imu.read_text().replace(",9.", ",8."))
    assert compare_clips(parked, tmp_path / "values") == ["imu: imu.csv: values differ"]
    (tmp_path / "absent" / "imu.csv").unlink()
    (words,) = compare_clips(parked, tmp_path / "absent")
    assert words.endswith("is missing")


def test_each_defect_damages_one_file_of_its_own(tmp_path: Path) -> None:
    good = tmp_path / "whole"
    shutil.copytree(SAMPLE_DATA / "cam_rear_early", good)
    for name, defect in DEFECTS.items():
        truth = break_clip(good, tmp_path / name, name)
        row = json.loads((tmp_path / name / "manifest.jsonl").read_text())
        assert row["clip_id"] == truth.clip_id == name
        for key, source in row["sources"].items():
            is_shared = source["uri"].startswith("../whole/")
            assert is_shared == (key != defect.source)
    assert (tmp_path / "zero_byte_audio" / "mic.wav").stat().st_size == 0
    assert not (tmp_path / "missing_file" / "cam_front.mp4").exists()
    assert "nan" in (tmp_path / "nan_imu" / "imu.csv").read_text()


def test_unknown_names_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="unknown sample clips"):
        build_sample_data(tmp_path, only=["nope"])
    with pytest.raises(ValueError, match="unknown defect"):
        break_clip(SAMPLE_DATA / "good", tmp_path / "x", "nope")
    with pytest.raises(ValueError, match="has no source 'mic'"):
        break_clip(SAMPLE_DATA / "parked", tmp_path / "x", "zero_byte_audio")
