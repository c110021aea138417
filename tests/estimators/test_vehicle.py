"""CAN against IMU on synthetic drives with closed-form truth, fixed seeds."""

from dataclasses import replace

import numpy as np
import pytest

from syncaudit.estimators import vehicle
from syncaudit.estimators.delay import clock_step
from syncaudit.estimators.delay.fit import fit_delay
from syncaudit.estimators.vehicle import CONTROL_UNIT_STD_S, measure_can_imu
from syncaudit.model import Quantity
from testkit.moving_body import EPOCH_NS, Clock, Drive
from testkit.streams import activity

# 40 s of road with 2 mrad/s of noise give yaw to 0.5 ms; five times that.
YAW_TOL_S = 2.5e-3
# Steering, wheels and brake are compared with a baseline to within a few milliseconds.
BASELINE_TOL_S = 4e-3
REACH_S = 0.5
LATE = Clock(late_s=0.03)
METHODS = {
    Quantity.YAW_RATE: "yaw_rate",
    Quantity.LATERAL_ACCEL: "lateral_accel",
    Quantity.LONG_ACCEL: "long_accel",
    Quantity.SPEED: "speed",
    Quantity.WHEEL_SPEED: "wheel_speed",
    Quantity.STEERING_ANGLE: "steering",
    Quantity.BRAKE: "brake",
}


def measured(quantity, seed, *, imu=None, others=(), **can):
    drive = Drive.on_road(seed)
    signals = {quantity: drive.can(quantity, seed, **({"clock": LATE} | can))}
    signals |= {other: drive.can(other, seed + 1, clock=LATE) for other in others}
    found = measure_can_imu(signals, drive.imu(seed, **(imu or {})), max_offset_s=REACH_S)
    return next(one for one in found if one.method == METHODS[quantity])


@pytest.mark.parametrize(
    "quantity", [Quantity.YAW_RATE, Quantity.LATERAL_ACCEL, Quantity.LONG_ACCEL]
)
def test_late_bus_gets_negative_offset(quantity):
    found = measured(quantity, 1)
    assert found.accepted
    assert not found.is_baseline_only
    assert (found.source, found.target) == ("can", "imu")
    assert abs(found.offset_s - -0.03) < YAW_TOL_S


def test_late_imu_gets_positive_offset():
    found = measured(Quantity.YAW_RATE, 2, clock=Clock(), imu={"clock": LATE})
    assert abs(found.offset_s - 0.03) < YAW_TOL_S


@pytest.mark.parametrize("unit", [1.0, 180.0 / np.pi, -1.0, -180.0 / np.pi])
def test_sign_and_unit_of_yaw_rate_do_not_matter(unit):
    found = measured(Quantity.YAW_RATE, 3, unit=unit)
    assert found.accepted
    assert abs(found.offset_s - -0.03) < YAW_TOL_S


def test_yaw_rate_of_wrong_size_is_refused():
    found = measured(Quantity.YAW_RATE, 3, unit=5.0)
    assert not found.accepted
    assert "gain 5" in found.why
    assert "expected 1 or 57.3" in found.why


@pytest.mark.parametrize("quantity", [Quantity.LATERAL_ACCEL, Quantity.LONG_ACCEL])
@pytest.mark.parametrize("size", [1.0 / 9.80665, 0.0513])
def test_acceleration_of_no_stated_unit_is_in_si(quantity, size):
    """A chance match finds a tenth of the true gain: what looks like g may be nothing at all."""
    found = measured(quantity, 4, unit=size)
    assert not found.accepted
    assert "of the expected 1:" in found.why
    assert "its unit is not stated and is assumed to be m/s^2: state it in the DBC" in found.why


@pytest.mark.parametrize("quantity", [Quantity.YAW_RATE, Quantity.LATERAL_ACCEL, Quantity.SPEED])
def test_stated_unit_leaves_one_range_of_gains(quantity):
    drive = Drive.on_road(4)
    stated = replace(drive.can(quantity, 4), is_si=True)
    for size, is_accepted in ((1.0, True), (1.0 / 9.80665, False), (3.6, False), (57.3, False)):
        signals = {quantity: replace(stated, values=size * stated.values)}
        (found,) = measure_can_imu(signals, drive.imu(4), max_offset_s=REACH_S)
        assert found.accepted is is_accepted
        assert is_accepted or "of the expected 1:" in found.why
        assert is_accepted or "not stated" not in found.why


def test_error_that_grows_beyond_use_is_a_refusal(monkeypatch):
    """Increments of other widths give delays 0.4 s apart: the bus applies another filter."""

    def apart(*args, start_s, **more):
        fit = fit_delay(*args, start_s=start_s, **more)
        return replace(fit, offset_s=start_s + 0.4)

    monkeypatch.setattr(vehicle, "fit_delay", apart)
    found = measured(Quantity.LATERAL_ACCEL, 4)
    assert not found.accepted
    assert found.why == "standard error 400 ms is too large to be useful; allowed 50 ms"
    assert found.diagnostics["offset_std_s"] == pytest.approx(0.4, abs=1e-3)


@pytest.mark.parametrize("quantity", [Quantity.SPEED, Quantity.WHEEL_SPEED])
@pytest.mark.parametrize("unit", [1.0, 3.6, 1.0 / 0.44704])
def test_speeds_show_in_the_forward_force(quantity, unit):
    found = measured(quantity, 5, unit=unit)
    assert found.accepted
    assert abs(found.offset_s - -0.03) < BASELINE_TOL_S


@pytest.mark.parametrize(
    "quantity",
    [Quantity.SPEED, Quantity.WHEEL_SPEED, Quantity.STEERING_ANGLE, Quantity.BRAKE],
)
def test_what_the_vehicle_delays_is_for_a_baseline_only(quantity):
    found = measured(quantity, 6, lag_s=0.05)
    assert found.is_baseline_only


def test_steering_lag_of_the_vehicle_is_measured():
    found = measured(Quantity.STEERING_ANGLE, 7, lag_s=0.05, others=(Quantity.SPEED,))
    assert found.accepted
    assert abs(found.offset_s - (-0.03 - 0.05)) < BASELINE_TOL_S


def test_steering_without_speed_is_measured_all_the_same():
    found = measured(Quantity.STEERING_ANGLE, 7)
    assert found.is_baseline_only
    assert abs(found.offset_s - -0.03) < 0.02  # speed changes by a fifth: the fit is rougher


def test_gravity_tells_the_yaw_axis():
    """Roll that follows the turn 80 ms late must not bias it: free axes give tens of ms."""
    drive = Drive.on_road(8)
    yaw = {Quantity.YAW_RATE: drive.can(Quantity.YAW_RATE, 8, clock=LATE, noise=0.02)}
    imu = drive.imu(8)
    found = measure_can_imu(yaw, imu, max_offset_s=REACH_S)[0]
    assert found.accepted
    assert abs(found.offset_s - -0.03) < 2.0 * YAW_TOL_S


@pytest.mark.parametrize("is_weightless", [False, True])
def test_without_gravity_all_axes_are_used(is_weightless):
    drive = Drive.on_road(9)
    imu = drive.imu(9)
    force = imu.pop(Quantity.SPECIFIC_FORCE)
    if is_weightless:
        imu[Quantity.SPECIFIC_FORCE] = activity(
            "imu",
            Quantity.SPECIFIC_FORCE,
            force.times_s,
            np.zeros_like(force.values),
            epoch_ns=EPOCH_NS,
        )
    yaw = {Quantity.YAW_RATE: drive.can(Quantity.YAW_RATE, 9, clock=LATE)}
    found = measure_can_imu(yaw, imu, max_offset_s=REACH_S)[0]
    assert found.accepted
    assert abs(found.offset_s - -0.03) < 0.01


@pytest.mark.parametrize("step_deg", [0.01, 0.1, 0.5])
def test_quantised_yaw_rate(step_deg):
    found = measured(Quantity.YAW_RATE, 10, step=np.radians(step_deg), noise=0.0)
    assert found.accepted
    assert abs(found.offset_s - -0.03) < YAW_TOL_S


def test_bunched_stamps_of_a_usb_adapter():
    """Messages of 20 ms are delivered every 60 ms: receive timestamps are late by at least 20 ms.

    The offset is that of the timestamps as given; the error must include the bunching.
    """
    late_s = []

    def handed_over(reads):
        bunch = np.floor(reads / 0.06) + 1.0
        within = np.arange(reads.size) - np.searchsorted(bunch, bunch)
        late_s.append(float(np.mean(bunch * 0.06 - reads)))
        return bunch * 0.06 + within * 1e-4

    found = measured(Quantity.YAW_RATE, 11, stamps=handed_over)
    assert late_s[0] > 0.02
    assert found.accepted
    assert abs(found.offset_s - (-0.03 - late_s[0])) < 3.0 * found.offset_std_s
    assert found.offset_std_s < 0.02


def test_lost_messages():
    drive = Drive.on_road(12)
    whole = drive.can(Quantity.YAW_RATE, 12, clock=LATE)
    keep = np.random.default_rng(12).uniform(size=whole.times_s.size) > 0.1
    keep[700:760] = False
    some = activity(
        "can", Quantity.YAW_RATE, whole.times_s[keep], whole.values[keep], epoch_ns=EPOCH_NS
    )
    found = measure_can_imu({Quantity.YAW_RATE: some}, drive.imu(12), max_offset_s=REACH_S)[0]
    assert found.accepted
    assert abs(found.offset_s - -0.03) < YAW_TOL_S


def test_signal_that_never_changes():
    drive = Drive.on_road(13)
    flat = activity(
        "can", Quantity.BRAKE, np.arange(100) * 0.1, np.zeros((100, 1)), epoch_ns=EPOCH_NS
    )
    found = measure_can_imu({Quantity.BRAKE: flat}, drive.imu(13))[0]
    assert not found.accepted
    assert found.why == "brake never changes"
    assert found.is_baseline_only


def test_quantities_without_a_counterpart_are_left_out():
    drive = Drive.on_road(14)
    imu = drive.imu(14)
    rates = {Quantity.ANGULAR_RATE: imu[Quantity.ANGULAR_RATE]}
    signals = {q: drive.can(q, 14) for q in (Quantity.YAW_RATE, Quantity.LONG_ACCEL)}
    found = measure_can_imu(signals, rates, max_offset_s=REACH_S)
    assert [one.method for one in found] == ["yaw_rate"]
    assert measure_can_imu({}, imu) == []


def test_clock_step_of_the_bus():
    clock = Clock(late_s=0.03, step_s=0.2, step_at_s=22.0)
    found = measured(Quantity.YAW_RATE, 15, clock=clock)
    assert found.accepted
    assert abs(found.step_s - -0.2) < 5.0 * found.step_std_s
    # located to a few increments of 0.2 s
    assert abs((found.step_at_ns - EPOCH_NS) * 1e-9 - 22.0) < 1.5


def test_unrelated_drives_are_refused():
    for seed in range(8):
        drive, other = Drive.on_road(seed), Drive.on_road(seed + 900)
        signals = {q: drive.can(q, seed) for q in (Quantity.YAW_RATE, Quantity.LONG_ACCEL)}
        for found in measure_can_imu(signals, other.imu(seed), max_offset_s=2.0):
            assert not found.accepted


def test_claimed_errors_of_yaw_cover_the_truth():
    """Yaw is rounded to 0.1 degrees a second, and roll leaks into it.

    The unknown latency of control units is claimed on top; the roll leakage adds less than that,
    and is covered without it as well.
    """
    found = [
        measured(Quantity.YAW_RATE, seed, step=np.radians(0.1), noise=0.002) for seed in range(50)
    ]
    accepted = [one for one in found if one.accepted]
    assert len(accepted) >= 48
    error_s = np.array([one.offset_s + 0.03 for one in accepted])
    claimed_s = np.array([one.offset_std_s for one in accepted])
    assert claimed_s.min() > CONTROL_UNIT_STD_S
    assert np.mean(np.abs(error_s / claimed_s) < 1.96) >= 0.95
    without_s = np.sqrt(claimed_s**2 - CONTROL_UNIT_STD_S**2)
    # Six of 50 honest errors lie outside once in 26 runs; of errors half as large, in nearly all.
    assert np.mean(np.abs(error_s / without_s) < 1.96) >= 0.9
    # and not much more is claimed than needed
    assert np.sqrt(np.mean((error_s / without_s) ** 2)) > 0.7


def test_a_tilted_vertical_does_not_bend_the_yaw_rate():
    """Steady acceleration tilts the apparent gravity; roll then looks like yaw."""
    drive = Drive.on_road(3)
    imu = drive.imu(3)
    force = imu[Quantity.SPECIFIC_FORCE]
    forward = 2.0 * drive.mount[:, 0]  # m/s^2, 12 degrees
    imu[Quantity.SPECIFIC_FORCE] = replace(force, values=force.values + forward)
    (found,) = measure_can_imu(
        {Quantity.YAW_RATE: drive.can(Quantity.YAW_RATE, 3)}, imu, max_offset_s=2.0
    )
    assert found.accepted
    assert abs(found.offset_s) < 1.5e-3  # 3.7 ms with the tilted axis alone


@pytest.mark.parametrize("quantity", [Quantity.LATERAL_ACCEL, Quantity.LONG_ACCEL])
def test_accelerations_felt_at_another_place(quantity):
    """The bus's sensor lies 1.2 m ahead and 0.8 m below: it measures the vehicle's own rotation."""
    drive = Drive.on_road(5)
    imu = drive.imu(5)
    rate, force = imu[Quantity.ANGULAR_RATE], imu[Quantity.SPECIFIC_FORCE]
    turning = np.gradient(rate.values, rate.times_s, axis=0)
    lever = drive.mount @ np.array([1.2, 0.3, -0.8])
    moved = force.values - np.cross(turning, lever)
    imu[Quantity.SPECIFIC_FORCE] = replace(force, values=moved)
    (found,) = measure_can_imu({quantity: drive.can(quantity, 5)}, imu, max_offset_s=2.0)
    assert found.accepted
    assert abs(found.offset_s) < 2.5 * found.offset_std_s
    assert abs(found.offset_s) < 0.01


@pytest.mark.parametrize("seed", [7, 8, 11])
def test_engine_vibration_does_not_hide_the_distance_between_accelerometers(seed):
    """The bus's sensor lies 1 m below the IMU, whose gyroscope also senses the engine at 31 Hz."""
    drive = Drive.on_road(seed)
    imu = drive.imu(seed, rate_hz=200.0)
    rate, force = imu[Quantity.ANGULAR_RATE], imu[Quantity.SPECIFIC_FORCE]
    lever = drive.mount @ np.array([-0.8, 0.2, 1.0])
    turning = np.gradient(drive.turn_radps(rate.times_s), rate.times_s, axis=0)
    moved = force.values - np.cross(turning, lever)
    imu[Quantity.SPECIFIC_FORCE] = replace(force, values=moved)
    engine = 0.03 * np.sin(2 * np.pi * 31.0 * rate.times_s)[:, None] * drive.mount[:, 0]
    imu[Quantity.ANGULAR_RATE] = replace(rate, values=rate.values + engine)
    signals = {Quantity.LATERAL_ACCEL: drive.can(Quantity.LATERAL_ACCEL, seed)}
    (found,) = measure_can_imu(signals, imu, max_offset_s=2.0)
    assert found.accepted
    assert abs(found.offset_s) < 0.005  # 28 to 45 ms where the vibration counts as rotation


@pytest.mark.parametrize("seed", [5, 8])
def test_centripetal_acceleration_does_not_look_like_a_delay(seed):
    """The bus's sensor lies 1.2 m beside the IMU; the vehicle turns sharply."""
    drive = Drive.on_road(seed)
    drive = replace(drive, yaw=replace(drive.yaw, size=4.0 * drive.yaw.size), mean_speed_mps=4.0)
    imu = drive.imu(seed)
    rate, force = imu[Quantity.ANGULAR_RATE], imu[Quantity.SPECIFIC_FORCE]
    lever = drive.mount @ np.array([0.0, 1.2, 0.0])
    true = drive.turn_radps(rate.times_s)
    turning = np.gradient(true, rate.times_s, axis=0)
    moved = force.values - np.cross(turning, lever) - np.cross(true, np.cross(true, lever))
    imu[Quantity.SPECIFIC_FORCE] = replace(force, values=moved)
    signals = {Quantity.LATERAL_ACCEL: drive.can(Quantity.LATERAL_ACCEL, seed)}
    (found,) = measure_can_imu(signals, imu, max_offset_s=2.0)
    assert found.accepted
    assert abs(found.offset_s) < 0.004


@pytest.mark.parametrize("seed", [0, 1])
def test_increments_of_other_widths_drift_as_well(seed):
    """Sharp turns at first, gentle ones later: the delay of the whole says when it was measured."""
    rng = np.random.default_rng(seed)
    turns = ((5, 0.5), (9, -0.4), (14, 0.3), (27, 0.05), (35, -0.08), (44, 0.1))

    def rate(t):
        return sum(size * np.exp(-(((t - at) / 1.2) ** 2)) for at, size in turns)

    t = np.arange(0.003, 50.0, 0.01)
    gyro = rate(t)[:, None] * [0.0, 0.0, 1.0] + rng.normal(0.0, 0.002, (t.size, 3))
    force = rng.normal([0.0, 0.0, 9.81], 0.05, (t.size, 3))
    imu = {
        Quantity.ANGULAR_RATE: activity("imu", Quantity.ANGULAR_RATE, t, gyro),
        Quantity.SPECIFIC_FORCE: activity("imu", Quantity.SPECIFIC_FORCE, t, force),
    }
    t = np.arange(0.007, 50.0, 0.02)
    yaw = np.round((rate(t) + rng.normal(0.0, 0.001, t.size)) / 0.002) * 0.002
    stamps = Clock(drift_ppm=-1700.0, middle_s=25.0).reads(t)
    can = {Quantity.YAW_RATE: activity("can", Quantity.YAW_RATE, stamps, yaw[:, None])}
    (found,) = measure_can_imu(can, imu, max_offset_s=2.0)
    assert found.accepted
    assert abs(found.drift_ppm - 1700.0) < 3.0 * found.drift_std_ppm
    assert found.offset_std_s < 2.0 * CONTROL_UNIT_STD_S


def test_long_clip_shows_that_the_bus_does_not_drift():
    """Where 100 ppm would take the bus far off, what a clip knows of its drift decides."""
    rng = np.random.default_rng(0)
    at_s, sizes = np.arange(3.0, 298.0, 5.0), rng.normal(0.0, 0.2, 59)

    def rate(t):
        return np.exp(-(((t[:, None] - at_s) / 1.2) ** 2)) @ sizes

    t = np.arange(0.003, 300.0, 0.02)
    gyro = rate(t)[:, None] * [0.0, 0.0, 1.0] + rng.normal(0.0, 0.002, (t.size, 3))
    imu = {Quantity.ANGULAR_RATE: activity("imu", Quantity.ANGULAR_RATE, t, gyro)}
    t = np.arange(0.007, 300.0, 0.05)
    yaw = rate(t) + rng.normal(0.0, 0.002, t.size)
    can = {Quantity.YAW_RATE: activity("can", Quantity.YAW_RATE, t, yaw[:, None])}
    (found,) = measure_can_imu(can, imu, max_offset_s=REACH_S)
    assert found.drift_std_ppm < 20.0
    assert abs(found.drift_ppm) < 3.0 * found.drift_std_ppm


@pytest.mark.parametrize("unit_s", [1e-3, 1e-6])
def test_imu_whose_stamps_are_in_another_unit_is_refused(unit_s):
    drive = Drive.on_road(3)
    imu = {
        quantity: replace(activity, times_s=activity.times_s * unit_s)
        for quantity, activity in drive.imu(3).items()
    }
    signals = {Quantity.LATERAL_ACCEL: drive.can(Quantity.LATERAL_ACCEL, 3)}
    (found,) = measure_can_imu(signals, imu, max_offset_s=2.0)
    assert not found.accepted


def test_gaps_everywhere_are_not_told_as_no_overlap():
    """Five samples of the IMU in a row, then nothing for 0.15 s."""
    drive = Drive.on_road(3)
    imu = {
        quantity: activity(
            "imu",
            quantity,
            found.times_s[np.arange(found.times_s.size) % 20 < 5],
            found.values[np.arange(found.times_s.size) % 20 < 5],
            epoch_ns=EPOCH_NS,
        )
        for quantity, found in drive.imu(3).items()
    }
    signals = {Quantity.YAW_RATE: drive.can(Quantity.YAW_RATE, 3)}
    (found,) = measure_can_imu(signals, imu, max_offset_s=2.0)
    assert found.why == "at no delay do the two share 200 ms without a gap"


@pytest.mark.parametrize(
    ("late", "words"),
    [
        (lambda t: np.interp(t, [15.0, 16.0, 19.0, 20.0], [0.0, 1.0, 1.0, 0.0]), "fit -50 ms more"),
        (lambda t: np.sin(2.0 * np.pi * t / 10.0), "the delay varies by"),
    ],
    ids=["once", "in turn"],
)
def test_a_bus_that_is_late_for_a_while_is_refused(late, words):
    """Its delay is right on average."""
    drive = Drive.on_road(3)
    bus = drive.can(Quantity.YAW_RATE, 3)
    signals = {Quantity.YAW_RATE: replace(bus, times_s=bus.times_s + 0.06 * late(bus.times_s))}
    (found,) = measure_can_imu(signals, drive.imu(3), max_offset_s=2.0)
    assert not found.accepted
    assert words in found.why


def test_change_that_a_step_explains_as_well_as_a_drift_is_a_departure(monkeypatch):
    """The bus is 18 ms off at either end, whichever it is."""
    found_step = clock_step._stepped

    def without_drift(*args, **more):
        step = found_step(*args, **more)
        return None if step is None else replace(step, drift_ppm=0.0)

    monkeypatch.setattr(clock_step, "step_over_drift", lambda *_: 0.0)
    monkeypatch.setattr(clock_step, "_stepped", without_drift)
    found = measured(Quantity.YAW_RATE, 1, clock=Clock(drift_ppm=-900.0, middle_s=20.0))
    assert not found.accepted
    assert "explained equally well by a step or a drift" in found.why
    assert found.diagnostics["departs_by_s"] == pytest.approx(0.018, abs=0.002)
