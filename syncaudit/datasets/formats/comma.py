"""Import segments recorded by openpilot on comma devices: a log, and a video per camera."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count, takewhile
from operator import attrgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syncaudit.datasets.bags.unpacking import unpack_file
from syncaudit.datasets.formats.log_files import Log, LogFileFormat, Logged
from syncaudit.datasets.starter_rules import messages_in_dbc, roles_of
from syncaudit.decode.container import read_header
from syncaudit.errors import ManifestError, StreamReadError
from syncaudit.model import FrameFiles
from syncaudit.readers.uris import local_path

# Videos of each camera, best first.
_VIDEOS = {
    "road": ("fcamera.hevc", "qcamera.ts"),
    "wide": ("ecamera.hevc",),
    "driver": ("dcamera.hevc",),
}
# For the road camera, from width and focal length (common/transformations/camera.py), by sensor;
# logs of older devices do not state the sensor.
_FOV_OF_SENSOR_DEG = {1: 40.0, 2: 40.0, 3: 61.0}
_FOV_OF_DEVICE_DEG = {1: 65.2, 4: 40.0}
# Kinds of `SensorEventData`, best first: with the bias removed, or not.
_TRIPLES = {"gyro": (3, 6), "accel": (0,)}
_CHIPS = {0: "android", 5: "lsm6ds3", 8: "bmx055", 10: "lsm6ds3trc"}
_HAS_FIX = 1  # bit in the flags of a position, from before there was a field for it
# End times computed from the start and the sensor's readout time scatter less than this.
_MOST_SCATTER_NS = 10_000
_SEGMENT = re.compile(r"(--|/)\d+$")
_N_BUSES = 128  # numbers from 128 on are frames sent by openpilot
_LONGEST_STANDARD = 0x7FF

_Frame = tuple[int, int, int, bytes]
"""Publish time in ns, identifier, bus, data."""

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


class CommaFormat(LogFileFormat):
    """One clip per segment (a minute); a route is the recording.

    All times are on one clock, nanoseconds since the device booted. Frames are timestamped at the
    end of their readout, inertial samples at their interrupt, car and GPS data when openpilot
    published them.
    """

    name = "comma"
    summary = "segments of openpilot: rlog or qlog, and fcamera.hevc, qcamera.ts ..."
    _suffixes = tuple(
        f"{log}{packing}" for log in ("rlog", "qlog") for packing in ("", ".bz2", ".zst")
    )
    _magics = MAGICS
    _module, _package = "capnp", "pycapnp"

    def _load(self, path: Path) -> Any:
        return _read_comma_log(path)

    def _about(self, content: Any, log: Log) -> Mapping[str, Any]:
        _, device, _, software = next(iter(content.rows["init"]), (0, "", 0, ""))
        said = {"device": device, "software": software}
        return {
            "recording_id": _SEGMENT.sub("", log.clip_id),
            "about": {key: text for key, text in said.items() if text},
        }

    def _sources_of(self, content: Any, log: Log) -> tuple[dict[str, Logged], list[str]]:
        logged = _cameras(content, log) | _inertial(content) | _vehicle(content)
        logged |= _raw_can(content.rows["can"], log)
        findings = []
        if content.is_damaged:
            findings.append(
                f"corrupt: {log.name} breaks off or is damaged after {content.n_messages:,} "
                "messages; everything before that was read. Copy it again."
            )
        return logged, findings


def _cameras(content: CommaLog, log: Log) -> dict[str, Logged]:
    logged = {}
    for name, videos in _VIDEOS.items():
        frames = content.rows[f"{name}_encoded"]
        video = log.first_of(videos)
        if video is None:
            if frames:
                log.note(f"left out the {name} camera: {' or '.join(videos)} is not there")
            continue
        start_ns, stop_ns, findings = _frame_times(frames, content.rows[f"{name}_frame"])
        row: dict[str, Any] = {"kind": "camera", "stamp_at": "end_of_frame"}
        if name == "road" and (fov_deg := _fov_deg(content)) is not None:
            row["fov_deg"] = fov_deg
        if (line_delay_s := _line_delay_s(start_ns, stop_ns, log, video)) is not None:
            row["line_delay_s"] = line_delay_s
        logged[name] = Logged(
            columns={"timestamp_ns": stop_ns}, row=row, findings=findings, video=video
        )
    return logged


def _frame_times(
    encoded: Sequence[tuple[Any, ...]], exposed: Sequence[tuple[Any, ...]]
) -> tuple[NDArray[np.int64], NDArray[np.int64], list[str]]:
    """Return the readout times of the first and the last row of every frame of a video.

    In older logs they are not in the index of the video but in another message. The table ends at
    the first frame without times, since later rows would no longer match the frames.
    """
    segments = Counter(segment for _, segment, *_ in encoded).most_common(1)
    by_id = {frame_id: times for _, frame_id, *times, _ in exposed}
    frames = {
        number: times if times[1] else by_id.get(frame_id, times)
        for _, segment, number, frame_id, *times in encoded
        if segment == segments[0][0]
    }
    known = [frames[number] for number in takewhile(lambda n: frames.get(n, (0, 0))[1], count())]
    findings = []
    if len(known) < len(frames):
        findings = [
            f"missing_frames: the log does not state when frame {len(known)} of the video was "
            "taken: from there on it has no times. Name the rlog, or copy the log again."
        ]
    start_ns, stop_ns = np.array(known, np.int64).reshape(-1, 2).T
    return start_ns, stop_ns, findings


def _line_delay_s(
    start_ns: NDArray[np.int64], stop_ns: NDArray[np.int64], log: Log, video: str
) -> float | None:
    """Return the line delay of a video, if the log states its readout time.

    Older versions did not state the start, or took the arrival of the frame as the end, which
    makes the difference scatter.
    """
    path = local_path(log.source.uri_of(log.stem + video))
    readout_ns = (stop_ns - start_ns)[start_ns > 0]
    if path is None or not readout_ns.any() or np.ptp(readout_ns) > _MOST_SCATTER_NS:
        return None
    with suppress(StreamReadError):  # the audit reports the fault
        n_rows = read_header(FrameFiles(paths=(str(path),))).height_px
        return float(readout_ns[0]) * 1e-9 / n_rows if n_rows else None
    return None


def _fov_deg(content: CommaLog) -> float | None:
    """Return the horizontal field of view of the road camera."""
    sensor = next((row[-1] for row in content.rows["road_frame"]), 0)
    device = next((row[2] for row in content.rows["init"]), 0)
    return _FOV_OF_SENSOR_DEG.get(sensor, _FOV_OF_DEVICE_DEG.get(device))


def _inertial(content: CommaLog) -> dict[str, Logged]:
    """Return the gyroscope and the accelerometer of each chip."""
    rows: defaultdict[tuple[int, int], list[tuple[Any, ...]]] = defaultdict(list)
    for logged_ns, kind, chip, *sample in content.rows["sensor"]:
        if len(sample) == len(("time", *"xyz")):
            rows[kind, chip].append((logged_ns, *sample))
    logged = {}
    for triple, kinds in _TRIPLES.items():
        chips = {chip: rows[kind, chip] for kind in kinds[::-1] for k, chip in rows if k == kind}
        for chip, samples in chips.items():
            name = triple if len(chips) == 1 else f"{triple}_{_CHIPS.get(chip, chip)}"
            times = np.array([row[:2] for row in samples], np.int64)
            values = np.array([row[2:] for row in samples], np.float64)
            columns = {
                "timestamp_ns": times[:, 1],
                "receive_ns": times[:, 0],
                **{f"{triple}_{axis}": values[:, k] for k, axis in enumerate("xyz")},
            }
            logged[name] = Logged(columns=columns, row={"kind": "imu", "clock": f"imu_{chip}"})
    return logged


def _vehicle(content: CommaLog) -> dict[str, Logged]:
    """Return the state of the car, and the speed from the GPS with more positions."""
    logged = {}
    if car := content.rows["car"]:
        raw, filtered, *others = np.array([row[1:] for row in car], np.float64).T
        roles = ("yaw_rate", "steering_angle", "brake")
        signals = {"speed": raw if raw.any() else filtered, **dict(zip(roles, others, strict=True))}
        # Signals that a car does not report are 0 throughout.
        signals = {role: values for role, values in signals.items() if values.any()}
        if signals:
            logged["car"] = _bus([row[0] for row in car], signals)
    fixes = [
        [(logged_ns, speed) for logged_ns, speed, has_fix, flags in content.rows[name]
         if has_fix or flags & _HAS_FIX]
        for name in ("gps_external", "gps")
    ]  # fmt: skip
    if gps := max(fixes, key=len):
        times, speed = zip(*gps, strict=True)
        logged["gps"] = _bus(times, {"speed": np.array(speed, np.float64)})
    return logged


def _bus(logged_ns: Sequence[int], signals: Mapping[str, NDArray[np.float64]]) -> Logged:
    row: dict[str, Any] = {
        "kind": "can",
        "signals": {role: role for role in signals},
        "stamp_kind": "receive",
    }
    if "steering_angle" in signals:
        row["units"] = {"steering_angle": "deg"}
    return Logged(columns={"timestamp_ns": np.array(logged_ns, np.int64), **signals}, row=row)


def _raw_can(frames: Sequence[_Frame], log: Log) -> dict[str, Logged]:
    """Return the bus with the most frames known to a DBC beside the log or in a folder above.

    Roles of signals are guessed from their names.
    """
    counts = Counter((bus, number) for _, number, bus, _ in frames if bus < _N_BUSES)
    if not counts:
        return {}
    found: list[tuple[int, int, str, dict[str, str]]] = []
    for name in _descriptions(log):
        messages = {}
        with suppress(ManifestError):
            messages = messages_in_dbc(log.source.read(name))
        for bus in {bus for bus, _ in counts}:
            seen = [number for number in messages if (bus, number) in counts]
            places = {
                signal: f"{messages[number][0]}.{signal}"
                for number in reversed(seen)
                for signal in messages[number][1]
            }
            signals = {role: places[signal] for role, signal in roles_of(places).items()}
            if signals:
                n_known = sum(counts[bus, number] for number in seen)
                found.append((n_known, -bus, name, signals))
    if not found:
        log.note("left out raw CAN: no DBC beside the log has a signal of known name on a bus")
        return {}
    _, bus, name, signals = max(found, key=lambda each: each[:2])
    for role, signal in signals.items():
        log.note(f"{name}: {signal} -> {role}")
    text = "".join(_candump_line(frame) for frame in frames if frame[2] == -bus)
    row = {"kind": "can", "dbc": name, "signals": signals, "stamp_kind": "receive"}
    return {"can": Logged(row=row, text=text)}


def _descriptions(log: Log) -> Iterator[str]:
    """Yield the DBC files in a log's folder and in those above it, up to the source."""
    folder = log.name
    while folder:
        folder = folder.rpartition("/")[0]
        yield from log.source.files("*.dbc", folder)


def _candump_line(frame: _Frame) -> str:
    time_ns, number, bus, data = frame
    digits = 3 if number <= _LONGEST_STANDARD else 8
    seconds, fraction = divmod(time_ns, 10**9)
    mark = "#" if len(data) <= 8 else "##0"
    return f"({seconds}.{fraction:09d}) can{bus} {number:0{digits}X}{mark}{data.hex()}\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommaLog:
    """Contents of a log: rows (publish time of a message in ns, its values) by name."""

    rows: defaultdict[str, list[tuple[Any, ...]]]
    n_messages: int
    is_damaged: bool  # later messages cannot be read


def _read_comma_log(path: Path) -> CommaLog:
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
