"""EuRoC, KITTI and Argoverse 2: cameras and inertial sensors in their published layouts."""

from __future__ import annotations

import csv
import re

import numpy as np
import pytest

from syncaudit.errors import StreamReadError
from syncaudit.pipeline import audit
from syncaudit.readers import read_source
from testkit.data_sets.importing import import_clips
from testkit.data_sets.slam_data import (
    IMU_HEADER,
    N_FRAMES,
    stamps,
    write_argoverse2,
    write_euroc,
    write_kitti,
)
from testkit.places import real_recording


def read(clip, name):
    return read_source(name, clip.sources[name], clip.base_uri)


@pytest.fixture
def euroc(tmp_path):
    return write_euroc(tmp_path / "data", 2)


@pytest.fixture
def kitti(tmp_path):
    return write_kitti(tmp_path / "data", 2)


@pytest.fixture
def argoverse2(tmp_path):
    return write_argoverse2(tmp_path / "data", 2)


@pytest.mark.parametrize("place", ["", "MH_01", "MH_01/mav0"])
def test_a_sequence_of_euroc(euroc, tmp_path, place):
    clips, notes = import_clips(euroc / place, tmp_path, "euroc")
    assert clips[-1].clip_id == ("mav0" if place.endswith("mav0") else "MH_01")
    assert {*clips[-1].sources} == {"cam0", "cam1", "imu0"}
    assert "ignored leica0" in notes
    camera, imu = read(clips[-1], "cam0"), read(clips[-1], "imu0")
    assert camera.time_ns.tolist() == stamps()
    assert len(camera.files.paths) == N_FRAMES
    assert camera.focal_px == 458.654
    assert camera.distortion.model == "radtan"
    assert imu.channel("accel").values[0].tolist() == [9.8, 0.1, 0.2]
    assert imu.findings == camera.findings == ()


def test_a_frame_that_euroc_lacks_is_told(euroc, tmp_path):
    (euroc / f"MH_00/mav0/cam0/data/{stamps()[3]}.png").unlink()
    clip = import_clips(euroc, tmp_path, "euroc")[0][0]
    assert [finding.code for finding in read(clip, "cam0").findings] == ["length_mismatch"]


@pytest.mark.parametrize(
    ("content", "pattern"),
    [
        (b"", "empty"),
        (b"#timestamp [ns],a\n1,2\n", "gyro needs x, y, z"),
        (f"{IMU_HEADER}\n1,2\n3,4,5\n".encode(), "line 2 has 2 columns, expected 7"),
    ],
)
def test_a_damaged_imu_of_euroc_is_told(euroc, tmp_path, content, pattern):
    (euroc / "MH_00/mav0/imu0/data.csv").write_bytes(content)
    clip = import_clips(euroc, tmp_path, "euroc")[0][0]
    with pytest.raises(StreamReadError, match=pattern):
        read(clip, "imu0")


def test_a_table_of_euroc_without_a_header_is_told(euroc, tmp_path):
    table = euroc / "MH_00/mav0/cam0/data.csv"
    table.write_text(table.read_text().partition("\n")[2])
    clip = import_clips(euroc, tmp_path, "euroc")[0][0]
    with pytest.raises(StreamReadError, match=r"has no column '#timestamp \[ns\]'"):
        read(clip, "cam0")


@pytest.mark.parametrize("lens", ["intrinsics: [1, x]\n", "distortion_model: omni\n"])
def test_a_lens_that_euroc_does_not_state_stays_unknown(euroc, tmp_path, lens):
    (euroc / "MH_00/mav0/cam0/sensor.yaml").write_text(lens)
    camera = import_clips(euroc, tmp_path, "euroc")[0][0].sources["cam0"]
    assert camera.focal_px is camera.distortion is None


@pytest.mark.realdata
def test_a_phone_in_folders_of_euroc(tmp_path):
    """According to its own repository 9.98 +- 0.5 ms, with the frame timestamps as they are."""
    phone = real_recording("phone_gyro")
    rig = tmp_path / "data" / "walk" / "mav0"
    (rig / "cam0" / "data").mkdir(parents=True)
    (rig / "imu0").mkdir()
    with (phone / "frames.csv").open() as file:
        frames = list(csv.DictReader(file))
    images = sorted((phone / "frames").iterdir())
    names = [row["timestamp_ns"] for row in frames]
    for name, image in zip(names, images, strict=True):
        (rig / "cam0" / "data" / f"{name}{image.suffix}").symlink_to(image)
    rows = [f"{name},{name}{images[0].suffix}" for name in names]
    (rig / "cam0" / "data.csv").write_text("\n".join(["#timestamp [ns],filename", *rows]))
    with (phone / "imu.csv").open() as file:
        rates = [",".join(row) for row in list(csv.reader(file))[1:]]
    (rig / "imu0" / "data.csv").write_text("\n".join([IMU_HEADER.partition(",a")[0], *rates]))
    (clip,), _ = import_clips(tmp_path / "data", tmp_path, "euroc")
    (pair,) = audit(clip).pairs
    assert pair.accepted
    assert pair.offset_s == pytest.approx(0.00998, abs=0.003)


@pytest.mark.parametrize("place", ["", "2011_09_26_drive_0001_sync"])
def test_a_drive_of_kitti(kitti, tmp_path, place):
    clips, notes = import_clips(kitti / place, tmp_path, "kitti")
    assert clips[-1].clip_id == "2011_09_26_drive_0001_sync"
    assert {*clips[-1].sources} == {"image_02", "oxts", "oxts_speed"}
    assert "ignored velodyne_points" in notes
    camera, imu = read(clips[-1], "image_02"), read(clips[-1], "oxts")
    assert camera.time_ns.tolist() == imu.time_ns.tolist() == stamps()
    assert camera.focal_px == 721.5377  # the calibration of the day lies above its drives
    assert camera.distortion.k == [0.0] * 4
    assert imu.channel("gyro").values[0].tolist() == [17, 18, 19]
    assert imu.channel("accel").values[1].tolist() == [11.01, 12.01, 13.01]
    assert read(clips[-1], "oxts_speed").channel("speed").values[0] == 8


def test_an_unrectified_drive_of_kitti_has_its_own_lens(kitti, tmp_path):
    drive = kitti / "2011_09_26_drive_0000_sync"
    drive.rename(drive.with_name("2011_09_26_drive_0000_extract"))
    camera = import_clips(kitti, tmp_path, "kitti")[0][0].sources["image_02"]
    assert camera.focal_px == 959.791
    assert len(camera.distortion.k) == 5


def test_damaged_stamps_of_kitti_are_told(kitti, tmp_path):
    drive = kitti / "2011_09_26_drive_0000_sync"
    (drive / "image_02/timestamps.txt").write_text("2011-09-26 13:02:25.9\nnone\n")
    (drive / "oxts/timestamps.txt").unlink()
    clips, notes = import_clips(kitti, tmp_path, "kitti")
    assert any("line 2 is 'none', expected 2011-09-26" in note for note in notes)
    for name in ("image_02", "oxts"):
        with pytest.raises(StreamReadError, match=r"timestamps\.txt"):
            read(clips[0], name)


def test_lost_samples_of_kitti_leave_the_times_of_the_others(kitti, tmp_path):
    """The line of a lost sample is blank, as for the lidar in drive 9 of 2011_09_26."""
    drive = kitti / "2011_09_26_drive_0000_sync"
    for name, suffix in (("image_02", "png"), ("oxts", "txt")):
        table = drive / name / "timestamps.txt"
        lines = table.read_text().splitlines()
        table.write_text("\n".join([*lines[:3], "", *lines[4:], ""]))
        (drive / f"{name}/data/{3:010d}.{suffix}").unlink()
    clip = import_clips(kitti, tmp_path, "kitti")[0][0]
    for name in ("image_02", "oxts"):
        stream = read(clip, name)
        assert stream.time_ns.tolist() == [*stamps()[:3], *stamps()[4:]]
        assert stream.findings == ()


def test_damaged_samples_of_kitti_are_told_and_left_out(kitti, tmp_path):
    data = kitti / "2011_09_26_drive_0000_sync/oxts/data"
    (data / "0000000003.txt").write_text("1 2 3\n")
    (data / "0000000004.txt").unlink()
    imu = read(import_clips(kitti, tmp_path, "kitti")[0][0], "oxts")
    assert imu.time_ns.tolist() == stamps()[:3] + stamps()[5:]
    assert "0000000003.txt: expected 30 numbers (3 numbers" in imu.findings[0].message


def test_a_log_of_argoverse2(argoverse2, tmp_path):
    clips, _ = import_clips(argoverse2, tmp_path, "argoverse2")
    assert clips[1].clip_id.startswith("00000001-")
    camera, pose = read(clips[1], "ring_front_center"), read(clips[1], "pose")
    assert camera.time_ns.tolist() == stamps()
    assert camera.focal_px == 1685.5
    np.testing.assert_allclose(pose.channel("gyro").values, [[0, 0, 0.5]] * (N_FRAMES - 1))
    assert pose.time_ns[0] == stamps()[0] + 25_000_000


def test_an_image_of_argoverse2_without_a_time_is_left_out(argoverse2, tmp_path):
    images = next((argoverse2 / "val").iterdir()) / "sensors/cameras/ring_front_center"
    (images / "copy.jpg").write_bytes(b"")
    (images / f"{2**63}.jpg").write_bytes(b"")
    camera = read(import_clips(argoverse2, tmp_path, "argoverse2")[0][0], "ring_front_center")
    assert len(camera.files.paths) == N_FRAMES
    assert [each.message.rpartition("/")[2][:9] for each in camera.findings] == [
        "922337203",
        "copy.jpg:",
    ]


@pytest.mark.parametrize("name", ["city_SE3_egovehicle", "calibration/intrinsics"])
def test_damaged_tables_of_argoverse2_are_told(argoverse2, tmp_path, name):
    """One log of a thousand must not stop the others."""
    path = next((argoverse2 / "val").iterdir()) / f"{name}.feather"
    path.write_bytes(b"no feather")
    clips, notes = import_clips(argoverse2, tmp_path, "argoverse2")
    assert len(clips) == 2
    (note,) = [note for note in notes if f"{name}.feather" in note]
    assert re.search(r"not an intact feather file.*Download it again", note)
    if "city" in name:
        with pytest.raises(StreamReadError, match="feather"):
            read(clips[0], "pose")
