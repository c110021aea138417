"""Units of timestamps, signals and roles of buses, and int64 nanoseconds as float64 seconds."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from syncaudit.errors import nearest_name
from syncaudit.model.arrays import Bools, Floats, Ints

# `wheel_speed_*` stands for any name with that prefix, such as wheel_speed_fl.
_ROLES = (
    "speed",
    "wheel_speed_*",
    "yaw_rate",
    "steering_angle",
    "brake",
    "long_accel",
    "lateral_accel",
    "strobe",
)

STAMPS_KEY = "stamps"
"""Key of a manifest's ``units`` for the timestamps of a source."""

NS_PER_UNIT: Mapping[str, int] = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": 10**9,
}

_DEGREE = math.pi / 180.0
_RATES = {
    **dict.fromkeys(("rad/s", "rad/sec"), 1.0),
    **dict.fromkeys(("deg/s", "deg/sec", "degree/s", "degrees/s", "dps", "°/s"), _DEGREE),
    "rpm": math.pi / 30.0,
}
_ACCELERATIONS = {
    **dict.fromkeys(("m/s^2", "m/s2", "m/s²", "m/s**2", "m/s/s", "m/sec^2", "m/sec2"), 1.0),
    "g": 9.80665,
    "mg": 9.80665e-3,
}
_SPEEDS = {
    "m/s": 1.0,
    **dict.fromkeys(("km/h", "kmh", "kph", "kmph"), 1.0 / 3.6),
    **dict.fromkeys(("mph", "mi/h"), 0.44704),
}
_ANGLES = {"rad": 1.0, **dict.fromkeys(("deg", "degree", "degrees", "°"), _DEGREE)}
_SI_PER_UNIT = {**_RATES, **_ACCELERATIONS, **_SPEEDS, **_ANGLES}
# Units that a channel of an IMU or a bus may be in; for others any unit is allowed.
_UNITS_OF_CHANNEL = {
    "gyro": _RATES,
    "yaw_rate": _RATES,
    "accel": _ACCELERATIONS,
    "long_accel": _ACCELERATIONS,
    "lateral_accel": _ACCELERATIONS,
    "speed": _SPEEDS,
    "steering_angle": _ANGLES,
}

# 30 days: longer "seconds" are a wrong unit (conventions, section 1).
MAX_SPAN_S = 30 * 86400.0
# Differences below this surely fit int64, whatever the rounding of float64.
_EXACT_NS = 9.0e18


def si_per_unit(unit: str) -> float | None:
    """Return how many SI units one `unit` is; None if unknown."""
    return _SI_PER_UNIT.get(unit.strip().lower())


def units_of(channel: str) -> tuple[str, ...]:
    """Return the units that a channel or CAN role may be in; all units if it is not motion."""
    known = {**_SPEEDS, **_RATES} if channel.startswith("wheel_speed") else None
    return tuple(known or _UNITS_OF_CHANNEL.get(channel, _SI_PER_UNIT))


def fault_of_role(role: str, signal: str) -> tuple[str, str] | None:
    """Return (what is wrong, what to do) if `role` is not a known role, else None."""
    if _is_role(role):
        return None
    if _is_role(signal):
        hint = f"Swap them: 'signals' maps our role to your signal, {{'{signal}': '{role}'}}."
    else:
        hint = nearest_name(role, _ROLES)
    return f"signals.{role}: there is no such role", hint


def _is_role(name: str) -> bool:
    return (name in _ROLES and "*" not in name) or (
        name.startswith("wheel_speed_") and len(name) > len("wheel_speed_") and "*" not in name
    )


def seconds_since(time_ns: ArrayLike, epoch_ns: int) -> Floats:
    """Return seconds after `epoch_ns`, subtracting as integers first.

    Parameters
    ----------
    time_ns : array_like of int64, shape (n,)
        Timestamps in nanoseconds.
    epoch_ns : int
        Where zero is, in the same clock.

    Returns
    -------
    ndarray of float64, shape (n,)
        Seconds since the epoch.

    Raises
    ------
    TypeError
        If the timestamps are not integers.
    OverflowError
        If a timestamp lies more than 30 days from the epoch.
    """
    stamps = np.asarray(time_ns)
    if stamps.dtype.kind not in "iu":
        raise TypeError(f"timestamps must be integer nanoseconds, got {stamps.dtype}")
    # The difference of two int64 may overflow, that of Python's integers does not.
    ends = (int(stamps.min()), int(stamps.max())) if stamps.size else ()
    reach_s = 1e-9 * max((abs(end - epoch_ns) for end in ends), default=0)
    if reach_s > MAX_SPAN_S:
        raise OverflowError(
            f"timestamps reach {reach_s:.3g} s from the epoch {epoch_ns} ns, more than 30 days: "
            "a wrong unit?"
        )
    seconds = (stamps.astype(np.int64, copy=False) - np.int64(epoch_ns)).astype(np.float64)
    seconds *= 1e-9
    return seconds


def difference_ns(later: Ints, earlier: Ints | int) -> Floats:
    """Return differences of timestamps, shape (n,), subtracted as integers if int64 holds that."""
    rough = later.astype(np.float64) - np.asarray(earlier, dtype=np.float64)
    with np.errstate(over="ignore"):
        exact = (later - np.asarray(earlier, dtype=np.int64)).astype(np.float64)
    return np.where(np.abs(rough) < _EXACT_NS, exact, rough)


def seconds_after(time_ns: Ints, zero_ns: int) -> Floats:
    """Return seconds after `zero_ns`, shape (n,), for any span; `seconds_since` rejects long ones.

    For timestamps of a clock of another epoch, or nonsense.
    """
    return difference_ns(time_ns, zero_ns) * 1e-9


def nanoseconds(seconds: float) -> int:
    """Return a span in seconds as whole nanoseconds, rounded to nearest."""
    return round(seconds * 1e9)


def stamps_of_seconds(times_s: ArrayLike) -> Ints:
    """Return float seconds as timestamps in whole nanoseconds, rounded to nearest.

    For files without integers. The resolution of the floats remains in the timestamps: at 100 s it
    is 7.6 us in float32 and 1.4e-14 s in float64.

    Parameters
    ----------
    times_s : array_like of float, shape (n,)
        Seconds since any start.

    Raises
    ------
    ValueError
        If a time is not finite.
    OverflowError
        If one is more than 30 days from zero: unix seconds lose 238 ns as float64 and 128 s as
        float32, or the unit is not seconds.
    """
    times = np.asarray(times_s, dtype=np.float64)
    if not np.all(np.isfinite(times)):
        raise ValueError(f"time {int(np.argmin(np.isfinite(times)))} is not finite")
    reach_s = float(np.max(np.abs(times), initial=0.0))
    if reach_s > MAX_SPAN_S:
        raise OverflowError(f"times reach {reach_s:.3g} s, more than 30 days")
    return np.rint(times * 1e9).astype(np.int64)


def spans_too_long(time_ns: Ints) -> bool:
    """Return whether timestamps lie more than 30 days apart: such ones cannot place anything."""
    return (int(time_ns.max()) - int(time_ns.min())) * 1e-9 > MAX_SPAN_S


def near_stamps(time_ns: Ints) -> tuple[int, Bools]:
    """Return the middle timestamp by time, and which are within 30 days of it, shape (n,).

    As an epoch it is safe even if single timestamps are absurd; 0 where there is none.
    """
    middle = time_ns.size // 2
    epoch_ns = int(np.partition(time_ns, middle)[middle]) if time_ns.size else 0
    distance_s = np.abs(time_ns.astype(np.float64) - float(epoch_ns)) * 1e-9
    return epoch_ns, distance_s < MAX_SPAN_S
