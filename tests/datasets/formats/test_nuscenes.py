from __future__ import annotations

import json
from functools import partial

import numpy as np
import pytest

from syncaudit.decode import iter_luma
from syncaudit.errors import ManifestError, StreamReadError
from syncaudit.model import CameraStream, SignalStream
from syncaudit.readers import read_source
from testkit.data_sets.importing import import_clips
from testkit.data_sets.nuscenes_data import (
    FOCAL_PX,
    N_SAMPLES,
    PERIOD_US,
    PHASE_US,
    START_US,
    SWEEPS_PER_SAMPLE,
    write_nuscenes,
)


@pytest.fixture
def root(tmp_path):
    return write_nuscenes(tmp_path / "data", 2)


imported = partial(import_clips, format_name="nuscenes")


def test_a_scene_is_a_clip_of_its_log(root, tmp_path):
    clips, notes = imported(root, tmp_path)
    assert [clip.clip_id for clip in clips] == ["scene-0001", "scene-0002"]
    assert {clip.recording_id for clip in clips} == {"n015-2018-07-24-11-22-45+0800"}
    assert "ignored LIDAR_TOP: lidar is not read" in notes


def test_cameras_keep_their_phase_and_their_scenes_apart(root, tmp_path):
    clips, _ = imported(root, tmp_path)
    for number, clip in enumerate(clips):
        for name, phase_us in PHASE_US.items():
            spec = clip.sources[name]
            assert spec.expected_offset_s == 0.0
            camera = read_source(name, spec, clip.base_uri)
            assert isinstance(camera, CameraStream)
            index = np.arange(N_SAMPLES * SWEEPS_PER_SAMPLE)
            times_us = START_US + number * 20_000_000 + index * PERIOD_US + phase_us
            np.testing.assert_array_equal(camera.time_ns, times_us * 1000)
            for time_us, path in zip(times_us, camera.files.paths, strict=True):
                assert str(time_us) in path
            assert camera.line_delay_s == 0.0
            assert (camera.stamp_at, camera.focal_px) == ("start_of_frame", FOCAL_PX)
            assert sum(1 for _ in iter_luma(camera.files)) == len(index)
            assert camera.findings == ()


def test_bus_messages_become_tables_in_si_units(root, tmp_path):
    clips, _ = imported(root, tmp_path)
    streams = {
        name: read_source(name, spec, clips[0].base_uri)
        for name, spec in clips[0].sources.items()
        if not name.startswith("CAM")
    }
    assert all(isinstance(stream, SignalStream) for stream in streams.values())
    for stream in streams.values():
        assert stream.time_ns[0] == START_US * 1000

    def first(source, channel):
        return streams[source].channel(channel).values[0].tolist()

    assert first("ms_imu", "gyro") == [0, 0, 0.3]
    assert first("ms_imu", "accel") == [0.1, 0.2, 9.8]
    assert first("pose", "vel") == [7, 0, 0]
    assert first("steeranglefeedback", "steering_angle") == [-0.5]
    assert first("vehicle_monitor", "speed") == pytest.approx([10.0])
    assert first("vehicle_monitor", "yaw_rate") == pytest.approx([np.pi / 2])
    assert first("zoe_veh_info", "speed") == pytest.approx([5.0])
    assert first("zoe_veh_info", "lateral_accel") == pytest.approx([4.903325])


def test_only_what_is_stamped_on_reception_says_so(root, tmp_path):
    clips, _ = imported(root, tmp_path)
    received = {n for n, spec in clips[0].sources.items() if spec.stamp_kind == "receive"}
    assert received == {"zoesensors", "zoe_veh_info"}


def test_a_scene_without_bus_keeps_its_cameras(root, tmp_path):
    for path in (root / "can_bus").glob("scene-0001*"):
        path.unlink()
    clips, notes = imported(root, tmp_path)
    assert set(clips[0].sources) == set(PHASE_US)
    assert any("a scene has no CAN bus data" in note for note in notes)


def test_a_broken_message_is_left_to_the_audit(root, tmp_path):
    (root / "can_bus/scene-0001_ms_imu.json").write_text("[{")
    clips, notes = imported(root, tmp_path)
    assert any("cannot convert" in note and "not valid JSON" in note for note in notes)
    with pytest.raises(StreamReadError, match=r"scene-0001_ms_imu\.json"):
        read_source("ms_imu", clips[0].sources["ms_imu"], clips[0].base_uri)
    assert read_source("ms_imu", clips[1].sources["ms_imu"], clips[1].base_uri).findings == ()


def test_the_folder_of_the_tables_may_be_named(root, tmp_path):
    clips, _ = imported(root / "v1.0-mini", tmp_path)
    camera = read_source("CAM_FRONT", clips[0].sources["CAM_FRONT"], clips[0].base_uri)
    assert camera.time_ns.size == N_SAMPLES * SWEEPS_PER_SAMPLE


@pytest.mark.parametrize(
    ("change", "pattern"),
    [
        ({"timestamp": 15.2}, "timestamp 15.2 or filename"),
        ({"filename": "../../etc/passwd"}, "not valid in nuScenes"),
        ({"sample_token": None}, "item 0 has no text 'sample_token'"),
    ],
)
def test_rows_that_cannot_be_are_refused(root, tmp_path, change, pattern):
    path = root / "v1.0-mini/sample_data.json"
    rows = json.loads(path.read_text())
    rows[0] |= change
    path.write_text(json.dumps(rows))
    with pytest.raises(ManifestError, match=pattern):
        imported(root, tmp_path)
