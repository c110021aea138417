"""Read the messages of an openpilot log."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from syncaudit.datasets.bags.unpacking import unpack_file

_PACKED = {b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zstd"}
_PLAIN = bytes(4)  # start of a message with one segment, which all of them are
MAGICS = (*_PACKED, _PLAIN)
"""First bytes of logs."""

_SCHEMA = Path(__file__).with_name("comma.capnp")
_FRAME = ("FrameData", attrgetter("frameId", "timestampSof", "timestampEof", "sensor"))
_ENCODED = (
    "EncodeIndex",
    attrgetter("segmentNum", "segmentId", "frameId", "timestampSof", "timestampEof"),
)
_GPS = ("GpsLocationData", attrgetter("speed", "hasFix", "flags"))
_SENSOR = (
    "SensorEventData",
    lambda event: (event.kind, event.source, event.timestamp, *event.vector.v),
)
_CAR = ("CarState", attrgetter("vEgoRaw", "vEgo", "yawRate", "steeringAngleDeg", "brake"))
# Field number in `Event` to the name of its rows here, its struct, and the values to read.
_READ: Mapping[int, tuple[str, str, Callable[[Any], tuple[Any, ...]]]] = {
    1: ("init", "InitData", attrgetter("dongleId", "deviceType", "version")),
    2: ("road_frame", *_FRAME),
    5: ("can", "CanData", attrgetter("address", "src", "dat")),
    11: ("sensor", *_SENSOR),
    15: ("road_encoded", *_ENCODED),
    21: ("gps", *_GPS),
    22: ("car", *_CAR),
    48: ("gps_external", *_GPS),
    70: ("driver_frame", *_FRAME),
    74: ("wide_frame", *_FRAME),
    76: ("driver_encoded", *_ENCODED),
    77: ("wide_encoded", *_ENCODED),
    **dict.fromkeys((98, 99, 100, 101), ("sensor", *_SENSOR)),
}
_LISTS = (5, 11)
# Event kinds are counted in order of their numbers, without the two fields common to all events.
_OF_ALL = (0, 67)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommaLog:
    """Contents of a log: rows (publish time of a message in ns, its values) by name."""

    rows: defaultdict[str, list[tuple[Any, ...]]]
    n_messages: int
    is_damaged: bool  # later messages cannot be read


def read_comma_log(path: Path) -> CommaLog:
    """Return the contents of a log, up to where it breaks off or is damaged."""
    with path.open("rb") as file:
        begin = file.read(4)
    kind = next((kind for magic, kind in _PACKED.items() if begin.startswith(magic)), None)
    if kind is None:
        return _read(path, is_damaged=False)
    with TemporaryDirectory() as folder:
        plain = Path(folder, "log")
        fault = unpack_file(kind, path, plain)
        return _read(plain, is_damaged=fault is not None)


def _read(path: Path, *, is_damaged: bool) -> CommaLog:
    import capnp

    schema = capnp.load(str(_SCHEMA))
    kinds = {number - sum(number > each for each in _OF_ALL): number for number in _READ}
    rows: defaultdict[str, list[tuple[Any, ...]]] = defaultdict(list)
    n_messages = 0
    try:
        for event in schema.Event.read_multiple_bytes(path.read_bytes()):
            n_messages += 1
            if (number := kinds.get(event.kind)) is None:
                continue
            name, struct, values_of = _READ[number]
            kind = getattr(schema, struct)
            if number in _LISTS:
                bodies = event.body.as_list(capnp._ListSchema(kind.schema))
            else:
                bodies = [event.body.as_struct(kind)]
            rows[name] += [(event.logMonoTime, *values_of(body)) for body in bodies]
    except capnp.KjException:
        is_damaged = True
    is_damaged |= n_messages == 0
    return CommaLog(rows=rows, n_messages=n_messages, is_damaged=is_damaged)
