"""Roles that a CAN signal can play (formats, section 2)."""

from __future__ import annotations

from syncaudit.errors import nearest_name

# `wheel_speed_*` stands for any name with that prefix, such as wheel_speed_fl.
ROLES = (
    "speed",
    "wheel_speed_*",
    "yaw_rate",
    "steering_angle",
    "brake",
    "long_accel",
    "lateral_accel",
    "strobe",
)


def fault_of_role(role: str, signal: str) -> tuple[str, str] | None:
    """Return (what is wrong, what to do) if `role` is not a known role, else None."""
    if _is_role(role):
        return None
    if _is_role(signal):
        hint = f"Swap them: 'signals' maps our role to your signal, {{'{signal}': '{role}'}}."
    else:
        hint = nearest_name(role, ROLES)
    return f"signals.{role}: there is no such role", hint


def _is_role(name: str) -> bool:
    return (name in ROLES and "*" not in name) or (
        name.startswith("wheel_speed_") and len(name) > len("wheel_speed_") and "*" not in name
    )
