"""Guess from headers what tables hold, and generate rules to start from if no rule matches."""

from __future__ import annotations

import glob
import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from posixpath import join
from typing import Any

from syncaudit.datasets.naming import stem_of
from syncaudit.datasets.source import Source
from syncaudit.errors import ManifestError
from syncaudit.model.units import NS_PER_UNIT, STAMPS_KEY, si_per_unit, units_of

TABLES = (".csv", ".tsv", ".parquet", ".pq", ".log", ".asc", ".blf", ".mf4")
"""Suffixes of files without a rule that may hold timestamps or samples."""

_LONGEST_HEADER = 1 << 16
_STAMPS = re.compile(r"^#?(timestamp.*|time([_ ].*)?|stamp|t|t_?ns|utc.*|epoch.*)$", re.IGNORECASE)
_FRAMES = re.compile(r"^(frame|index|idx|image|file|picture|sample)", re.IGNORECASE)
_INERTIAL = tuple(
    (f"{triple}_{axis}", re.compile(rf"^({names})[_ .]?{axis}(\b|_)", re.IGNORECASE))
    for triple, names in (
        ("gyro", "gyro(scope)?|w|omega|angular_?(velocity|rate)|ang_?vel|rot(ation)?_?rate"),
        ("accel", "acc(el)?(eration|erometer)?|a|lin(ear)?_?acc(el)?(eration)?"),
    )
    for axis in "xyz"
)

# The unit at the end of a header: "time [us]", "gyro_x (deg/s)", "acc_x_g".
_UNIT = re.compile(r"[ _\[(]([^ _\[\]()]+)[\])]?$")


def columns_of(source: Source, name: str) -> list[str]:
    """Return the columns in a table's header; [] if it cannot be read."""
    try:
        with source.open(name) as file:
            if name.endswith((".parquet", ".pq")):
                import pyarrow.parquet as pq

                return list(pq.ParquetFile(file).schema_arrow.names)
            if not name.endswith((".csv", ".tsv", ".txt")):
                return []
            header = file.readline(_LONGEST_HEADER).decode("utf-8-sig", "replace")
    except (ManifestError, OSError, ValueError):
        return []
    return [column.strip().strip('"') for column in re.split("[,;\t]", header)]


def starter_rules(source: Source, folder: str, videos: Sequence[str], tables: Sequence[str]) -> str:
    """Return rules (TOML) that match every file, with kinds guessed from headers.

    `folder` is one clip of the data set, as an example: `videos` in it are cameras or sounds, and
    no rule matches `tables`.
    """
    columns = {name: columns_of(source, join(folder, name)) for name in tables}
    stamps = {name for name, found in columns.items() if _is_stamp_table(found)}
    taken: set[str] = set()
    parts = []
    for video in videos:
        is_sound = video.endswith((".wav", ".flac", ".ogg", ".mp3"))
        rule = _rule(video, {"kind": "audio" if is_sound else "camera"}, "")
        own = next((name for name in sorted(stamps) if stem_of(video) in name), None)
        if own is None:
            rule += '# timestamps = ["TABLE.csv"]  # name its table of stamps\n'
        else:
            stamps.discard(own)
            rule += f"timestamps = [{json.dumps(glob.escape(own))}]\n"
            if not is_sound and (stamp := _stamp_column(columns[own])) != "timestamp_ns":
                rule += f"stamps = {json.dumps(stamp)}\n"
                unit = _unit_of(stamp or "", NS_PER_UNIT)
                rule += "" if unit in (None, "ns") else f'units = {{stamps = "{unit}"}}\n'
            taken.add(own)
        parts.append(rule)
    parts += [
        _rule(name, guess_source(found), ", ".join(found))
        for name, found in columns.items()
        if name not in taken
    ]
    return "\n".join(parts)


def _is_stamp_table(columns: Sequence[str]) -> bool:
    """Return whether a table holds only timestamps of frames."""
    is_stamp = [bool(_STAMPS.match(name)) for name in columns]
    rest = [name for name, own in zip(columns, is_stamp, strict=True) if not own]
    return any(is_stamp) and all(_FRAMES.match(name) for name in rest)


def _stamp_column(columns: Sequence[str]) -> str | None:
    return next((name for name in columns if _STAMPS.match(name)), None)


def guess_source(columns: Sequence[str]) -> dict[str, Any]:
    """Return the keys of a source that a header suggests."""
    stamp = _stamp_column(columns)
    keys: dict[str, Any] = {} if stamp in (None, "timestamp_ns") else {"stamps": stamp}
    in_time = _unit_of(stamp or "", NS_PER_UNIT)
    units = {} if in_time in (None, "ns") else {STAMPS_KEY: in_time}
    named = {
        role: name
        for role, pattern in _INERTIAL
        for name in columns
        if name != stamp and pattern.match(name)
    }
    if len(named) >= 3:
        renamed = {role: name for role, name in named.items() if role != name}
        for role, name in named.items():
            units |= _other_unit(role.partition("_")[0], name)
        return {"kind": "imu", **keys} | _filled(columns=renamed, units=units)
    if roles := roles_of(name for name in columns if name != stamp):
        for role, name in roles.items():
            units |= _other_unit(role, name)
        return {"kind": "can", **keys, "signals": roles} | _filled(units=units)
    return {"kind": "events" if len(columns) == 1 else "state", **keys} | _filled(units=units)


def _filled(**keys: Mapping[str, Any]) -> dict[str, Any]:
    return {key: dict(value) for key, value in keys.items() if value}


def _unit_of(column: str, known: Collection[str]) -> str | None:
    """Return the unit in a header if it is a known one."""
    found = _UNIT.search(column)
    unit = found[1].lower() if found else ""
    return unit if unit in known else None


def _other_unit(channel: str, column: str) -> dict[str, str]:
    """Return the unit of a channel from its header, if it is not an SI unit."""
    unit = _unit_of(column, units_of(channel))
    return {} if unit is None or si_per_unit(unit) == 1.0 else {channel: unit}


def _rule(match: str, keys: Mapping[str, Any], about: str) -> str:
    lines = ["[[source]]", f"match = {json.dumps(glob.escape(match))}"]
    if about:
        lines[-1] += f"  # columns: {about[:100]}"
    for key, value in keys.items():
        if isinstance(value, Mapping):
            inner = ", ".join(f"{json.dumps(k)} = {json.dumps(v)}" for k, v in value.items())
            lines.append(f"{key} = {{{inner}}}")
        else:
            lines.append(f"{key} = {json.dumps(value)}")
    return "\n".join(lines) + "\n"


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
