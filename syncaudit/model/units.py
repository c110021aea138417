"""Units of timestamps and signals, with their size in nanoseconds or SI units, and CAN roles."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType

from syncaudit.errors import nearest_name

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

NS_PER_UNIT: Mapping[str, int] = MappingProxyType(
    {"ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": 10**9}
)

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
