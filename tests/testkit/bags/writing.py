"""Write small bags with each format's own library."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from mcap.writer import CompressionType
from mcap.writer import Writer as McapWriter
from rosbags.rosbag1 import Writer as Writer1
from rosbags.rosbag2 import StoragePlugin
from rosbags.rosbag2 import Writer as Writer2
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

CAN_FRAME = (
    "std_msgs/Header header\nuint32 id\nbool is_rtr\nbool is_extended\nbool is_error\n"
    "uint8 dlc\nuint8[8] data\n"
)
VIDEO = "builtin_interfaces/Time timestamp\nstring frame_id\nuint8[] data\nstring format\n"
START_NS = 1_767_225_600_000_000_000

IMAGE, COMPRESSED = "sensor_msgs/msg/Image", "sensor_msgs/msg/CompressedImage"
IMU, JOINTS = "sensor_msgs/msg/Imu", "sensor_msgs/msg/JointState"
FRAME, CLIP = "can_msgs/msg/Frame", "foxglove_msgs/msg/CompressedVideo"


class Messages:
    """Build and serialize messages of one ROS generation."""

    def __init__(self, *, is_ros1: bool) -> None:
        self.is_ros1 = is_ros1
        self.store = get_typestore(Stores.ROS1_NOETIC if is_ros1 else Stores.LATEST)
        self.store.register(get_types_from_msg(CAN_FRAME, FRAME))
        self.store.register(get_types_from_msg(VIDEO, CLIP))

    def make(self, type_name: str, **fields: Any) -> Any:
        return self.store.types[type_name](**fields)

    def stamp(self, stamp_ns: int) -> Any:
        return self.make(
            "builtin_interfaces/msg/Time", sec=stamp_ns // 10**9, nanosec=stamp_ns % 10**9
        )

    def header(self, stamp_ns: int, frame: str = "link") -> Any:
        extra = {"seq": 0} if self.is_ros1 else {}
        return self.make("std_msgs/msg/Header", stamp=self.stamp(stamp_ns), frame_id=frame, **extra)

    def imu(
        self,
        stamp_ns: int,
        gyro: Sequence[float],
        accel: Sequence[float],
        *,
        frame: str = "imu_link",
        has_accel: bool = True,
    ) -> Any:
        vector, nine = "geometry_msgs/msg/Vector3", np.zeros(9)
        none = nine.copy()
        none[0] = -1.0
        return self.make(
            IMU,
            header=self.header(stamp_ns, frame),
            orientation=self.make("geometry_msgs/msg/Quaternion", x=0.0, y=0.0, z=0.0, w=1.0),
            orientation_covariance=none,
            angular_velocity=self.make(vector, **dict(zip("xyz", map(float, gyro), strict=True))),
            angular_velocity_covariance=nine,
            linear_acceleration=self.make(
                vector, **dict(zip("xyz", map(float, accel), strict=True))
            ),
            linear_acceleration_covariance=nine if has_accel else none,
        )

    def joints(self, stamp_ns: int, names: Sequence[str], position: Sequence[float]) -> Any:
        return self.make(
            JOINTS,
            header=self.header(stamp_ns),
            name=list(names),
            position=np.array(position, dtype=np.float64),
            velocity=np.array([], dtype=np.float64),
            effort=np.array([], dtype=np.float64),
        )

    def can(self, stamp_ns: int, number: int, data: bytes, *, is_extended: bool = False) -> Any:
        padded = np.frombuffer(data.ljust(8, b"\0"), np.uint8)
        return self.make(
            FRAME,
            header=self.header(stamp_ns),
            id=number,
            is_rtr=False,
            is_extended=is_extended,
            is_error=False,
            dlc=len(data),
            data=padded,
        )

    def compressed(self, stamp_ns: int, data: bytes, form: str = "jpeg") -> Any:
        return self.make(
            COMPRESSED,
            header=self.header(stamp_ns),
            format=form,
            data=np.frombuffer(data, np.uint8),
        )

    def image(self, stamp_ns: int, pixels: np.ndarray, encoding: str, *, padding: int = 0) -> Any:
        rows = pixels.reshape(pixels.shape[0], -1).view(np.uint8)
        rows = np.pad(rows, ((0, 0), (0, padding)))
        return self.make(
            IMAGE,
            header=self.header(stamp_ns),
            height=pixels.shape[0],
            width=pixels.shape[1],
            encoding=encoding,
            is_bigendian=0,
            step=rows.shape[1],
            data=rows.ravel(),
        )

    def video(self, stamp_ns: int, data: bytes, form: str = "h264") -> Any:
        return self.make(
            CLIP,
            timestamp=self.stamp(stamp_ns),
            frame_id="cam",
            data=np.frombuffer(data, np.uint8),
            format=form,
        )

    def serialize(self, message: Any, name: str) -> bytes:
        store = self.store
        out = store.serialize_ros1 if self.is_ros1 else store.serialize_cdr
        return bytes(out(message, name))

    def definition(self, name: str) -> str:
        return str(self.store.generate_msgdef(name, ros_version=1 if self.is_ros1 else 2)[0])


@dataclass(frozen=True, slots=True)
class Sent:
    """A message to be written into a bag."""

    topic: str
    type_name: str
    message: Any
    receive_ns: int
    publish_ns: int | None = None
    raw: bytes | None = field(default=None)


def write_bag(path: Path, sent: Iterable[Sent], messages: Messages, **options: Any) -> Path:
    """Write a ROS 1 bag (``.bag``), a rosbag2 folder or an MCAP file, depending on the suffix."""
    if path.suffix == ".bag":
        return _write_ros1(path, sent, messages, **options)
    if path.suffix == ".mcap":
        return _write_mcap(path, sent, messages, **options)
    return _write_ros2(path, sent, messages, **options)


def _write_all(writer: Writer1 | Writer2, sent: Iterable[Sent], messages: Messages) -> None:
    with writer:
        connections: dict[str, Any] = {}
        for each in sent:
            if each.topic not in connections:
                connections[each.topic] = writer.add_connection(
                    each.topic, each.type_name, typestore=messages.store
                )
            data = each.raw or messages.serialize(each.message, each.type_name)
            writer.write(connections[each.topic], each.receive_ns, data)


def _write_ros1(path: Path, sent: Iterable[Sent], messages: Messages, compression: Any = None):
    writer = Writer1(path)
    if compression is not None:
        writer.set_compression(compression)
    _write_all(writer, sent, messages)
    return path


def _write_ros2(
    path: Path,
    sent: Iterable[Sent],
    messages: Messages,
    *,
    storage: str = "sqlite3",
    version: int = 9,
    compression: Any = None,
) -> Path:
    plugin = StoragePlugin.MCAP if storage == "mcap" else StoragePlugin.SQLITE3
    writer = Writer2(path, version=version, storage_plugin=plugin)
    if compression is not None:
        writer.set_compression(*compression)
    _write_all(writer, sent, messages)
    return path


def _write_mcap(
    path: Path,
    sent: Iterable[Sent],
    messages: Messages,
    *,
    compression: CompressionType = CompressionType.ZSTD,
    chunk_size: int = 1 << 18,
    use_chunking: bool = True,
) -> Path:
    encoding = "ros1" if messages.is_ros1 else "cdr"
    with path.open("wb") as file:
        writer = McapWriter(
            file, compression=compression, chunk_size=chunk_size, use_chunking=use_chunking
        )
        writer.start(profile="ros1" if messages.is_ros1 else "ros2")
        channels: dict[str, int] = {}
        for each in sent:
            if each.topic not in channels:
                schema = writer.register_schema(
                    name=each.type_name,
                    encoding="ros1msg" if messages.is_ros1 else "ros2msg",
                    data=messages.definition(each.type_name).encode(),
                )
                channels[each.topic] = writer.register_channel(
                    topic=each.topic, message_encoding=encoding, schema_id=schema
                )
            publish_ns = each.receive_ns if each.publish_ns is None else each.publish_ns
            writer.add_message(
                channel_id=channels[each.topic],
                log_time=each.receive_ns,
                publish_time=publish_ns,
                data=each.raw or messages.serialize(each.message, each.type_name),
            )
        writer.finish()
    return path


def jpeg(shade: int, *, width: int = 64, height: int = 48) -> bytes:
    """Return a small JPEG whose mean level is near `shade`."""
    import cv2

    picture = np.full((height, width), shade, np.uint8)
    picture[: height // 4, : width // 4] = 255 - shade
    return bytes(cv2.imencode(".jpg", picture)[1])


def stamps(n: int, rate_hz: float, *, seed: int = 0, jitter_s: float = 2e-4) -> np.ndarray:
    """Return the capture timestamps of a source with slight jitter."""
    rng = np.random.default_rng(seed)
    times = np.arange(n) / rate_hz + rng.normal(0.0, jitter_s, n)
    return START_NS + np.round(times * 1e9).astype(np.int64)


def arrivals(
    capture_ns: np.ndarray, *, seed: int = 0, floor_s: float = 0.006, mean_s: float = 0.002
) -> np.ndarray:
    """Return sorted arrival times at the recorder: a minimum latency plus exponential delays."""
    rng = np.random.default_rng(1000 + seed)
    delay_s = floor_s + rng.exponential(mean_s, capture_ns.size)
    return np.maximum.accumulate(capture_ns + np.round(delay_s * 1e9).astype(np.int64))


def pack(*parts: Iterable[Sent]) -> list[Sent]:
    """Return the messages in order of arrival."""
    return sorted((each for part in parts for each in part), key=lambda each: each.receive_ns)


def u32(value: int) -> bytes:
    return struct.pack("<I", value)
