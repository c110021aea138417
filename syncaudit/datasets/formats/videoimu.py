"""Import recordings of the phone application VideoIMUCapture: a video, and measurements."""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Iterator
from itertools import count, takewhile
from pathlib import Path
from typing import Any

import numpy as np

from syncaudit.datasets.formats.log_files import Log, LogFileFormat, Logged

_VIDEO = "video_recording.mp4"
# Numbers of fields (protobuf/recording.proto): of the recording,
_CAMERA, _IMU, _FRAME = 2, 4, 5
# the camera,
_STABILISATION = {3: "optical", 4: "digital"}
_TIMESTAMP_SOURCE = 6
# samples of the sensors,
_TRIPLES = {"gyro": 2, "accel": 4}
# frames of the video, and both.
_NUMBER, _EXPOSURE_NS, _READOUT_NS, _FOCAL_PX = 2, 3, 5, 8
_TIME_NS = 1
# Wire types of fields, and the sizes of fixed-size ones.
_VARINT, _BYTES = 0, 2
_SIZES = {1: 8, 5: 4}
_LONGEST_VARINT = 10

_Message = dict[int, Any]


class VideoImuFormat(LogFileFormat):
    """One clip per recording: a folder with ``video_meta.pb3`` and ``video_recording.mp4``.

    Frames are timestamped at mid-exposure of their middle row, computed from what Android states:
    start of exposure of the first row, exposure time, and readout time.
    """

    name = "videoimu"
    summary = "recordings of VideoIMUCapture: video_meta.pb3, video_recording.mp4"
    _suffixes = ("video_meta.pb3",)
    _magics = (b"\n",)  # the field of the start time

    def _load(self, path: Path) -> Any:
        fields: defaultdict[int, list[_Message]] = defaultdict(list)
        damage = None
        try:
            for number, value in _fields(path.read_bytes()):
                if number in (_CAMERA, _IMU, _FRAME):
                    fields[number].append(dict(_fields(value)))
        except ValueError as error:
            damage = str(error)
        return fields, damage

    def _sources_of(self, content: Any, log: Log) -> tuple[dict[str, Logged], list[str]]:
        fields, damage = content
        logged: dict[str, Logged] = {}
        if log.first_of([_VIDEO]) is None:
            log.note(f"left out the camera: {_VIDEO} is not there")
        elif not fields[_FRAME]:
            log.note("left out the camera: its frames have no times")
        else:
            logged["camera"] = _camera(fields[_FRAME], fields[_CAMERA])
        if samples := fields[_IMU]:
            logged["imu"] = Logged(columns=_columns(samples))
        return logged, [f"corrupt: {log.name} {damage}. Copy it again."] if damage else []


def _camera(frames: list[_Message], about: list[_Message]) -> Logged:
    by_number = {frame.get(_NUMBER, 0): frame for frame in frames}
    dated = [by_number[number] for number in takewhile(by_number.__contains__, count())]
    said: _Message = {key: value for each in about for key, value in each.items()}
    findings = [
        f"unobservable: the {kind} stabilisation was on, so the image does not turn as the "
        "phone does. Record with it switched off."
        for number, kind in _STABILISATION.items()
        if said.get(number)
    ]
    if not said.get(_TIMESTAMP_SOURCE):
        findings.append(
            "offset: the phone does not guarantee that its camera and its sensors share one "
            "clock (timestamp_source UNKNOWN)"
        )
    if len(dated) < len(by_number):
        findings.append(
            f"missing_frames: nothing states when frame {len(dated)} of the video was taken: from "
            "there on it has no times"
        )
    times_ns = [
        frame[_TIME_NS] + (frame.get(_EXPOSURE_NS, 0) + frame.get(_READOUT_NS, 0)) // 2
        for frame in dated
    ]
    row: dict[str, Any] = {"kind": "camera"}
    if focal_px := [_floats(frame[_FOCAL_PX])[0] for frame in dated if _FOCAL_PX in frame]:
        row["focal_px"] = float(np.median(focal_px))
    columns = {"timestamp_ns": np.array(times_ns, np.int64)}
    return Logged(columns=columns, row=row, findings=findings, video=_VIDEO)


def _columns(samples: list[_Message]) -> dict[str, Any]:
    columns: dict[str, Any] = {
        "timestamp_ns": np.array([sample[_TIME_NS] for sample in samples], np.int64)
    }
    for triple, number in _TRIPLES.items():
        values = np.array([_floats(sample[number]) for sample in samples]).T
        columns |= {f"{triple}_{axis}": values[k] for k, axis in enumerate("xyz")}
    return columns


def _floats(data: bytes) -> tuple[float, ...]:
    return struct.unpack(f"<{len(data) // 4}f", data)


def _fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """Yield (number, value) of a Protocol Buffers message: an integer, else bytes.

    ValueError if it breaks off or is not one.
    """
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        number, kind = divmod(key, 8)
        if kind == _VARINT:
            value, at = _varint(data, at)
            yield number, value
            continue
        size, at = _varint(data, at) if kind == _BYTES else (_SIZES.get(kind, len(data)), at)
        if at + size > len(data):
            raise ValueError(f"is damaged or breaks off at byte {at}")
        yield number, data[at : at + size]
        at += size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return a variable-length integer and the position of its end."""
    value = 0
    for k, byte in enumerate(data[at : at + _LONGEST_VARINT]):
        value |= (byte & 0x7F) << 7 * k
        if byte < 0x80:
            return value, at + k + 1
    raise ValueError(f"is damaged or breaks off at byte {at}")
