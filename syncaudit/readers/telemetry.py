"""Read camera motion embedded in videos: gyroscope, accelerometer, GPS speed.

GoPro cameras write it into a track of their videos (GPMF), which is parsed here; that of DJI,
Insta360 and Sony cameras is read by the library telemetry-parser. Layout and keys of GPMF:
github.com/gopro/gpmf-parser, README. Payloads come about once a second, and the presentation time
of each is wrong by up to half of the chunks in which the camera moves samples (9 ms for a HERO5).
So the clock is a line through (samples before the payload, time): its slope is taken from the
camera's own timestamps of the payloads, if any, its intercept from all payloads.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from syncaudit.decode.container import open_container
from syncaudit.decode.mp4.boxes import Boxes, UnusualFileError, read_movie_box
from syncaudit.dsp.attitude import rates_of_attitudes
from syncaudit.errors import MissingExtraError, StreamReadError
from syncaudit.model.arrays import Floats

_PACKAGE = "telemetry_parser"
# Insta360 cameras write this at the end of their files.
_INSTA360 = b"8db42d694ccc418790edff439fe026bf"
# The library pairs the n-th sample of one sensor with the n-th of the other: if more than this
# share of rows lacks one, the two have different rates, and the library's times are wrong.
_MOST_LACKING = 0.01

_HEADER = struct.Struct(">4scBH")
_CODES = {
    b"b": "i1",
    b"B": "u1",
    b"s": "i2",
    b"S": "u2",
    b"l": "i4",
    b"L": "u4",
    b"f": "f4",
    b"d": "f8",
    b"j": "i8",
    b"J": "u8",
}
# Stream keys, each with its name here, the columns to keep, and its minimum number of columns.
_SENSORS = {
    b"GYRO": ("gyro", slice(0, 3), 3),
    b"ACCL": ("accel", slice(0, 3), 3),
    b"GPS5": ("speed", slice(3, 4), 5),
    b"GPS9": ("speed", slice(3, 4), 9),
}
_IMAGE_TURN = b"IORI"  # rotation of the image relative to the camera, since the HERO8
# The camera's own timestamps of a payload, with their unit in seconds.
_STAMPS = {b"STMP": 1e-6, b"TICK": 1e-3}
_GLOBAL = b"udta/GPMF"  # where a camera writes its settings, behind the tracks
_MIN_FIX = 2  # 2D
# Both clocks are quartz; a larger relative difference from presentation times is not a clock rate.
_MOST_APART = 0.02
_UNSTABILISED = {"", "N", "N/A", "NONE", "OFF"}
# An image that is not stabilised is not rotated; at rest a stabiliser rotates it by 0.1 degree.
_MIN_TURN_DEG = 1.0

_Parts = Mapping[bytes, tuple[bytes, int, bytes]]


def holds_telemetry(path: str) -> bool:
    """Return whether a local video is from a camera that embeds telemetry in its videos."""
    try:
        return _holds_gpmf(path) or _maker_of(path) is not None
    except (StreamReadError, OSError):
        return False


def read_telemetry(path: str) -> Telemetry | None:
    """Return the telemetry embedded in a local video, or None if there is none.

    StreamReadError if it is not a video. MissingExtraError if the package that reads it is not
    installed.
    """
    found = _read_gpmf(path)
    if found is not None:
        return found
    maker = _maker_of(path)
    return None if maker is None else _read_by_library(path, maker)


def _maker_of(path: str) -> str | None:
    """Return the maker of the camera if the library reads its telemetry, else None.

    StreamReadError if it is not a video.
    """
    with open_container(path, fast=True) as container:
        handlers = [stream.metadata.get("handler_name", "") for stream in container.streams]
        brand = container.metadata.get("major_brand", "")
    if any("DJI meta" in handler or "CAM meta" in handler for handler in handlers):
        return "DJI"
    if brand.startswith("XAVC"):
        return "Sony"
    with Path(path).open("rb") as file:
        file.seek(max(0, Path(path).stat().st_size - len(_INSTA360)))
        return "Insta360" if file.read() == _INSTA360 else None


def _read_by_library(path: str, maker: str) -> Telemetry | None:
    """Return the telemetry of a local video, or None if the library finds no motion in it.

    MissingExtraError if the library is not installed.
    """
    if find_spec(_PACKAGE) is None:
        purpose = f"telemetry of {maker} cameras"
        raise MissingExtraError("telemetry-parser", extra="telemetry", purpose=purpose)
    import telemetry_parser

    try:
        parser = telemetry_parser.Parser(path)
        tables = parser.telemetry(human_readable=False)
        rows = parser.normalized_imu()
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001  # a panic on damaged files is not an Exception
        return None
    sensors = {
        name: found
        for name, key, scale in (("gyro", "gyro", np.pi / 180.0), ("accel", "accl", 1.0))
        if (found := _triple(rows, key, scale)) is not None
    }
    if "gyro" not in sensors and (turned := _rates(tables)) is not None:
        sensors["gyro"] = turned
    if not sensors:
        return None
    model = str(parser.model or "")
    camera = model if model.startswith(maker) else f"{maker} {model}".strip()
    return Telemetry(camera=camera, sensors=sensors, stabilised=_stabilising_setting(tables))


def _triple(rows: Sequence[Mapping[str, Any]], key: str, scale: float) -> SensorSamples | None:
    """Return a sensor if it has a sample in nearly every row, else None."""
    known = [row for row in rows if row.get(key) is not None]
    if not known or len(known) < (1.0 - _MOST_LACKING) * len(rows):
        return None
    return SensorSamples(
        times_s=1e-3 * np.array([row["timestamp_ms"] for row in known]),
        values=scale * np.array([row[key] for row in known], dtype=np.float64),
    )


def _rates(tables: Sequence[Mapping[str, Any]]) -> SensorSamples | None:
    """Return the angular rate of a camera that wrote only its attitude, as DJI's do."""
    turns = [each for table in tables for each in table.get("Quaternion", {}).get("Data", ())]
    times_s = 1e-3 * np.array([turn["t"] for turn in turns])
    if times_s.size < 2 or not np.all(np.diff(times_s) > 0.0):
        return None
    quaternions = np.array([[turn["v"][axis] for axis in "xyzw"] for turn in turns])
    middle_s, rates = rates_of_attitudes(times_s, quaternions)
    return SensorSamples(times_s=middle_s, values=rates)


def _stabilising_setting(tables: Sequence[Mapping[str, Any]]) -> str | None:
    """Return the evidence that the image was stabilised, or None."""
    said = {key: value for table in tables for key, value in _leaves(table)}
    if said.get("is_flowstate_online") is True:
        return "according to the camera's settings (FlowState)"
    if said.get("eis_status/status"):
        return "according to the camera's settings (EIS)"
    if said.get("Stabilization/Enabled") is True:
        return "according to the camera's settings (Stabilization)"
    return None


def _leaves(tree: Mapping[str, Any], inside: str = "") -> Iterator[tuple[str, object]]:
    """Yield the values of nested tables under their own key, and under ``parent/key``."""
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, key)
        else:
            yield key, value
            yield f"{inside}/{key}", value


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SensorSamples:
    """Samples of one sensor."""

    times_s: Floats  # shape (n,); presentation times of the container
    values: Floats  # shape (n, d); in SI units
    # standard error of all times together
    std_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Telemetry:
    """Telemetry of one video."""

    camera: str  # make or model, for people
    # ``gyro`` in rad/s and ``accel`` in m/s^2 of three axes, ``speed`` over ground in m/s
    sensors: Mapping[str, SensorSamples]
    # evidence that the image was rotated relative to the camera; None if there is none
    stabilised: str | None = None


class _Payload(NamedTuple):
    begin_s: float
    last_s: float
    stamp_s: float | None  # its own timestamp
    total: int | None  # samples that the sensor has taken so far
    values: Floats


def _holds_gpmf(path: str) -> bool:
    """Return whether a local video holds GPMF telemetry; StreamReadError if it is not a video."""
    return next(_packets(path), None) is not None


def _read_gpmf(path: str) -> Telemetry | None:
    """Return the telemetry of a local video, or None if it holds no GPMF.

    StreamReadError if it is not a video.
    """
    found: dict[bytes, list[_Payload]] = {}
    settings: dict[bytes, str] = {}
    for content, begin_s, last_s in _packets(path):
        for key, _, _, device in _entries(content):
            if key == b"DEVC":
                _take_device(device, begin_s, last_s, found, settings)
    if not found:
        return None
    for key, _, _, device in _entries(_global_settings(path)):
        if key == b"DEVC":
            settings |= _settings_of(device)
    turns = found.pop(_IMAGE_TURN, None)
    return Telemetry(
        camera=f"GoPro {settings.get(b'MINF') or settings.get(b'DVNM', '')}".strip(),
        sensors={_SENSORS[key][0]: _on_one_clock(payloads) for key, payloads in found.items()},
        stabilised=_why_stabilised(settings, turns),
    )


def _packets(path: str) -> Iterator[tuple[bytes, float, float]]:
    """Yield (content, presentation time, duration) of the telemetry packets."""
    import av.stream

    with open_container(path, fast=True) as container:
        streams = [stream for stream in container.streams if stream.type == "data"]
        for stream in container.streams:
            if stream.type != "data" and hasattr(av.stream, "Discard"):  # not in older PyAV
                stream.discard = av.stream.Discard.all  # skip gigabytes of frames
        for packet in container.demux(streams) if streams else ():
            content = bytes(packet) if packet.size else b""
            if content.startswith(b"DEVC") and packet.pts is not None and packet.time_base:
                unit_s = float(packet.time_base)
                yield content, packet.pts * unit_s, (packet.duration or 0) * unit_s


def _global_settings(path: str) -> bytes:
    """Return the settings that the camera wrote behind the tracks."""
    try:
        users = list(Boxes(read_movie_box(path)[0]).all_of(b"udta"))
        return b"".join(user.content(_GLOBAL) for user in users if _GLOBAL in user)
    except (UnusualFileError, OSError):
        return b""


def _entries(content: bytes) -> Iterator[tuple[bytes, bytes, int, bytes]]:
    """Yield key, type, sample size and data of each entry; nested ones have type 0."""
    at = 0
    while at + _HEADER.size <= len(content):
        key, kind, size, count = _HEADER.unpack_from(content, at)
        if not key.strip(b"\0"):
            return  # padding
        at += _HEADER.size
        yield key, kind, size, content[at : at + size * count]
        at += -(-size * count // 4) * 4


def _take_device(
    device: bytes,
    begin_s: float,
    last_s: float,
    found: dict[bytes, list[_Payload]],
    settings: dict[bytes, str],
) -> None:
    """Add the contents of one payload for one device (a camera, a drone)."""
    for name, text in _settings_of(device).items():
        settings.setdefault(name, text)
    for key, _, _, stream in _entries(device):
        if key != b"STRM":
            continue
        parts = {name: (kind, size, data) for name, kind, size, data in _entries(stream)}
        sensor = next((name for name in (*_SENSORS, _IMAGE_TURN) if name in parts), None)
        fix = _first(parts, b"GPSF")  # of a GPS alone
        if sensor is None or (fix is not None and fix < _MIN_FIX):
            continue
        values = _scaled(parts, sensor)
        if values is None:
            continue  # damaged, or nothing was sampled
        total = _first(parts, b"TSMP")
        own = next((name for name in _STAMPS if name in parts), b"")
        stamp = _first(parts, own)
        payload = _Payload(
            begin_s,
            last_s,
            None if stamp is None else _STAMPS[own] * stamp,
            None if total is None else int(total),
            values,
        )
        found.setdefault(sensor, []).append(payload)


def _settings_of(device: bytes) -> dict[bytes, str]:
    """Return the strings of a device: its name, and how its image is stabilised."""
    wanted = (b"DVNM", b"MINF", b"EISE", b"EISA")
    inside = [*_entries(device)]
    inside += [each for key, *_, data in inside if key == b"STRM" for each in _entries(data)]
    return {
        key: data.rstrip(b"\0 ").decode("latin-1")
        for key, kind, _, data in inside
        if key in wanted and kind == b"c"
    }


def _scaled(parts: _Parts, sensor: bytes) -> Floats | None:
    """Return the samples of a payload in SI units, shape (n, d), if any."""
    values = _numbers(parts, sensor)
    scale = _numbers(parts, b"SCAL").ravel() if b"SCAL" in parts else np.ones(1)
    columns, width = _SENSORS.get(sensor, ("", slice(0, 4), 4))[1:]
    if not len(values) or values.shape[1] < width or scale.size not in (1, values.shape[1]):
        return None
    return (values / np.where(scale == 0.0, 1.0, scale))[:, columns]


def _first(parts: _Parts, key: bytes) -> float | None:
    """Return the first number of an entry; None if there is none."""
    found = _numbers(parts, key).ravel() if key in parts else np.empty(0)
    return float(found[0]) if found.size else None


def _numbers(parts: _Parts, key: bytes) -> Floats:
    """Return the numbers of an entry, shape (n, d)."""
    kind, size, data = parts[key]
    if kind == b"?":  # samples of several types, listed by TYPE
        layout = parts.get(b"TYPE", (b"c", 1, b""))[2].rstrip(b"\0")
        codes = [_CODES.get(bytes([each])) for each in layout]
    else:
        code = _CODES.get(kind)
        codes = [code] * (0 if code is None else size // np.dtype(code).itemsize)
    if not codes or None in codes:
        return np.empty((0, 1))
    row = np.dtype([(str(place), f">{code}") for place, code in enumerate(codes)])
    rows = np.frombuffer(data, row, len(data) // row.itemsize)
    return np.stack([rows[name].astype(np.float64) for name in row.names or ()], axis=1)


def _on_one_clock(payloads: Sequence[_Payload]) -> SensorSamples:
    """Assign times to all samples by a line through (samples before the payload, time)."""
    counts = np.array([len(each.values) for each in payloads])
    before = _samples_before(counts, [each.total for each in payloads])
    begins_s = np.array([each.begin_s for each in payloads])
    if counts.size == 1:
        period_s = payloads[0].last_s / counts[0]
    else:
        period_s = float(np.polyfit(before, begins_s, 1)[0])
        own_s = [each.stamp_s for each in payloads if each.stamp_s is not None]
        if len(own_s) == counts.size:
            slope_s = float(np.polyfit(before, np.array(own_s) - own_s[0], 1)[0])
            if abs(slope_s / period_s - 1.0) < _MOST_APART:
                period_s = slope_s
    # A payload begins with the next sample or chunk of samples. Whether its time is that of the
    # sample, or up to one chunk earlier or later, is unknown, and the same in all payloads.
    starts_s = begins_s - period_s * before
    start_s = float(np.mean(starts_s))
    std_s = max(float(np.std(starts_s)), period_s / math.sqrt(12.0))
    number = np.concatenate([first + np.arange(n) for first, n in zip(before, counts, strict=True)])
    values = np.concatenate([each.values for each in payloads])
    return SensorSamples(times_s=start_s + period_s * number, values=values, std_s=std_s)


def _samples_before(counts: NDArray[np.int64], totals: Sequence[int | None]) -> NDArray[np.int64]:
    """Return how many samples the sensor took before each payload, including lost ones."""
    known: NDArray[np.int64] = np.cumsum(counts) - counts
    listed = [total for total in totals if total is not None]
    if len(listed) < counts.size:
        return known
    before: NDArray[np.int64] = np.array(listed, dtype=np.int64) - counts
    before -= before[0]
    return before if bool(np.all(np.diff(before) >= counts[:-1])) else known


def _why_stabilised(settings: Mapping[bytes, str], turns: Sequence[_Payload] | None) -> str | None:
    """Return the evidence that the image was stabilised, or None."""
    applied = settings.get(b"EISA", "")
    if applied.upper() not in _UNSTABILISED:
        return f"according to the camera's settings (EISA {applied})"
    if not applied and settings.get(b"EISE", "") == "Y":
        return "according to the camera's settings (EISE Y)"
    if turns is not None:
        axes = np.concatenate([each.values for each in turns])[:, 1:4]
        most = 2.0 * math.asin(min(1.0, float(np.linalg.norm(axes, axis=1).max(initial=0.0))))
        if math.degrees(most) > _MIN_TURN_DEG:
            return f"the image was turned by up to {math.degrees(most):.1f} degrees (IORI)"
    return None
