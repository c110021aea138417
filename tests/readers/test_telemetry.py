"""Telemetry inside videos: the clock of its sensors, and signs of stabilised footage."""

from __future__ import annotations

import struct
import sys
from types import ModuleType

import numpy as np
import pytest

from syncaudit.errors import MissingExtraError, StreamReadError
from syncaudit.readers.telemetry import holds_telemetry, read_telemetry
from testkit.gopro_video import device, gyro_payloads, numbers, stream, text, write_gopro
from testkit.places import real_recording
from testkit.videos import grey_frame, write_video

RATE_HZ = 198.6
# Half of a chunk of 7 samples, which is the possible error of the mean over few payloads.
PLACE_S = 0.5 * 7 / RATE_HZ


def telemetry_of(tmp_path, payloads, **more):
    return read_telemetry(str(write_gopro(tmp_path / "GX010001.MP4", payloads, **more)))


@pytest.mark.parametrize(
    ("stamp", "tolerance_s"),
    # Timestamps are whole microseconds or milliseconds; payload times alone are inaccurate over 6
    # s.
    [("STMP", 2e-6), ("TICK", 1e-3), (None, 2 * PLACE_S)],
)
def test_samples_lie_on_one_line(tmp_path, stamp, tolerance_s):
    payloads = gyro_payloads(6, rate_hz=RATE_HZ, stamp=stamp)
    times_s = telemetry_of(tmp_path, payloads).sensors["gyro"].times_s
    assert np.ptp(np.diff(times_s)) < 1e-9
    assert abs(times_s[-1] - times_s[0] - (times_s.size - 1) / RATE_HZ) < tolerance_s
    assert abs(times_s[0]) < PLACE_S


@pytest.mark.parametrize("chunk", [1, 7, 16])
def test_the_claimed_error_covers_where_the_line_lies(tmp_path, chunk):
    gyro = telemetry_of(tmp_path, gyro_payloads(9, rate_hz=RATE_HZ, chunk=chunk)).sensors["gyro"]
    assert abs(gyro.times_s[0]) < 1.96 * gyro.std_s < 1.2 * chunk / RATE_HZ


def test_lost_samples_leave_a_gap(tmp_path):
    payloads = gyro_payloads(6, rate_hz=RATE_HZ)
    payloads[2] = device(text("DVNM", "HERO Test"))
    times_s = telemetry_of(tmp_path, payloads).sensors["gyro"].times_s
    assert np.diff(times_s).max() == pytest.approx(1.0, abs=0.05)


def test_values_are_scaled(tmp_path):
    rates = np.linspace(-1.0, 1.0, 1800).reshape(-1, 3)
    found = telemetry_of(tmp_path, gyro_payloads(2, rates=rates))
    assert found.camera == "GoPro HERO Test"
    values = found.sensors["gyro"].values
    np.testing.assert_allclose(values, rates[: len(values)], atol=5e-4)


def test_speed_is_taken_where_the_gps_has_a_fix(tmp_path):
    def gps(fix):
        samples = numbers("GPS5", "l", [[10, 20, 30, 5000, 5100]] * 18)
        scale = numbers("SCAL", "l", [[1], [1], [1], [1000], [1000]])
        return stream(numbers("GPSF", "L", [fix]), scale, samples)

    lost, fixed = (gyro_payloads(2, more=gps(fix)) for fix in (0, 3))
    assert "speed" not in telemetry_of(tmp_path, lost).sensors
    np.testing.assert_allclose(telemetry_of(tmp_path, fixed).sensors["speed"].values, 5.0)


def image_turn(degrees):
    turns = [[32767, round(32767 * np.sin(np.radians(degrees) / 2)), 0, 0]] * 30
    return stream(numbers("SCAL", "s", [32767]), numbers("IORI", "s", turns))


@pytest.mark.parametrize(
    ("settings", "more", "said"),
    [
        (device(text("EISA", "HS AutoBoost")), b"", "EISA HS AutoBoost"),
        (device(text("EISE", "Y")), b"", "EISE Y"),
        (b"", image_turn(4.0), "turned by up to 4.0 degrees"),
        (device(text("EISE", "Y"), text("EISA", "N/A")), image_turn(0.2), None),
        (b"", b"", None),
    ],
)
def test_stabilised_images_are_told(tmp_path, settings, more, said):
    found = telemetry_of(tmp_path, gyro_payloads(more=more), settings=settings)
    assert (said is None) == (found.stabilised is None)
    assert said is None or said in found.stabilised


@pytest.mark.parametrize(
    "found",
    [b"TSMP", b"STMP", b"SCAL", b"GYRO"],
)
def test_damage_in_a_payload_loses_that_payload_at_most(tmp_path, found):
    """The number of samples of an entry, in its bytes 6 and 7, is wrong."""
    payloads = gyro_payloads(4, rate_hz=RATE_HZ)
    at = payloads[1].index(found)
    for count in (0, 9, 60_000):
        payloads[1] = payloads[1][: at + 6] + count.to_bytes(2, "big") + payloads[1][at + 8 :]
        gyro = telemetry_of(tmp_path, payloads).sensors["gyro"]
        assert gyro.values.shape[1] == 3
        assert gyro.times_s.size > 500


def test_damaged_payloads_are_no_telemetry(tmp_path):
    assert telemetry_of(tmp_path, [payload[:40] for payload in gyro_payloads()]) is None


def test_other_videos_hold_none(tmp_path):
    frames = [grey_frame(np.zeros((48, 64), np.uint8))] * 3
    path = write_video(tmp_path / "plain.mp4", frames)
    assert read_telemetry(str(path)) is None
    assert not holds_telemetry(str(path))
    path.write_bytes(b"no video" * 100)
    assert not holds_telemetry(str(path))
    with pytest.raises(StreamReadError):
        read_telemetry(str(path))


@pytest.mark.realdata
def test_the_clock_of_a_hero5_is_its_own(tmp_path):
    """By its own ticks it takes 397.54 samples a second; payload times alone give 397.18."""
    found = read_telemetry(str(real_recording("drone_gimbal/karma.mp4")))
    gyro, accel = found.sensors["gyro"].times_s, found.sensors["accel"].times_s
    assert (gyro.size - 1) / np.ptp(gyro) == pytest.approx(397.54, abs=0.02)
    assert gyro[0] == pytest.approx(accel[0], abs=0.003)
    assert found.stabilised is None


@pytest.mark.realdata
def test_a_hero8_says_that_it_was_stabilised():
    path = real_recording("hero8_racebox/gopro-hero8-black.mp4")
    found = read_telemetry(str(path))
    assert found.camera == "GoPro HERO8 Black"
    assert {*found.sensors} == {"gyro", "accel", "speed"}
    assert "11.6 degrees" in found.stabilised


MAGIC = b"8db42d694ccc418790edff439fe026bf"


def insta360_video(tmp_path, *records: tuple[int, int, bytes]):
    """Return a video with records of an Insta360 (number, format, content) at its end."""
    frames = [grey_frame(np.zeros((48, 64), np.uint8))] * 3
    path = write_video(tmp_path / "VID.mp4", frames)
    body = b"".join(
        content + struct.pack("<BBI", kind, number, len(content))
        for number, kind, content in records
    )
    tail = bytes(32) + struct.pack("<II", len(body) + 72, 3) + MAGIC
    path.write_bytes(path.read_bytes() + body + tail)
    return path


def test_an_insta360_is_read_by_the_library(tmp_path):
    """Protocol Buffers: camera_type 2, is_flowstate_online 42; samples of ms, force, rate."""
    pytest.importorskip("telemetry_parser", reason="the extra [telemetry] is not installed")
    told = b"\x12\x0bInsta360 GO" + b"\xd0\x02\x01"
    samples = b"".join(struct.pack("<Q6d", 2 * k, 0, 0, 1, 0.5, 0, 0.25) for k in range(100))
    found = read_telemetry(str(insta360_video(tmp_path, (3, 0, samples), (1, 1, told))))
    assert found.camera == "Insta360 GO"
    assert "FlowState" in found.stabilised
    np.testing.assert_allclose(found.sensors["gyro"].times_s, 0.002 * np.arange(100))
    for sensor, size in (("gyro", np.hypot(0.5, 0.25)), ("accel", 9.80665)):
        sizes = np.linalg.norm(found.sensors[sensor].values, axis=1)
        np.testing.assert_allclose(sizes, size)


def test_damage_leaves_nothing_to_the_library(tmp_path):
    pytest.importorskip("telemetry_parser", reason="the extra [telemetry] is not installed")
    assert read_telemetry(str(insta360_video(tmp_path, (3, 0, b"\xff" * 50)))) is None


# DJI has published no format to write: the library's return value is used instead.
ROWS = [{"timestamp_ms": 2.0 * k, "gyro": [180.0, 0.0, 0.0], "accl": [0, 0, 9.8]} for k in range(9)]
# Turning at 90 degrees/s about the first axis.
TURNS = [
    {"t": 20.0 * k, "v": {"w": np.cos(a), "x": np.sin(a), "y": 0.0, "z": 0.0}}
    for k in range(50)
    for a in [np.pi / 4 * 0.02 * k]
]


@pytest.fixture
def standing_in(tmp_path, monkeypatch):
    """Return a function that reads a video with a stand-in for the library."""
    path = insta360_video(tmp_path)

    def read(rows, tables):
        class Parser:
            camera, model = "DJI", "Action"

            def __init__(self, _path):
                pass

            def telemetry(self, **_options):
                return tables

            def normalized_imu(self):
                return rows

        module = ModuleType("telemetry_parser")
        module.Parser = Parser
        module.__spec__ = sys.modules["json"].__spec__  # as installed, whatever the version
        monkeypatch.setitem(sys.modules, "telemetry_parser", module)
        return read_telemetry(str(path))

    return read


def test_sensors_of_another_rate_are_left_out(standing_in):
    """The library lists their n-th sample beside the n-th of the gyroscope."""
    rows = ROWS + [row | {"accl": None} for row in ROWS]
    assert {*standing_in(ROWS, []).sensors} == {"gyro", "accel"}
    assert {*standing_in(rows, []).sensors} == {"gyro"}


def test_attitudes_become_rates(standing_in):
    told = {"clip": {"eis_status": {"status": 2}}}
    found = standing_in([], [{"Quaternion": {"Data": TURNS}, **told}])
    gyro = found.sensors["gyro"]
    np.testing.assert_allclose(gyro.values, [[np.pi / 2, 0.0, 0.0]] * 49, atol=1e-9)
    assert gyro.times_s[0] == pytest.approx(0.01)
    assert "EIS" in found.stabilised


def test_a_missing_library_is_told(standing_in, monkeypatch):
    monkeypatch.setattr("syncaudit.readers.telemetry.find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'syncaudit\[telemetry\]'"):
        standing_in([], [])
