"""VideoIMUCapture recordings, written by protobuf with the application's field numbers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

BOOT_NS = 98_765_432_109_876
FRAME_NS = 33_333_333
EXPOSURE_NS, READOUT_NS = 8_000_000, 20_000_000
_INT64, _FLOAT, _BOOL, _INT32, _MESSAGE = 3, 2, 8, 5, 11
_MESSAGES = {
    "Size": {"width": (1, _INT32), "height": (2, _INT32)},
    "Camera": {
        "optical_image_stabilization": (3, _BOOL),
        "video_stabilization": (4, _BOOL),
        "timestamp_source": (6, _INT32),
        "resolution": (11, "Size"),
    },
    "Imu": {"time_ns": (1, _INT64), "gyro": (2, [_FLOAT]), "accel": (4, [_FLOAT])},
    "Frame": {
        "time_ns": (1, _INT64),
        "frame_number": (2, _INT64),
        "exposure_time_ns": (3, _INT64),
        "frame_readout_ns": (5, _INT64),
        "est_focal_length_pix": (8, _FLOAT),
    },
    "Time": {"seconds": (1, _INT64)},
    "Recording": {
        "time": (1, "Time"),
        "camera_meta": (2, "Camera"),
        "imu": (4, ["Imu"]),
        "video_meta": (5, ["Frame"]),
    },
}


@cache
def _recording() -> Any:
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    file = descriptor_pb2.FileDescriptorProto(name="videoimu.proto", syntax="proto3")
    for title, fields in _MESSAGES.items():
        message = file.message_type.add(name=title)
        for name, (number, kind) in fields.items():
            is_list = isinstance(kind, list)
            own = kind[0] if is_list else kind
            field = message.field.add(name=name, number=number, label=3 if is_list else 1)
            field.type = own if isinstance(own, int) else _MESSAGE
            if isinstance(own, str):
                field.type_name = own
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("Recording"))


def written(*parts: dict[str, Any]) -> bytes:
    """Return a file as the application appends to it: one message per part."""
    head = {"time": {"seconds": 1_700_000_000}}
    return b"".join(_recording()(**part).SerializeToString() for part in (head, *parts))


def camera(**said: Any) -> dict[str, Any]:
    """Return the camera metadata that a phone writes."""
    return {"camera_meta": {"timestamp_source": 1, **said}}


def frames(numbers: Sequence[int]) -> list[dict[str, Any]]:
    """Return the frame metadata that a phone writes, at 30 Hz."""
    return [
        {
            "video_meta": [
                {
                    "time_ns": BOOT_NS + FRAME_NS * number,
                    "frame_number": number,
                    "exposure_time_ns": EXPOSURE_NS,
                    "frame_readout_ns": READOUT_NS,
                    "est_focal_length_pix": 500.0,
                }
            ]
        }
        for number in numbers
    ]


def samples(n: int) -> list[dict[str, Any]]:
    """Return sensor samples at 100 Hz."""
    return [
        {"imu": [{"time_ns": BOOT_NS + 10**7 * k, "gyro": [0.5, 0, -k], "accel": [0, 0, 9.75]}]}
        for k in range(n)
    ]


def write_videoimu(folder: Path, n_clips: int) -> Path:
    """Write recordings of half a second."""
    from testkit.videos import exact_frame, write_video

    root = folder / "phone"
    for number in range(n_clips):
        own = root / f"2026_01_02_03_04_{number:02d}"
        own.mkdir(parents=True)
        (own / "video_meta.pb3").write_bytes(written(camera(), *frames(range(10)), *samples(50)))
        pictures = (np.full((48, 64), 20 * k, np.uint8) for k in range(10))
        write_video(own / "video_recording.mp4", map(exact_frame, pictures))
    return root
