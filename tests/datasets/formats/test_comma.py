"""Segments of openpilot, with logs written by pycapnp using the numbers of openpilot's schema."""

from __future__ import annotations

import bz2
import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from syncaudit.datasets.formats import Import, get_format
from syncaudit.datasets.protocol import Sidecars
from syncaudit.datasets.source import Source
from syncaudit.model import Verdict
from syncaudit.pipeline import audit
from syncaudit.readers import read_source
from testkit.bus_logs import DBC
from testkit.data_sets.importing import import_clips
from testkit.data_sets.openpilot_data import (
    BOOT_NS,
    RATE_HZ,
    READOUT_NS,
    ROUTE,
    frames,
    init,
    packed,
    sensor,
    write_comma,
)
from testkit.moving_body import shaking
from testkit.videos import exact_frame, write_video

imported = partial(import_clips, format_name="comma")
LATE_S = 0.04
HEIGHT = 64
# For the simulated drive: 240 rows, 50 us each. The audit does not know the exposure, 8 ms.
SAMPLES = Path(__file__).parents[3] / "sample_data"
DRIVE_READOUT_NS, EXPOSURE_NS, FOCAL_PX = 12_000_000, 8_000_000, 278.89
TOLERANCE_S = 2e-3


@pytest.fixture
def segment(tmp_path):
    """Return the folder of a segment, with a video of ten frames."""
    folder = tmp_path / "data" / f"{ROUTE}--7"
    folder.mkdir(parents=True)
    pictures = (np.full((HEIGHT, 96), 20 * k, np.uint8) for k in range(10))
    write_video(folder / "fcamera.hevc", map(exact_frame, pictures), "libx265")
    return folder


def clip_of(segment, tmp_path, *events, name="rlog"):
    (segment / name).write_bytes(packed(events))
    return imported(segment.parent, tmp_path)[0][0]


def read(clip, name):
    return read_source(name, clip.sources[name], clip.base_uri)


def codes(clip, name):
    return [finding.code for finding in read(clip, name).findings]


def cars(times_ns, **values):
    """Return car states."""
    rows = zip(*(np.asarray(each, float).tolist() for each in values.values()), strict=True)
    return [
        (time, {"carState": dict(zip(values, row, strict=True))})
        for time, row in zip(times_ns.tolist(), rows, strict=True)
    ]


def test_a_segment_is_a_clip_of_its_route(tmp_path):
    clips, notes = imported(write_comma(tmp_path / "data", 2), tmp_path)
    assert [clip.clip_id for clip in clips] == [f"{ROUTE}--0", f"{ROUTE}--1"]
    assert {clip.recording_id for clip in clips} == {ROUTE}
    assert clips[0].about == {"device": "0123456789abcdef", "software": "0.9.7"}
    assert {*clips[0].sources} == {"road", "gyro", "accel", "car"}
    assert notes["fcamera.hevc -> camera"] == 2


def test_frames_are_dated_by_the_end_of_their_read_out(segment, tmp_path):
    clip = clip_of(segment, tmp_path, init(), *frames(10))
    stream = read(clip, "road")
    assert stream.findings == ()
    np.testing.assert_array_equal(stream.time_ns, BOOT_NS + np.arange(10) * 10**9 // RATE_HZ)
    assert stream.stamp_at == "end_of_frame"
    assert stream.line_delay_s == pytest.approx(READOUT_NS * 1e-9 / HEIGHT, abs=1e-12)
    assert clip.sources["road"].fov_deg == 40.0


def test_a_camera_in_time_passes(tmp_path):
    """A simulated drive stamped as openpilot does: at the end of each frame's readout."""
    drive, folder = SAMPLES / "good", tmp_path / "data" / f"{ROUTE}--0"
    folder.mkdir(parents=True)
    shutil.copy(drive / "cam_front.mp4", folder / "qcamera.ts")
    middle = np.loadtxt(drive / "cam_front.csv", np.int64, skiprows=1)
    ends = middle - middle[0] + BOOT_NS + (EXPOSURE_NS + DRIVE_READOUT_NS) // 2
    index = [
        (stop, {"roadEncodeIdx": {"segmentId": k, "timestampSof": stop - DRIVE_READOUT_NS,
                                  "timestampEof": stop}})
        for k, stop in enumerate(ends.tolist())
    ]  # fmt: skip
    table = np.genfromtxt(drive / "imu.csv", delimiter=",", names=True, dtype=None)
    rates = np.stack([table[f"gyro_{axis}"] for axis in "xyz"], axis=1)
    gyro = sensor(table["timestamp_ns"] - middle[0] + BOOT_NS, rates, "gyroUncalibrated")
    (folder / "rlog").write_bytes(packed([*index, *gyro]))
    clip = imported(folder.parent, tmp_path)[0][0]
    road = replace(clip.sources["road"], focal_px=FOCAL_PX)
    verdict = audit(replace(clip, sources={**clip.sources, "road": road}))
    assert verdict.verdict is Verdict.PASS
    (pair,) = verdict.pairs
    assert abs(pair.offset_s) < TOLERANCE_S


def test_older_logs_date_them_by_another_message(segment, tmp_path):
    clip = clip_of(segment, tmp_path, *frames(10, is_dated=False))
    assert read(clip, "road").time_ns[-1] == BOOT_NS + 9 * 10**9 // RATE_HZ


def test_an_end_that_scatters_tells_no_read_out(segment, tmp_path):
    events = frames(10)
    events[-1][1]["roadEncodeIdx"]["timestampEof"] += 10**6
    assert clip_of(segment, tmp_path, *events).sources["road"].line_delay_s is None


def test_frames_after_one_without_a_time_have_none(segment, tmp_path):
    events = frames(10)
    del events[2 * 6 + 1]
    clip = clip_of(segment, tmp_path, *events)
    assert read(clip, "road").time_ns.size == 6
    assert codes(clip, "road") == ["length_mismatch", "missing_frames"]
    assert audit(clip).verdict is Verdict.REJECT


def test_samples_are_dated_by_their_own_time(segment, tmp_path):
    times = BOOT_NS + np.arange(5) * 10**7
    values = np.arange(15.0).reshape(5, 3)
    events = [*sensor(times, values, "gyroUncalibrated"), *sensor(times, values, "acceleration")]
    clip = clip_of(segment, tmp_path, *events)
    for name in ("gyro", "accel"):
        stream = read(clip, name)
        assert stream.time_ns.tolist() == times.tolist()
        assert (stream.arrivals.receive_ns - stream.time_ns).tolist() == [2_000_000] * 5
        np.testing.assert_array_equal(stream.channel(name).values, values)


def test_older_logs_hold_lists_of_samples_of_several_chips(segment, tmp_path):
    times = BOOT_NS + np.arange(5) * 10**7
    both = [
        (time, {"sensorEvents": [
            {"timestamp": time - 1, "gyroUncalibrated": {"v": [9, 9, 9]}, "source": "android"},
            {"timestamp": time, "gyro": {"v": [1, 2, 3]}, "source": "android"},
            {"timestamp": time, "gyroUncalibrated": {"v": [4, 5, 6]}, "source": "lsm6ds3"},
            {"timestamp": time, "pressure": {"v": [7]}, "source": "android"},
        ]})
        for time in times.tolist()
    ]  # fmt: skip
    clip = clip_of(segment, tmp_path, *both)
    assert {*clip.sources} == {"road", "gyro_android", "gyro_lsm6ds3"}
    assert read(clip, "gyro_android").channel("gyro").values[0].tolist() == [1, 2, 3]
    assert read(clip, "gyro_lsm6ds3").channel("gyro").values[0].tolist() == [4, 5, 6]


def test_what_the_car_or_the_gps_tells_is_dated_by_its_arrival(segment, tmp_path):
    times = BOOT_NS + np.arange(5) * 10**7
    state = cars(times, vEgo=[8.0] * 5, vEgoRaw=[9.0] * 5, steeringAngleDeg=[90.0] * 5)
    fixes = [
        (time, {"gpsLocationExternal": {"speed": 9.5, "hasFix": k > 0}})
        for k, time in enumerate(times.tolist())
    ]
    clip = clip_of(segment, tmp_path, *state, *fixes)
    car, gps = read(clip, "car"), read(clip, "gps")
    assert [channel.name for channel in car.channels] == ["speed", "steering_angle"]
    assert car.channel("speed").values[0] == 9.0
    assert car.channel("steering_angle").values[0] == 90.0
    assert car.channel("steering_angle").unit == "deg"
    assert gps.time_ns.tolist() == times[1:].tolist()
    assert {car.stamp_kind, gps.stamp_kind} == {"receive"}


def test_a_late_bus_is_measured_against_the_gyroscope(segment, tmp_path):
    times_s = np.arange(3000) / 100
    times = BOOT_NS + np.rint(times_s * 1e9).astype(np.int64)
    motion = shaking(4, highest_hz=1.5)
    noise = np.random.default_rng(3).normal(0.0, 1e-3, (2, 3000, 3))
    gyro = motion.rate(times_s) + noise[0]
    yaw = (motion.rate(times_s - LATE_S) + noise[1])[:, 2]
    state = cars(times, vEgoRaw=np.full(3000, 12.0), yawRate=yaw)
    (segment / "fcamera.hevc").unlink()
    clip = clip_of(segment, tmp_path, *sensor(times, gyro, "gyroUncalibrated"), *state)
    (pair,) = [pair for pair in audit(clip).pairs if pair.offset_s is not None]
    late_s = pair.offset_s if pair.source == "gyro" else -pair.offset_s
    assert late_s == pytest.approx(LATE_S, abs=3e-3)


def test_raw_can_is_read_by_a_dbc_above_it(segment, tmp_path):
    """Of two buses, the one better described by the DBC; what openpilot sent counts for neither."""
    (segment.parent / "car.dbc").write_text(DBC)
    raw = bytes([0x01, 0xF4, 100, 0, 0, 0, 0, 0])  # 500 * 0.25 - 125 deg/s, 1 km/h
    motion, other = {"address": 36, "dat": raw}, {"address": 64, "dat": raw}
    events = [
        (time, {"can": [motion | {"src": 1}, other | {"src": 1}, motion | {"src": 129}, *extra]})
        for time, extra in ((BOOT_NS, []), (BOOT_NS + 10**7 + 1, [motion | {"src": 2}]))
    ]
    (segment / "rlog").write_bytes(packed(events))
    (clip,), notes = imported(segment.parent, tmp_path)
    assert dict(clip.sources["can"].signals) == {
        "yaw_rate": "MOTION.YawRate",
        "speed": "MOTION.Speed",
    }
    assert notes["car.dbc: MOTION.YawRate -> yaw_rate"] == 1
    stream = read(clip, "can")
    assert (stream.findings, stream.stamp_kind) == ((), "receive")
    assert stream.channel("yaw_rate").values.ravel().tolist() == [0.0, 0.0]
    assert np.unique(stream.time_ns).tolist() == [BOOT_NS, BOOT_NS + 10**7 + 1]


def test_raw_can_without_a_dbc_is_left_out(segment, tmp_path):
    frame = {"address": 36, "dat": bytes(8)}
    (segment / "rlog").write_bytes(packed([*frames(10), (BOOT_NS, {"can": [frame]})]))
    (clip,), notes = imported(segment.parent, tmp_path)
    assert {*clip.sources} == {"road"}
    assert any(note.startswith("left out raw CAN: no DBC beside the log") for note in notes)


def test_the_fuller_log_and_the_larger_video_are_taken(segment, tmp_path):
    (segment / "qcamera.ts").write_bytes(b"")
    (segment / "qlog.bz2").write_bytes(bz2.compress(packed(frames(3))))
    events = [*frames(10), *frames(10, camera="driver")]
    (segment / "rlog").write_bytes(packed(events))
    (clip,), notes = imported(segment.parent, tmp_path)
    assert clip.sources["road"].uri.endswith("fcamera.hevc")
    assert read(clip, "road").time_ns.size == 10
    assert notes["left out qlog.bz2: rlog lies beside it"] == 1
    assert notes["left out the driver camera: dcamera.hevc is not there"] == 1


def test_files_of_one_folder_are_told_by_what_their_names_begin_with(segment, tmp_path):
    for number in (0, 1):
        (segment / f"{ROUTE}--{number}--qlog").write_bytes(packed(frames(10, segment=number)))
        (segment / f"{ROUTE}--{number}--qcamera.ts").write_bytes(b"")
    clips, _ = imported(segment, tmp_path)
    assert [clip.clip_id for clip in clips] == [f"{ROUTE}--0", f"{ROUTE}--1"]
    assert clips[1].sources["road"].uri.endswith(f"{ROUTE}--1--qcamera.ts")


def test_a_log_that_breaks_off_is_read_up_to_there(segment, tmp_path):
    content = packed([init(), *frames(10), *frames(10, camera="driver")])
    (segment / "rlog").write_bytes(content[:-30])
    stream = read(imported(segment.parent, tmp_path)[0][0], "road")
    assert stream.time_ns.size == 10
    (finding,) = stream.findings
    assert finding.code == "corrupt"
    assert "rlog breaks off or is damaged after 30 messages" in finding.message


@pytest.mark.parametrize(
    "content",
    [bz2.compress(packed(frames(10)))[:-30], b"(\xb5/\xfd" + bytes(9), bytes(4) + b"\xff" * 90],
)
def test_a_log_of_which_nothing_can_be_read_is_rejected(segment, tmp_path, content):
    (segment / "rlog").write_bytes(content)
    (segment / "fcamera.hevc").unlink()
    (clip,), _ = imported(segment.parent, tmp_path)
    assert audit(clip).verdict is Verdict.REJECT


def test_other_files_of_that_name_are_none(segment):
    for content in (b"", b"12:00:01 remote log"):
        (segment / "rlog").write_bytes(content)
        source = Source(str(segment.parent))
        assert "no rlog or" in str(get_format("comma").probe(source))


def test_messages_of_another_schema_make_no_clip(segment, tmp_path):
    (segment / "rlog").write_bytes(packed([(BOOT_NS, {"can": [{"address": 7, "dat": b"123"}]})]))
    (segment / "fcamera.hevc").unlink()
    job = Import(sidecars=Sidecars(tmp_path / "side"))
    assert list(get_format("comma").clips(Source(str(segment.parent)), job)) == []
    assert job.notes["left out a log that holds no known source"] == 1
