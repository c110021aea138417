from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from syncaudit.errors import StreamReadError
from syncaudit.pipeline import audit
from syncaudit.readers import read_source
from testkit.data_sets.comma_data import BOOT_S, ROUTE, save, write_comma2k19
from testkit.data_sets.importing import import_clips


@pytest.fixture
def root(tmp_path):
    return write_comma2k19(tmp_path / "data", 2)


imported = partial(import_clips, format_name="comma2k19")


def test_a_segment_is_a_clip_of_its_route(root, tmp_path):
    clips, notes = imported(root, tmp_path)
    assert [clip.clip_id for clip in clips] == [f"{ROUTE}/0", f"{ROUTE}/1"]
    assert {clip.recording_id for clip in clips} == {ROUTE}
    assert {"ignored GNSS/live_gnss_qcom", "ignored IMU/magnetometer"} <= set(notes)


@pytest.mark.parametrize("depth", ["", ROUTE, f"{ROUTE}/1"])
def test_any_level_of_the_tree_may_be_named(root, tmp_path, depth):
    clips, _ = imported(root / depth, tmp_path)
    assert clips[-1].clip_id == f"{ROUTE}/1"


def test_arrays_are_read_where_they_lie(root, tmp_path):
    clip = imported(root, tmp_path)[0][1]
    streams = {
        name: read_source(name, spec, clip.base_uri)
        for name, spec in clip.sources.items()
        if name != "camera"
    }
    begin_ns = round((BOOT_S + 60) * 1e9)
    for stream in streams.values():
        assert stream.findings == ()
        assert stream.time_ns[0] == begin_ns
    np.testing.assert_array_equal(streams["gyro"].time_ns, begin_ns + np.arange(200) * 10**7)
    assert streams["gyro"].channel("gyro").values[3].tolist() == [3, 6, 9]
    assert streams["accel"].channel("accel").values[3].tolist() == [3, 6, 9]
    assert streams["speed"].channel("speed").values[3].tolist() == [3]
    assert streams["wheel_speed"].channel("wheel_speed_rr").values[3].tolist() == [12]
    assert streams["steering_angle"].channel("steering_angle").values[0] == 2 * (BOOT_S + 60)
    assert streams["pose"].channel("velocities").values[0].tolist() == [1, 1, 1]
    assert {name for name, stream in streams.items() if stream.stamp_kind == "receive"} == {
        "speed",
        "wheel_speed",
        "steering_angle",
    }


def test_arrays_of_different_lengths_are_told(root, tmp_path):
    save(root / ROUTE / "0/processed_log/IMU/gyro/t", np.arange(7.0))
    clip = imported(root, tmp_path)[0][0]
    with pytest.raises(StreamReadError, match="differ in length") as caught:
        read_source("gyro", clip.sources["gyro"], clip.base_uri)
    assert caught.value.code == "length_mismatch"


@pytest.mark.parametrize(
    ("content", "pattern"),
    [
        (b"\x93NUMPY\x01\x00v", "not an intact NumPy array"),
        (b"\x93NUMPY\x01\x00\x10\x00{'shape': (1,   ", "not an intact NumPy array"),
        (b"", "0 bytes"),
    ],
)
def test_damaged_arrays_are_told(root, tmp_path, content, pattern):
    (root / ROUTE / "0/processed_log/CAN/speed/value").write_bytes(content)
    clip = imported(root, tmp_path)[0][0]
    with pytest.raises(StreamReadError, match=pattern):
        read_source("speed", clip.sources["speed"], clip.base_uri)


def test_made_up_signals_without_noise_are_audited(root, tmp_path):
    clips, _ = imported(root, tmp_path)
    assert {str(audit(clip).verdict) for clip in clips} == {"reject"}  # because of its empty video
