"""Guess the roles of bus signals from their names."""

from __future__ import annotations

import re
from collections.abc import Iterable

# A message with its identifier and name, or a signal of the message above.
_ENTRY = re.compile(r"^\s*(?:BO_\s+(\d{1,10})\s+(\w+)|SG_\s+([A-Za-z_]\w*))", re.MULTILINE)
_IDENTIFIER = 0x1FFFFFFF

# Matched against names in lower case, reduced to letters and digits.
_ROLES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (role, re.compile(pattern))
    for role, pattern in (
        ("wheel_speed_fl", r"(wheel|whl).*(speed|spd|vel).*(fl|frontleft|lf)$|(fl|lf)wheelspeed"),
        ("wheel_speed_fr", r"(wheel|whl).*(speed|spd|vel).*(fr|frontright|rf)$|(fr|rf)wheelspeed"),
        ("wheel_speed_rl", r"(wheel|whl).*(speed|spd|vel).*(rl|rearleft|lr)$|(rl|lr)wheelspeed"),
        ("wheel_speed_rr", r"(wheel|whl).*(speed|spd|vel).*(rr|rearright)$|rrwheelspeed"),
        ("yaw_rate", r"yaw(rate|vel|velocity|speed)$|gyroz$"),
        ("steering_angle", r"steer(ing)?(wheel|whl)?(angle|ang)$|^steer(ing)?$|^swa$"),
        ("long_accel", r"^(long(itudinal)?)(vehicle)?acc(el|eleration)?$|^a(cc|ccel)?x$"),
        ("lateral_accel", r"^(lat(eral)?|transversal)(vehicle)?acc(el|eleration)?$|^a(cc|ccel)?y$"),
        ("brake", r"^brake(pressure|press|pedal|position)?$"),
        ("strobe", r"^strobe(count|counter)?$"),
        ("speed", r"^(vehicle|car|veh)?(speed|spd|velocity)(kmh|kph|mps|ms)?$"),
    )
)


def roles_of(names: Iterable[str]) -> dict[str, str]:
    """Return role to signal for recognised names; the first for each role."""
    found: dict[str, str] = {}
    for name in names:
        bare = re.sub(r"[^a-z0-9]", "", name.lower())
        role = next((role for role, pattern in _ROLES if pattern.search(bare)), None)
        if role is not None:
            found.setdefault(role, name)
    return found


def messages_in_dbc(data: bytes) -> dict[int, tuple[str, list[str]]]:
    """Return identifier to (message, its signals) for a DBC in file order."""
    found: dict[int, tuple[str, list[str]]] = {}
    names: list[str] = []
    for number, message, signal in _ENTRY.findall(data.decode("latin-1")):
        if number:
            names = found.setdefault(int(number) & _IDENTIFIER, (message, []))[1]
        else:
            names.append(signal)
    return found
