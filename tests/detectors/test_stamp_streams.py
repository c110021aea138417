"""Timestamps of streams of every kind, including real ones, are audited."""

import numpy as np
import pytest

from syncaudit.detectors.stamps.streams import audit_stamps, audit_stream
from syncaudit.model import Channel, EventStream, SignalStream, SourceKind
from testkit.places import real_recording
from testkit.stamp_series import EPOCH, nanos, ticks
from testkit.streams import camera_stream, signal_stream, sound_stream, transcript_stream


def bus(*channels):
    every = np.sort(np.concatenate([c.time_ns for c in channels]))
    return signal_stream(SourceKind.CAN, every, channels=channels)


def channel(name, stamps):
    return Channel(name=name, time_ns=stamps, values=np.zeros((stamps.size, 1)))


def test_camera_is_held_against_its_container():
    stream = camera_stream(
        nanos(ticks(100, 12.0, jitter_s=1e-4)), video="a.mp4", n_frames_container=101
    )
    assert "1 fewer timestamps than frames" in audit_stream(stream).warnings[0]


def test_bus_is_audited_message_by_message():
    fast = nanos(np.delete(ticks(1000, 100.0, jitter_s=2e-4), [500, 501]))
    slow = nanos(np.delete(ticks(200, 20.0, jitter_s=1e-3, seed=1), [77]))
    audit = audit_stream(bus(channel("yaw_rate", fast), channel("speed", slow)))
    assert audit.samples == fast.size + slow.size
    assert audit.rate_hz == pytest.approx(100.0, abs=0.1)
    assert audit.missing == 3
    assert audit.gaps == 2
    assert audit.jitter_s == pytest.approx(1e-3, abs=2e-4)
    assert any(text.startswith("speed: ") for text in audit.warnings)


def test_gap_of_a_bus_is_that_of_the_message_that_loses_most():
    fast = nanos(np.delete(ticks(3000, 100.0), slice(500, 580)))
    slow = nanos(ticks(30, 1.0))
    audit = audit_stream(bus(channel("yaw_rate", fast), channel("odometer", slow)))
    assert audit.max_gap_s == pytest.approx(0.81)
    assert audit.lost_s == pytest.approx(0.80)


def test_signals_of_one_message_count_once():
    stamps = nanos(np.delete(ticks(500, 50.0, jitter_s=2e-4), [250]))
    assert audit_stream(bus(channel("speed", stamps), channel("brake", stamps))).missing == 1


def test_imu_is_audited_as_one():
    stream = signal_stream(SourceKind.IMU, nanos(ticks(500, 104.3, jitter_s=2e-5)))
    assert audit_stream(stream).rate_hz == pytest.approx(104.3, abs=0.01)


def audio(stamps, anchors, n=480_000):
    return sound_stream(np.zeros(n), 48_000.0, time_ns=stamps, anchor_samples=anchors)


def test_sound_without_table_has_the_rate_of_its_header():
    audit = audit_stream(audio(np.array([EPOCH]), np.array([0])))
    assert (audit.samples, audit.rate_hz, audit.jitter_s) == (480_000, 48_000.0, None)


def test_sound_with_table_shows_drift_and_step():
    anchors = np.arange(0, 480_000, 960)
    times = anchors / 48_000 * (1 + 50e-6) + np.random.default_rng(0).normal(0, 1e-4, anchors.size)
    audit = audit_stream(audio(nanos(times), anchors))
    assert audit.rate_hz == pytest.approx(48_000 / (1 + 50e-6), abs=0.3)
    assert audit.steps == ()
    times[250:] += 0.02
    stepped = audit_stream(audio(nanos(times), anchors))
    assert stepped.steps[0][1] == pytest.approx(0.02, abs=1e-4)


def test_sound_whose_table_lists_a_sample_twice_keeps_the_rate_of_its_header():
    anchors = np.arange(0, 48_000, 960)
    anchors[7] = anchors[6]
    audit = audit_stream(audio(nanos(np.arange(50) / 50.0), anchors))
    assert (audit.rate_hz, audit.samples) == (48_000.0, 480_000)
    assert "the timestamp table lists a sample more than once" in audit.warnings


def test_sound_whose_stamps_stand_still_has_no_rate():
    anchors = np.arange(0, 48_000, 960)
    audit = audit_stream(audio(nanos(np.zeros(50)), anchors))
    assert audit.rate_hz is None
    assert "the timestamps do not advance with the sample count" in audit.warnings


def test_events_and_transcripts_have_order_only():
    stamps = nanos([0.0, 1.0, 0.5, 0.5, 9.0])
    events = EventStream(name="t", clock="t", kind=SourceKind.EVENTS, time_ns=stamps)
    audit = audit_stream(events)
    assert (audit.backwards, audit.duplicates, audit.rate_hz) == (1, 1, None)
    assert audit_stream(transcript_stream()).samples == 0


def real(name):
    path = real_recording(name)
    header = path.read_text().partition("\n")[0].split(",")
    column = header.index("timestamp_ns")
    return np.loadtxt(path, delimiter=",", skiprows=1, usecols=column, dtype=np.int64)


@pytest.mark.realdata
def test_real_can_stamps_bunch_around_their_period():
    audit = audit_stamps(real("drive_can_imu/speed.csv"))
    assert audit.rate_hz == pytest.approx(82.9, abs=0.1)
    assert (audit.missing, audit.steps) == (0, ())


@pytest.mark.realdata
def test_real_gyro_gap_is_96_samples():
    audit = audit_stamps(real("phone_gyro/imu_72s.csv"))
    assert (audit.gaps, audit.missing, audit.steps) == (1, 96, ())


@pytest.mark.realdata
@pytest.mark.parametrize(
    "name",
    ["phone_gyro/frames.csv", "two_imus/mcu.csv", "two_imus/phone.csv", "drive_can_imu/imu.csv"],
)
def test_real_clean_stamps_are_clean(name):
    audit = audit_stamps(real(name))
    assert (audit.gaps, audit.missing, audit.steps, audit.is_synthetic) == (0, 0, (), False)


# Units


@pytest.mark.parametrize(
    ("kind", "rate_hz", "unit_ns", "is_wrong"),
    [
        (SourceKind.IMU, 100.0, 1, False),
        (SourceKind.IMU, 100.0, 1_000, True),
        (SourceKind.IMU, 100.0, 1_000_000, True),
        (SourceKind.IMU, 4000.0, 1, False),
    ],
)
def test_stamps_in_another_unit_are_a_defect(
    kind: SourceKind, rate_hz: float, unit_ns: int, is_wrong: bool
) -> None:
    jitter = np.random.default_rng(3).normal(0.0, 2e-5, 500)
    stamps = np.rint((np.arange(500) / rate_hz + jitter) * 1e9).astype(np.int64) // unit_ns
    stream = SignalStream(name="imu", clock="imu", kind=kind, time_ns=np.sort(stamps))
    defects = [remark for remark in audit_stream(stream).remarks if remark.is_defect]
    assert bool(defects) == is_wrong
    unit = {1_000: '"us"', 1_000_000: '"ms"'}.get(unit_ns, "")
    assert all(f'"units": {{"stamps": {unit}}}' in remark.text for remark in defects)
