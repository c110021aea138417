"""IMU, CAN and microphone measure the same drive."""

from pathlib import Path

import cantools
import numpy as np
import pytest

from syncaudit.simulate.can_bus import CanConfig, bunch, sample_signals, write_log
from syncaudit.simulate.clocks import ClockFault
from syncaudit.simulate.driving import simulate_motion
from syncaudit.simulate.imu import ImuConfig, measure_imu
from syncaudit.simulate.microphone import MicrophoneConfig, record

START_NS = 1_767_225_600_000_000_000
NO_PULSES = np.empty(0)


def test_resting_imu_reads_gravity_on_z() -> None:
    motion = simulate_motion("parked", 5.0, np.random.default_rng(1))
    reading = measure_imu(motion, np.arange(0, 5, 0.005), ImuConfig(), np.random.default_rng(2))
    np.testing.assert_allclose(
        reading.mean(axis=0), [0, 0, 0, 0, 0, 9.81], rtol=0, atol=0.4
    )  # scale 0.5 % and bias 0.05 m/s^2, three sigma and more


def test_perfect_imu_reads_the_truth() -> None:
    motion = simulate_motion("city", 3.0, np.random.default_rng(3))
    perfect = ImuConfig(
        gyro_noise_rad_s=0,
        accel_noise_mps2=0,
        gyro_bias_rad_s=0,
        accel_bias_mps2=0,
        gyro_walk_rad_s=0,
        accel_walk_mps2=0,
        misalignment=0,
        gyro_step_rad_s=0,
        accel_step_mps2=0,
    )
    times = np.arange(0, 3, 0.005)
    reading = measure_imu(motion, times, perfect, np.random.default_rng(4))
    np.testing.assert_allclose(reading[:, :3], motion.angular_rate(times), rtol=0, atol=1e-12)
    np.testing.assert_allclose(reading[:, 3:], motion.specific_force(times), rtol=0, atol=1e-9)


def test_imu_can_hold_nan() -> None:
    motion = simulate_motion("parked", 1.0, np.random.default_rng(1))
    reading = measure_imu(
        motion, np.arange(0, 1, 0.01), ImuConfig(n_nan=7), np.random.default_rng(2)
    )
    assert np.isnan(reading).all(axis=1).sum() == 7


def test_yaw_rate_matches_and_steering_leads() -> None:
    motion = simulate_motion("city", 20.0, np.random.default_rng(6))
    times = np.arange(0, 20, 0.01)
    values = sample_signals(motion, times, NO_PULSES, np.random.default_rng(7))
    truth = np.degrees(motion.angular_rate(times)[:, 2])
    np.testing.assert_allclose(values["yaw_rate"], truth, rtol=0, atol=0.5)
    turning = values["steering_angle"] * values["speed"]
    scores = [
        np.corrcoef(turning[100 - k : 1900 - k], truth[100:1900])[0, 1] for k in range(-20, 21)
    ]
    lead_s = 0.01 * (int(np.argmax(scores)) - 20)
    assert 0.03 <= lead_s <= 0.07


def test_log_unpacks_to_the_signals_with_its_dbc(tmp_path: Path) -> None:
    motion = simulate_motion("city", 2.0, np.random.default_rng(8))
    pulses = np.array([0.5, 1.25])
    config = CanConfig(format="log", clock=ClockFault(offset_s=-0.08))
    n_frames = write_log(motion, config, 2.0, pulses, START_NS, tmp_path, np.random.default_rng(9))
    database = cantools.database.load_file(tmp_path / "vehicle.dbc")
    assert isinstance(database, cantools.database.Database)
    lines = (tmp_path / "can.log").read_text().splitlines()
    assert len(lines) == n_frames
    speeds, counts = [], []
    for line in lines:
        stamp, _, frame = line.split()
        frame_id, payload = frame.split("#")
        message = database.get_message_by_frame_id(int(frame_id, 16))
        values = message.decode_simple(bytes.fromhex(payload), decode_choices=False)
        seconds, microseconds = stamp.strip("()").split(".")
        time_s = int(seconds) - START_NS // 10**9 + int(microseconds) * 1e-6
        if "Speed" in values:
            speeds.append((time_s, float(str(values["Speed"]))))
        if "StrobeCount" in values:
            counts.append((time_s, int(str(values["StrobeCount"]))))
    times, speed = np.array(speeds).T
    # 0.08 km/h of noise and rounding; the timestamps are 80 ms too late
    np.testing.assert_allclose(speed / 3.6, motion.speed(times - 0.08), rtol=0, atol=0.15)
    first_seen = [min(t for t, count in counts if count >= k) for k in (1, 2)]
    np.testing.assert_allclose(np.array(first_seen) - 0.08, pulses, rtol=0, atol=0.002)


def test_bunched_stamps_leave_on_a_grid_in_order() -> None:
    stamps = np.array([1_000, 2_000, 900_000, 1_100_000], dtype=np.int64)
    assert bunch(stamps, 1e-3).tolist() == [1_000_000, 1_020_000, 1_040_000, 2_000_000]
    assert bunch(stamps, 0.0) is stamps


def test_bumps_knock_when_the_accelerometer_spikes() -> None:
    motion = simulate_motion("city", 20.0, np.random.default_rng(10))
    config = MicrophoneConfig(noise_level=0.0)
    sound = record(motion, config, 20.0, NO_PULSES, np.random.default_rng(11))
    inside = motion.bump_times_s[(motion.bump_times_s > 0.5) & (motion.bump_times_s < 19.0)]
    assert inside.size >= 3
    for time_s in inside:
        first = round(time_s * config.rate_hz)
        assert np.abs(sound[first : first + 100].astype(int)).max() > 3000
        near = np.arange(time_s, time_s + 0.08, 0.002)
        assert np.abs(motion.specific_force(near)[:, 2] - 9.81).max() > 2.0


def test_clicks_follow_light_pulses() -> None:
    motion = simulate_motion("parked", 2.0, np.random.default_rng(1))
    config = MicrophoneConfig(noise_level=0.0, click_level=0.5)
    sound = record(motion, config, 2.0, np.array([0.75]), np.random.default_rng(2))
    assert np.flatnonzero(sound)[0] == pytest.approx(0.75 * config.rate_hz, abs=2)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ImuConfig(rate_hz=1.0), "rate_hz"),
        (lambda: CanConfig(format="xml"), "format is 'xml'"),
        (lambda: CanConfig(csv_period_s=5.0), "csv_period_s"),
        (lambda: CanConfig(bunch_s=-1.0), "must not be negative"),
        (lambda: MicrophoneConfig(rate_hz=100), "rate_hz"),
        (
            lambda: MicrophoneConfig(clock=ClockFault(jitter_std_s=0.1)),
            "an offset and a drift only",
        ),
    ],
)
def test_impossible_devices_are_refused(make: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make()  # type: ignore[operator]  # a constructor call
