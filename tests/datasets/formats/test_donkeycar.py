from __future__ import annotations

import numpy as np
import pytest

from syncaudit.decode import iter_luma
from syncaudit.model import SignalStream, Verdict
from syncaudit.pipeline import audit
from syncaudit.readers import read_source
from testkit.data_sets.donkeycar_data import (
    BEGIN_MS,
    N_RECORDS,
    PERIOD_MS,
    values,
    write_old_tub,
    write_tubs,
)
from testkit.data_sets.importing import import_clips


def streams_of(clip):
    return {name: read_source(name, spec, clip.base_uri) for name, spec in clip.sources.items()}


def test_a_session_becomes_camera_controls_imu_and_speed(tmp_path):
    clips, notes = import_clips(write_tubs(tmp_path / "data", 5), tmp_path, "donkeycar")
    assert [clip.clip_id for clip in clips] == [f"tub_1/21-06-25_{n}" for n in range(5)]
    for number, clip in enumerate(clips):
        streams = streams_of(clip)
        assert set(streams) == {"cam", "user", "imu", "odometer"}
        first = number * N_RECORDS
        for stream in streams.values():
            assert stream.findings == ()
            assert stream.stamp_kind == "receive"
            expected = (BEGIN_MS + (first + np.arange(N_RECORDS)) * PERIOD_MS) * 10**6
            assert stream.time_ns.tolist() == expected.tolist()
        levels = [float(frame.luma.mean()) for frame in iter_luma(streams["cam"].files)]
        assert len(levels) == N_RECORDS
        truth = [values(first + k, "") for k in range(N_RECORDS)]
        gyro = streams["imu"].channel("gyro").values[:, 2]
        assert gyro.tolist() == [row["imu/gyr_z"] for row in truth]
        assert clip.sources["imu"].units == {"gyro": "deg/s"}
        angle = streams["user"].channel("angle").values[:, 0]
        assert angle.tolist() == [row["user/angle"] for row in truth]
        assert isinstance(streams["user"], SignalStream)
        assert streams["user"].is_command
    assert "ignored user/mode" in notes
    assert any("marked as deleted are read as well" in text for text in notes)


@pytest.mark.parametrize(
    ("key", "written", "begin_ns"),
    [
        ("milliseconds", [k * PERIOD_MS for k in range(N_RECORDS)], 0),
        (
            "timestamp",
            [f"2019-08-01 12:00:00.{k * PERIOD_MS:03d}000" for k in range(N_RECORDS)],
            1_564_660_800 * 10**9,
        ),
    ],
)
def test_old_tubs_have_the_times_that_their_records_hold(key, written, begin_ns, tmp_path):
    tub = write_old_tub(tmp_path / "data", **{key: written})
    [clip], _ = import_clips(tub, tmp_path, "donkeycar")
    assert clip.clip_id == "tub_2_19-08-01"
    camera = streams_of(clip)["cam"]
    assert camera.time_ns.tolist() == [begin_ns + k * PERIOD_MS * 10**6 for k in range(N_RECORDS)]
    assert len(list(iter_luma(camera.files))) == N_RECORDS


def test_tubs_without_times_are_numbered(tmp_path):
    tub = write_old_tub(tmp_path / "data")
    [clip], _ = import_clips(tub, tmp_path, "donkeycar")
    assert {spec.stamp_kind for spec in clip.sources.values()} == {"index"}
    assert audit(clip).verdict is Verdict.UNVERIFIED
    [clip], _ = import_clips(tub, tmp_path / "rate", "donkeycar", rules={"rate_hz": 20})
    assert {spec.stamp_kind for spec in clip.sources.values()} == {"counter"}


def test_damaged_records_are_left_out_and_told(tmp_path):
    root = write_tubs(tmp_path / "data", 1)
    path = root / "tub_1/catalog_0.catalog"
    lines = path.read_bytes().splitlines(keepends=True)
    lines[1] = b"[]\r\n"
    lines[2] = lines[2].replace(b'"_timestamp_ms": ', b'"_timestamp_us": ')
    path.write_bytes(b"".join(lines)[:-40])
    [clip], _ = import_clips(root, tmp_path, "donkeycar")
    camera = read_source("cam", clip.sources["cam"], clip.base_uri)
    assert camera.time_ns.size == N_RECORDS - 3
    (finding,) = camera.findings
    assert "3 records cannot be read, left out" in finding.message
    assert "catalog_0.catalog line 2: it is not an object" in finding.message


def test_images_that_are_not_there_are_told(tmp_path):
    root = write_tubs(tmp_path / "data", 1)
    (root / "tub_1/images/3_cam_image_array_.jpg").unlink()
    [clip], _ = import_clips(root, tmp_path, "donkeycar")
    verdict = audit(clip)
    assert verdict.verdict is Verdict.REJECT
    assert any("3_cam_image_array_.jpg" in each.message for each in verdict.reasons)
