"""Stamps alone: truth is synthetic with fixed seeds, real recordings where they lie beside."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from syncaudit.detectors.stamps.clock import fit_clock, lower_hull_line
from syncaudit.detectors.stamps.counter import resolution_ns, rounding_s
from syncaudit.detectors.stamps.grid import number_samples, rough_period
from syncaudit.detectors.stamps.steps import find_level_steps
from syncaudit.detectors.stamps.streams import audit_stamps, audit_stream
from syncaudit.dsp.sound import robust_line
from syncaudit.model import (
    Channel,
    EventStream,
    SignalStream,
    SourceKind,
    TranscriptStream,
)
from testkit.places import real_recording
from testkit.streams import camera_stream, signal_stream, sound_stream

EPOCH = 1_767_225_600_000_000_000


def nanos(seconds):
    return EPOCH + np.rint(np.asarray(seconds) * 1e9).astype(np.int64)


def ticks(n, rate_hz, *, jitter_s=0.0, delay_s=0.0, seed=0):
    rng = np.random.default_rng(seed)
    out = 0.0123456 + np.arange(n) / rate_hz
    out = out + jitter_s * rng.standard_normal(n)
    return out + (rng.exponential(delay_s, n) if delay_s else 0.0)


# --- patterns -----------------------------------------------------------------------------------


def test_the_same_pattern_at_another_time_is_audited_alike():
    stamps = nanos(ticks(240, 12.0, jitter_s=1e-4))
    late = audit_stamps(stamps + 20_000_000_000, pts_s=ticks(240, 12.0))
    assert late == audit_stamps(stamps, pts_s=ticks(240, 12.0))


def test_steps_have_their_own_place_in_time_whatever_was_audited_before():
    seconds = ticks(240, 12.0, jitter_s=1e-4)
    seconds[100:] += 0.03
    first, second = (audit_stamps(nanos(seconds) + later) for later in (0, 20_000_000_000))
    assert second.steps[0][0] - first.steps[0][0] == 20_000_000_000
    assert str(second.steps[0][0]) in " ".join(second.warnings)


def test_the_container_is_part_of_the_pattern():
    stamps = nanos(ticks(240, 12.0, jitter_s=1e-4))
    assert audit_stamps(stamps, n_expected=240).remarks == ()
    assert audit_stamps(stamps, n_expected=239).remarks != ()
    assert audit_stamps(stamps, pts_s=ticks(240, 30.0)).remarks != ()


# --- counts -------------------------------------------------------------------------------------


def test_regular_stamps_have_rate_and_jitter_only():
    audit = audit_stamps(nanos(ticks(600, 30.0007, jitter_s=3e-4)))
    assert audit.samples == 600
    assert audit.rate_hz == pytest.approx(30.0007, abs=1e-3)
    assert audit.jitter_s == pytest.approx(3e-4, abs=4e-5)
    assert audit.clock_fit == "least_squares"
    assert audit.buffering_s is None
    assert (audit.gaps, audit.missing, audit.doubled, audit.duplicates, audit.backwards) == (0,) * 5
    assert audit.steps == ()
    assert audit.warnings == ()
    assert not audit.is_synthetic


def test_dropped_frames_are_counted_in_gaps():
    stamps = nanos(np.delete(ticks(600, 30.0007, jitter_s=3e-4), [100, 250, 251, 252, 400]))
    audit = audit_stamps(stamps)
    assert (audit.gaps, audit.missing) == (3, 5)
    assert audit.steps == ()
    assert audit.max_gap_s == pytest.approx(4 / 30.0, abs=2e-3)
    assert any("5 samples missing in 3 gaps" in text for text in audit.warnings)


def test_one_in_five_dropped_still_finds_the_rate():
    rng = np.random.default_rng(1)
    kept = rng.random(600) > 0.2
    kept[[0, -1]] = True
    audit = audit_stamps(nanos(ticks(600, 30.0, jitter_s=3e-4)[kept]))
    assert audit.missing == np.count_nonzero(~kept)
    assert audit.rate_hz == pytest.approx(30.0, abs=0.01)


def test_one_late_stamp_is_jitter_and_no_gap():
    times = ticks(300, 30.0, jitter_s=1e-4)
    times[150] += 0.028
    audit = audit_stamps(nanos(times))
    assert (audit.gaps, audit.missing, audit.doubled, audit.steps) == (0, 0, 0, ())
    assert audit.jitter_max_s == pytest.approx(0.028, abs=1e-3)


def test_swapped_stamps_step_back_once_and_lose_nothing():
    times = ticks(300, 30.0, jitter_s=1e-4)
    times[[50, 51]] = times[[51, 50]]
    audit = audit_stamps(nanos(times))
    assert (audit.backwards, audit.missing, audit.doubled, audit.steps) == (1, 0, 0, ())


def test_inserted_duplicate_is_doubled():
    times = ticks(300, 30.0, jitter_s=1e-4)
    audit = audit_stamps(nanos(np.insert(times, 100, times[100])))
    assert (audit.duplicates, audit.doubled, audit.missing) == (1, 1, 0)


def test_overwritten_stamp_is_duplicate_but_not_doubled():
    times = ticks(300, 30.0, jitter_s=1e-4)
    times[100] = times[99]
    audit = audit_stamps(nanos(times))
    assert (audit.duplicates, audit.doubled, audit.missing) == (1, 0, 0)


def test_unset_stamp_spoils_only_itself():
    stamps = nanos(ticks(300, 30.0, jitter_s=1e-4))
    stamps[200] = 0
    audit = audit_stamps(stamps)
    assert (audit.backwards, audit.missing, audit.gaps, audit.steps) == (1, 0, 0, ())
    assert audit.jitter_s == pytest.approx(1e-4, abs=2e-5)
    assert any("never set" in text for text in audit.warnings)


def test_container_with_other_count_is_told():
    stamps = nanos(ticks(100, 30.0, jitter_s=1e-4))
    fewer = audit_stamps(stamps, n_expected=103)
    assert "3 fewer timestamps than frames" in fewer.warnings[0]
    more = audit_stamps(stamps, n_expected=99)
    assert "1 more timestamps than frames" in more.warnings[0]
    assert audit_stamps(stamps, n_expected=100).warnings == ()


def test_container_playing_at_another_rate_is_told():
    stamps = nanos(ticks(300, 12.0, jitter_s=1e-4))
    assert any("25" in w for w in audit_stamps(stamps, pts_s=np.arange(300) / 25.0).warnings)
    assert audit_stamps(stamps, pts_s=np.arange(300) / 12.0).warnings == ()
    assert audit_stamps(stamps, pts_s=np.array([0.0])).warnings == ()


# --- odd input ----------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [0, 1, 2])
def test_few_stamps_have_no_rate(n):
    audit = audit_stamps(nanos(ticks(n, 30.0)))
    assert audit.samples == n
    assert audit.rate_hz is None
    assert audit.jitter_s is None


def test_constant_stamps_are_duplicates_without_rate():
    audit = audit_stamps(np.full(50, EPOCH))
    assert audit.duplicates == 49
    assert audit.rate_hz is None
    assert any("never move forward" in text for text in audit.warnings)


@pytest.mark.parametrize(
    "values",
    [[-(2**63), 2**63 - 1], [-(2**63), 2**63 - 1, -(2**63), 0, 5], [2**63 - 1] * 4, [5, 4, 3, 2]],
)
def test_extreme_values_do_not_overflow(values):
    audit = audit_stamps(np.array(values, dtype=np.int64))
    assert audit.samples == len(values)
    assert audit.max_gap_s is not None
    assert np.isfinite(audit.max_gap_s)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=80))
def test_any_stamps_are_audited(values):
    audit = audit_stamps(np.array(values, dtype=np.int64))
    assert audit.samples == len(values)
    assert audit.duplicates + audit.backwards <= max(0, len(values) - 1)


@settings(max_examples=30, deadline=None)
@given(st.integers(-(10**18), 10**18), st.integers(0, 10_000))
def test_epoch_changes_nothing(shift_ns, seed):
    stamps = nanos(np.delete(ticks(200, 29.98, jitter_s=2e-4, seed=seed), [90, 91]))
    one, two = audit_stamps(stamps), audit_stamps(stamps + shift_ns)
    assert (one.missing, one.gaps, one.doubled) == (two.missing, two.gaps, two.doubled)
    assert one.rate_hz == pytest.approx(two.rate_hz, abs=1e-9)
    assert one.jitter_s == pytest.approx(two.jitter_s, abs=1e-12)


def test_floats_are_refused():
    with pytest.raises(TypeError, match="must be integer nanoseconds"):
        audit_stamps(np.array([0.0, 1.0]))


def test_tables_are_refused():
    with pytest.raises(ValueError, match="must have shape"):
        audit_stamps(np.zeros((3, 2), dtype=np.int64))


def test_million_stamps_take_about_a_second():
    stamps = nanos(ticks(1_000_000, 1000.0, jitter_s=1e-5))
    start = time.process_time()
    audit = audit_stamps(stamps)
    # Measured 0.5-0.7 s alone; the bound leaves room for a shared core.
    assert time.process_time() - start < 3.0
    assert audit.missing == 0


# --- irregular rates ----------------------------------------------------------------------------


def bunched(n=2487, seed=2):
    rng = np.random.default_rng(seed)
    return np.sort(np.arange(n) * 0.01206 + rng.uniform(0.0, 0.012, n))


def test_bunched_messages_have_their_true_rate_and_no_gaps():
    audit = audit_stamps(nanos(bunched()))
    assert audit.rate_hz == pytest.approx(1 / 0.01206, abs=0.02)
    assert (audit.gaps, audit.missing, audit.steps) == (0, 0, ())
    assert any("bunch" in text for text in audit.warnings)


@pytest.mark.parametrize("lost", [1, 40])
def test_lost_messages_among_bunched_ones_are_found(lost):
    audit = audit_stamps(nanos(np.delete(bunched(), np.arange(1200, 1200 + lost))))
    assert (audit.gaps, audit.missing, audit.steps) == (1, lost, ())


def test_bursts_have_the_mean_rate():
    k = np.arange(3000)
    audit = audit_stamps(nanos((k // 10) * 0.1 + (k % 10) * 1e-5))
    assert audit.rate_hz == pytest.approx(100.0, abs=0.1)
    assert audit.missing == 0


def test_variable_rate_is_said_and_not_judged():
    rng = np.random.default_rng(3)
    audit = audit_stamps(nanos(np.cumsum(rng.choice([1 / 30, 1 / 24, 0.05, 0.07], 900))))
    assert audit.jitter_s is None
    assert audit.missing == 0
    assert any("variable rate" in text for text in audit.warnings)


# --- steps --------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", [0.001, 0.002, 0.010, 0.05, 0.35, 1.37, -0.005, -0.05, -1.01])
def test_clock_step_is_measured_where_it_happens(step):
    times = ticks(600, 30.0007, jitter_s=3e-4, seed=3)
    times[300:] += step
    stamps = nanos(times)
    audit = audit_stamps(stamps)
    assert len(audit.steps) == 1
    at_ns, size = audit.steps[0]
    # 0.3 ms of jitter over 256 samples on either side: 0.03 ms; five of them.
    assert size == pytest.approx(step, abs=1.5e-4)
    assert abs(at_ns - int(stamps[300])) <= 2.1e9 / 30
    assert audit.missing == 0
    assert audit.rate_hz == pytest.approx(30.0007, abs=2e-3)


@pytest.mark.parametrize(("periods", "missing"), [(1, 1), (3, 3)])
def test_jump_of_whole_periods_is_missing_frames(periods, missing):
    times = ticks(600, 30.0, jitter_s=3e-4, seed=3)
    times[300:] += periods / 30.0
    audit = audit_stamps(nanos(times))
    assert (audit.steps, audit.missing) == ((), missing)


def noise_of(kind, rng, n):
    if kind == "gaussian":
        return rng.normal(0, 0.02, n)
    if kind == "wide":
        return rng.normal(0, 0.1, n)
    if kind == "exponential":
        return rng.exponential(0.1, n)
    if kind == "coloured":
        return np.convolve(rng.normal(0, 0.02, n + 20), np.ones(21) / 5, "valid")
    if kind == "wander":
        return np.cumsum(rng.normal(0, 1e-3, n))
    return 0.02 * rng.standard_t(2, n)


@pytest.mark.parametrize(
    "kind", ["gaussian", "wide", "exponential", "coloured", "wander", "heavy tails"]
)
def test_jitter_makes_no_steps_and_loses_no_samples(kind):
    alarms = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n = int(rng.choice([100, 240, 600, 2000]))
        rate = float(rng.choice([10.01, 29.98, 104.3]))
        audit = audit_stamps(nanos((np.arange(n) + noise_of(kind, rng, n)) / rate))
        alarms += bool(audit.steps or audit.missing or audit.doubled)
    assert alarms == 0


# --- clock and jitter ---------------------------------------------------------------------------


def ppm_errors(fit, make, n_cases=20):
    return np.array([1e6 * (fit(make(seed)) / 0.01 - 1.0) for seed in range(n_cases)])


def test_hull_beats_least_squares_for_one_sided_delays_and_is_chosen():
    n = 6000  # 60 s at 100 Hz, 4 ms exponential delays
    index = np.arange(n)

    def make(seed):
        return ticks(n, 100.0, delay_s=4e-3, seed=seed)

    assert all(fit_clock(index, make(s)).method == "hull" for s in range(20))
    hull = ppm_errors(lambda t: fit_clock(index, t).period_s, make)
    squares = ppm_errors(lambda t: robust_line(index.astype(float), t)[0], make)
    assert np.sqrt(np.mean(hull**2)) < 0.3
    assert np.sqrt(np.mean(squares**2)) > 1.0


def test_least_squares_is_chosen_for_symmetric_jitter_where_the_hull_is_worse():
    n = 6000
    index = np.arange(n)

    def make(seed):
        return ticks(n, 100.0, jitter_s=4e-3, seed=seed)

    def hull_period(times):
        return 0.01 + lower_hull_line(index.astype(float), times - 0.01 * index)[0]

    assert all(fit_clock(index, make(s)).method == "least_squares" for s in range(20))
    chosen = ppm_errors(lambda t: fit_clock(index, t).period_s, make)
    hull = ppm_errors(hull_period, make)
    assert np.sqrt(np.mean(hull**2)) > 2 * np.sqrt(np.mean(chosen**2))


def test_buffering_is_the_mean_delay_above_the_floor():
    audit = audit_stamps(nanos(ticks(2000, 30.0, delay_s=4e-3)))
    assert audit.clock_fit == "hull"
    assert audit.buffering_s == pytest.approx(4e-3, abs=4e-4)
    assert any("one-sided" in text for text in audit.warnings)


def test_hull_lies_below_all_points():
    rng = np.random.default_rng(0)
    x, y = np.arange(10_000.0), rng.exponential(1.0, 10_000)
    slope, level = lower_hull_line(x, y)
    assert np.min(y - slope * x - level) == pytest.approx(0.0, abs=1e-9)
    assert abs(slope) < 1e-6


def test_rounding_to_milliseconds_is_no_jitter():
    stamps = EPOCH + np.rint(1e3 * ticks(600, 29.973, jitter_s=2e-5)).astype(np.int64) * 10**6
    audit = audit_stamps(stamps)
    assert audit.jitter_s == 0.0
    assert any("rounded to 1 ms" in text for text in audit.warnings)


def test_jitter_above_the_rounding_is_reported():
    stamps = EPOCH + np.rint(1e3 * ticks(600, 29.973, jitter_s=3e-3)).astype(np.int64) * 10**6
    assert audit_stamps(stamps).jitter_s == pytest.approx(3e-3, abs=4e-4)


# --- made-up stamps -----------------------------------------------------------------------------


@pytest.mark.parametrize("rate", [10, 12, 15, 20, 24, 25, 29.97, 30000 / 1001, 30, 50, 60, 100])
@pytest.mark.parametrize("unit_ns", [1, 1_000, 1_000_000])
def test_index_over_rate_is_synthetic(rate, unit_ns):
    stamps = EPOCH + np.rint(np.arange(300) / rate * 1e9 / unit_ns).astype(np.int64) * unit_ns
    audit = audit_stamps(stamps)
    assert audit.is_synthetic
    assert any("made up" in text for text in audit.warnings)


def test_container_ticks_are_synthetic():
    stamps = EPOCH + np.rint(np.rint(np.arange(300) / 23.976 * 90_000) / 90_000 * 1e9).astype(int)
    assert audit_stamps(stamps).is_synthetic


@pytest.mark.parametrize("rate", [12, 25, 30, 100])
def test_hardware_trigger_off_by_parts_per_million_is_not_synthetic(rate):
    assert not audit_stamps(nanos(np.arange(300) / rate * (1 + 2e-6))).is_synthetic


def singles(seconds):
    """Return stamps that were float32 seconds before they became nanoseconds."""
    return np.rint(np.asarray(seconds).astype(np.float32).astype(np.float64) * 1e9).astype(np.int64)


@pytest.mark.parametrize("rate", [10.0, 15.0, 29.97, 30.0, 50.0, 100.0])
@pytest.mark.parametrize("start_s", [0.0, 12.0, 400.0])
def test_index_over_rate_in_float32_is_synthetic(rate, start_s):
    audit = audit_stamps(singles(start_s + np.arange(300) / rate))
    assert audit.is_synthetic
    assert audit.rate_hz == pytest.approx(rate, abs=1e-4 * rate)


def test_captured_stamps_in_float32_are_not_synthetic():
    # 0.1 ms of jitter is more than ten steps of float32 at 100 s (7.6 us).
    for seed in range(20):
        times = 80.0 + ticks(300, 30.0, jitter_s=1e-4, seed=seed)
        assert not audit_stamps(singles(times)).is_synthetic


def test_a_trigger_off_by_parts_per_million_in_float32_is_not_synthetic():
    # 5 ppm over 30 s are 150 us, against steps of 1.9 us.
    assert not audit_stamps(singles(np.arange(900) / 30.0 * (1 + 5e-6))).is_synthetic


def test_odd_rate_is_not_synthetic():
    assert not audit_stamps(nanos(np.arange(300) / 28.1234)).is_synthetic


def test_tiny_jitter_is_not_synthetic():
    assert not audit_stamps(nanos(ticks(300, 30.0, jitter_s=1e-6))).is_synthetic


# --- streams ------------------------------------------------------------------------------------


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


def test_events_and_transcripts_have_order_only():
    stamps = nanos([0.0, 1.0, 0.5, 0.5, 9.0])
    events = EventStream(name="t", clock="t", kind=SourceKind.EVENTS, time_ns=stamps)
    audit = audit_stream(events)
    assert (audit.backwards, audit.duplicates, audit.rate_hz) == (1, 1, None)
    words = TranscriptStream(
        name="w",
        clock="w",
        kind=SourceKind.TRANSCRIPT,
        time_ns=np.zeros(0, dtype=np.int64),
        audio="mic",
    )
    assert audit_stream(words).samples == 0


# --- real recordings ----------------------------------------------------------------------------


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
    assert all("not in ns" in remark.text for remark in defects)


def test_short_one_sided_delays_are_not_worth_a_word() -> None:
    rng = np.random.default_rng(4)
    for mean_s, is_told in ((1e-4, False), (2e-3, True)):
        delay = rng.exponential(mean_s, 2000)
        stamps = np.rint((np.arange(2000) * 0.02 + delay) * 1e9).astype(np.int64)
        audit = audit_stamps(stamps)
        assert audit.buffering_s == pytest.approx(mean_s, rel=0.1)
        assert any("one-sided" in text for text in audit.warnings) == is_told


def test_step_back_is_not_counted_as_a_surplus_sample_too() -> None:
    stamps = np.arange(240) * 83_333_333
    stamps[120:] -= 60_000_000
    audit = audit_stamps(stamps)
    assert [round(size, 3) for _, size in audit.steps] == [-0.06]
    assert audit.doubled == 0


@given(st.lists(st.integers(9_170, 10_000), min_size=1, max_size=80))
def test_alike_intervals_have_the_period_of_the_long_way(lengths: list[int]) -> None:
    steps_s = np.array(lengths) * 1e-5
    grid = number_samples(steps_s)
    assert grid is not None
    assert (grid.period_s, grid.is_bunched) == rough_period(steps_s)
    assert not np.any(grid.extra)


@given(st.lists(st.integers(0, 30), min_size=2, max_size=60), st.sampled_from([1, 10, 1000]))
def test_resolution_divides_every_interval(steps: list[int], unit: int) -> None:
    stamps = np.cumsum(np.array(steps) * unit)
    common = int(np.gcd.reduce(np.diff(stamps)))
    tick = resolution_ns(stamps)
    assert common % tick == 0
    assert not common or tick == 10**8 or common % (10 * tick)


@pytest.mark.parametrize(
    ("steps_ms", "tick_ms"),
    [([10, 10, 10], 0), ([10, 20, 10], 0), ([0, 10, 30], 0), ([10, 11, 10], 1), ([10, 15, 0], 1)],
)
def test_whole_periods_are_no_rounding(steps_ms: list[int], tick_ms: int) -> None:
    assert rounding_s(1_000_000, np.array(steps_ms) * 1e-3) == pytest.approx(tick_ms * 1e-3)


@pytest.mark.parametrize(("jump_ms", "n_found"), [(2.0, 1), (1.3, 0), (0.5, 0)])
def test_step_above_the_least_size_is_found(jump_ms: float, n_found: int) -> None:
    times = np.arange(240) / 12.0 + np.random.default_rng(4).normal(0.0, 5e-5, 240)
    times[120:] += jump_ms * 1e-3
    found = find_level_steps(np.arange(240), times, min_size_s=1.6e-3)
    assert len(found) == n_found
