"""Logs of PX4 and ArduPilot: every inertial sensor of an autopilot is a source."""

from __future__ import annotations

import numpy as np
import pytest

from syncaudit.errors import MissingExtraError
from syncaudit.model import Verdict
from syncaudit.pipeline import audit
from syncaudit.readers import read_source
from testkit.data_sets.flight_logs import (
    dataflash_of,
    gyro_topic,
    imu_messages,
    ulog_of,
    write_ardupilot,
    write_ulog,
)
from testkit.data_sets.importing import import_clips
from testkit.moving_body import TILTED, shaking

LATE_S = 0.0123
LEVEL = np.eye(3)
COMBINED = ("gyro_rad", "accelerometer_m_s2")


def read(clip, name):
    return read_source(name, clip.sources[name], clip.base_uri)


def ulog_clip(tmp_path, content):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "flight.ulg").write_bytes(content)
    return import_clips(tmp_path / "data", tmp_path, "ulog")[0][0]


def ardupilot_clip(tmp_path, content):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "00000001.BIN").write_bytes(content)
    return import_clips(tmp_path / "data", tmp_path, "ardupilot")[0][0]


def shaken(n, rate_hz, late_s=0.0, mount=LEVEL, seed=3):
    """Return timestamps in microseconds and a gyroscope's measurement of one motion."""
    times_s = 1.0 + np.arange(n) / rate_hz
    noise = np.random.default_rng(seed).normal(0.0, 3e-3, (n, 3))
    rates = shaking(4).mixed(mount).rate(times_s - late_s) + noise
    return np.rint(1e6 * times_s).astype(np.int64), rates


def test_gyroscopes_of_px4_are_measured_against_each_other(tmp_path):
    """The second sees the motion late, as after its own filter."""
    gyros = {
        ("sensor_gyro", 0): gyro_topic(*shaken(4000, 200.0)),
        ("sensor_gyro", 1): gyro_topic(*shaken(4000, 200.0, LATE_S, TILTED, seed=5)),
    }
    clip = ulog_clip(tmp_path, ulog_of(gyros))
    (pair,) = audit(clip).pairs
    assert {*clip.sources} == {"gyro_0", "gyro_1"}
    late_s = pair.offset_s if pair.source == "gyro_0" else -pair.offset_s
    assert late_s == pytest.approx(LATE_S, abs=3e-4)


def test_samples_of_px4_are_dated_when_they_were_taken(tmp_path):
    stamps, rates = shaken(50, 200.0)
    clip = ulog_clip(tmp_path, ulog_of({("sensor_gyro", 0): gyro_topic(stamps, rates)}))
    stream = read(clip, "gyro_0")
    assert stream.time_ns.tolist() == (1000 * stamps).tolist()
    assert (stream.arrivals.receive_ns - stream.time_ns).tolist() == [500_000] * 50
    np.testing.assert_allclose(stream.channel("gyro").values, rates, atol=1e-6)


@pytest.mark.parametrize("is_thinned", [False, True])
def test_what_px4_flies_by_is_taken_where_nothing_raw_was_logged_at_its_rate(is_thinned, tmp_path):
    """PX4 logs raw samples at 1 Hz unless told otherwise."""
    stamps, rates = shaken(500, 200.0)
    names = [f"gyro_rad[{k}]" for k in range(3)]
    names += [f"accelerometer_m_s2[{k}]" for k in range(3)]
    combined = {"timestamp": stamps, **dict(zip(names, [*rates.T, *rates.T], strict=True))}
    fields = {name.replace("[0]", "").replace("[1]", "").replace("[2]", "") for name in names}
    assert fields == {"gyro_rad", "accelerometer_m_s2"}
    raw = {("sensor_gyro", 0): gyro_topic(stamps[::200], rates[::200])} if is_thinned else {}
    clip = ulog_clip(tmp_path, ulog_of(raw | {("sensor_combined", 0): combined}))
    assert {*clip.sources} == {"imu"}
    stream = read(clip, "imu")
    assert stream.time_ns.tolist() == (1000 * stamps).tolist()
    assert [channel.name for channel in stream.channels] == ["gyro", "accel"]
    assert stream.arrivals is None


@pytest.mark.parametrize("period", [np.full(50, 4000), np.full(50, 0.004)])
def test_averages_of_px4_are_dated_in_the_middle_of_their_period(period, tmp_path):
    """In us, or in seconds as older versions wrote it."""
    stamps, rates = shaken(50, 200.0)
    axes = {f"{name}[{k}]": rates[:, k] for k in range(3) for name in COMBINED}
    combined = {"timestamp": stamps, "gyro_integral_dt": period, **axes}
    clip = ulog_clip(tmp_path, ulog_of({("sensor_combined", 0): combined}))
    assert read(clip, "imu").time_ns.tolist() == (1000 * stamps - 2_000_000).tolist()


def test_an_accelerometer_of_px4_has_its_own_times(tmp_path):
    """2 ms later, over half the period; one sample is marked as invalid."""
    stamps, rates = shaken(50, 200.0)
    axes = {f"{name}[{k}]": rates[:, k] for k in range(3) for name in COMBINED}
    later = np.full(50, 2000, np.int32)
    later[7] = 0x7FFF_FFFF
    times = {
        "timestamp": stamps,
        "gyro_integral_dt": np.full(50, 4000),
        "accelerometer_integral_dt": np.full(50, 2000),
        "accelerometer_timestamp_relative": later,
    }
    clip = ulog_clip(tmp_path, ulog_of({("sensor_combined", 0): times | axes}))
    assert {*clip.sources} == {"gyro", "accel"}
    assert read(clip, "gyro").time_ns.tolist() == (1000 * stamps - 2_000_000).tolist()
    accel = read(clip, "accel")
    assert accel.time_ns.tolist() == (1000 * np.delete(stamps, 7) + 1_000_000).tolist()
    assert [channel.name for channel in accel.channels] == ["accel"]


def test_an_accelerometer_of_px4_without_valid_samples_is_left_out(tmp_path):
    stamps, rates = shaken(50, 200.0)
    axes = {f"{name}[{k}]": rates[:, k] for k in range(3) for name in COMBINED}
    later = {"accelerometer_timestamp_relative": np.full(50, 0x7FFF_FFFF, np.int32)}
    combined = {"timestamp": stamps, **later, **axes}
    clip = ulog_clip(tmp_path, ulog_of({("sensor_combined", 0): combined}))
    assert {*clip.sources} == {"gyro"}


def test_dropouts_of_px4_are_told(tmp_path):
    topics = {("sensor_gyro", 0): gyro_topic(*shaken(50, 200.0))}
    clip = ulog_clip(tmp_path, ulog_of(topics, dropouts_ms=(40, 160)))
    (finding,) = read(clip, "gyro_0").findings
    assert finding.code == "gap"
    assert "lost 0.2 s in 2 dropouts, 0.16 s at most" in finding.message


def test_filtered_samples_of_ardupilot(tmp_path):
    clip = ardupilot_clip(tmp_path, dataflash_of(imu_messages()))
    assert {*clip.sources} == {"imu_0", "imu_1"}
    stream = read(clip, "imu_1")
    assert stream.time_ns[:2].tolist() == [20_000_000, 40_000_000]
    np.testing.assert_allclose(stream.channel("accel").values[0], [0.3, 0.4, 0.5], atol=1e-6)
    assert stream.arrivals is None


def test_raw_samples_of_ardupilot_come_first(tmp_path):
    rows = np.array([[20_500.0 + 1000 * k, 0, 20_000.0 + 1000 * k, 1, 2, 3] for k in range(9)])
    raw = {"GYR": ("QBQfff", "TimeUS,I,SampleUS,GyrX,GyrY,GyrZ", rows)}
    clip = ardupilot_clip(tmp_path, dataflash_of(imu_messages() | raw))
    assert {*clip.sources} == {"gyro_0"}
    stream = read(clip, "gyro_0")
    assert (stream.arrivals.receive_ns - stream.time_ns).tolist() == [500_000] * 9


def test_old_logs_of_ardupilot_number_their_messages(tmp_path):
    codes, columns, rows = imu_messages()["IMU"]
    rows = np.delete(rows[::2], 1, axis=1)
    old = (codes.replace("B", ""), columns.replace(",I", ""), rows)
    clip = ardupilot_clip(tmp_path, dataflash_of({"IMU": old, "IMU2": old}))
    assert {*clip.sources} == {"imu_0", "imu_1"}


def test_damaged_logs_are_told(tmp_path):
    content = dataflash_of(imu_messages())
    clip = ardupilot_clip(tmp_path, content[:2000] + bytes(600) + content[2000:])
    assert "damaged and were skipped" in read(clip, "imu_0").findings[0].message


@pytest.mark.parametrize("content", [b"ULog\x01\x12\x35", b"ULog\x01\x12\x35" + b"\xff" * 300])
def test_a_log_of_which_nothing_can_be_read_is_rejected(tmp_path, content):
    verdict = audit(ulog_clip(tmp_path, content))
    assert verdict.verdict is Verdict.REJECT


def test_logs_without_inertial_sensors_are_left_out(tmp_path):
    root = write_ulog(tmp_path / "data", 1)
    (root / "mission.ulg").write_bytes(ulog_of({}))
    (root / "other.ulg").write_bytes(b"no log")
    clips, notes = import_clips(root, tmp_path, "ulog")
    assert len(clips) == 1
    assert "left out other.ulg: it is empty, or not a log of this kind" in notes
    assert "left out a log that holds no known source" in notes


@pytest.mark.parametrize(("name", "write"), [("ulog", write_ulog), ("ardupilot", write_ardupilot)])
def test_a_missing_package_is_told(tmp_path, monkeypatch, name, write):
    root = write(tmp_path / "data", 1)
    monkeypatch.setattr("syncaudit.datasets.formats.log_files.find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match=rf"pip install 'syncaudit\[{name}\]'"):
        import_clips(root, tmp_path, name)
