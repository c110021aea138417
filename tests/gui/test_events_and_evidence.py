"""Landmarks are drawn where the events happen."""

from __future__ import annotations

import numpy as np
import pytest
from syncaudit_gui.viewmodel.events import Event, EventKind, Events, flash_times, motion_events
from syncaudit_gui.viewmodel.timeline import DrawnClock
from syncaudit_gui.viewmodel.turning import camera_turning, sensor_turning

from syncaudit.model import (
    Channel,
    ClockMap,
    FlashEdges,
    FlashIntervals,
    Quantity,
    RotationIncrements,
    SignalStream,
    SourceKind,
)

EPOCH_NS = 1_767_225_600_000_000_000
RATE_HZ = 100
TIMES_S = np.arange(2000) / RATE_HZ


def signals(name: str, **channels: np.ndarray) -> SignalStream:
    stamps = EPOCH_NS + np.rint(TIMES_S * 1e9).astype(np.int64)
    made = tuple(
        Channel(name=key, time_ns=stamps, values=values.reshape(TIMES_S.size, -1))
        for key, values in channels.items()
    )
    return SignalStream(name=name, clock=name, kind=SourceKind.IMU, time_ns=stamps, channels=made)


def bump(at_s: float, width_s: float) -> np.ndarray:
    return np.exp(-0.5 * ((TIMES_S - at_s) / width_s) ** 2)


def times_of(events: list[Event], kind: EventKind) -> np.ndarray:
    return Events(events).of(kind)


def test_turns_bumps_and_brakes_are_found_where_they_are():
    gyro = np.zeros((TIMES_S.size, 3))
    gyro[:, 2] = 0.4 * bump(5.0, 0.8) - 0.3 * bump(14.0, 0.8)
    accel = np.zeros((TIMES_S.size, 3))
    accel[:, 2] = 9.8 + 15.0 * bump(8.0, 0.02)
    brake = 10.0 * bump(11.0, 0.5)
    imu, can = signals("imu", gyro=gyro, accel=accel), signals("can", brake=brake)
    events = motion_events({"imu": imu, "can": can}, EPOCH_NS)
    np.testing.assert_allclose(times_of(events, EventKind.TURN), [5.0, 14.0], atol=0.05)
    np.testing.assert_allclose(times_of(events, EventKind.BUMP), [8.0], atol=0.05)
    # 15 % of the hardest braking: 1.95 widths before its peak.
    np.testing.assert_allclose(times_of(events, EventKind.BRAKE), [10.03], atol=0.05)


def test_what_stands_still_has_no_landmarks():
    noise = 0.01 * np.random.default_rng(1).normal(size=(TIMES_S.size, 3))
    imu = signals("imu", gyro=noise, accel=noise + np.array([0.0, 0.0, 9.8]))
    assert motion_events({"imu": imu}, EPOCH_NS) == []


def test_events_move_with_their_clocks_and_are_jumped_to_in_order():
    events = Events(
        [
            Event(kind=EventKind.FLASH, source="a", stamp_s=1.0),
            Event(kind=EventKind.BUMP, source="b", stamp_s=1.02),
        ]
    )
    assert events.next(0.0, 1) == 1.0
    events.place({"a": DrawnClock(clock=ClockMap(offset_s=0.05))})
    assert events.next(0.0, 1) == pytest.approx(1.02, abs=1e-9)
    assert events.next(1.02, 1) == pytest.approx(1.05, abs=1e-9)
    assert events.next(1.02, 1, EventKind.BUMP) is None
    assert events.next(1.05, -1) == pytest.approx(1.02, abs=1e-9)


def test_flashes_are_the_means_of_their_bands_and_intervals():
    edges = FlashEdges(
        source="cam",
        epoch_ns=EPOCH_NS + 10**9,
        frame_index=np.array([3, 3, 5]),
        frame_s=np.array([0.5, 0.5, 0.8]),
        row_px=np.array([-100.0, 60.0, 0.0]),
        row_std_px=np.ones(3),
        exposure_part=np.array([0.5, -0.5, 0.0]),
        band=np.array([0, 0, 1]),
        height_px=480,
        watched_s=np.empty((0, 2)),
        line_delay_s=5e-5,
        exposure_s=0.008,
    )
    np.testing.assert_allclose(flash_times(edges, EPOCH_NS), [1.499, 1.8], atol=1e-9)
    between = FlashIntervals(
        source="can",
        quantity=Quantity.STROBE,
        epoch_ns=EPOCH_NS,
        start_s=np.array([1.0]),
        stop_s=np.array([1.02]),
        std_s=np.zeros(1),
        count=np.array([1]),
    )
    np.testing.assert_allclose(flash_times(between, EPOCH_NS), [1.01], atol=1e-9)


def test_cameras_and_buses_turn_at_the_same_rate():
    n = 40
    starts = np.arange(n) / 20
    rotation = RotationIncrements(
        source="cam",
        epoch_ns=EPOCH_NS,
        start_s=starts,
        stop_s=starts + 0.05,
        angles_rad=np.tile([0.0, 0.01, 0.0], (n, 1)),
        std_rad=np.full((n, 3), 1e-4),
        row_moments_px=np.zeros((n, 3, 3)),
        row_moves_px=np.zeros((n, 3, 3)),
        height_px=480,
    )
    rate = camera_turning(rotation, EPOCH_NS).value_at(1.0)
    assert rate is not None
    assert float(rate[0]) == pytest.approx(np.degrees(0.2), abs=1e-3)
    # Without a unit: 20 can only be degrees.
    can = signals("can", yaw_rate=20.0 * np.sin(TIMES_S))
    top = sensor_turning({"can": can}, EPOCH_NS)["can"].extremes()
    assert top is not None
    assert top[1] == pytest.approx(20.0, abs=0.01)
