"""Extract timestamp and image from the message types that carry images."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from syncaudit.datasets.bags.layout import LayoutError, lay_out
from syncaudit.datasets.bags.topics import Topic
from syncaudit.errors import MissingExtraError

__all__ = ["FOXGLOVE_IMAGES", "ROS_IMAGES", "ImageMessage", "image_reader"]

FOXGLOVE_IMAGES = frozenset(
    {"foxglove.CompressedImage", "foxglove.CompressedVideo", "foxglove.RawImage"}
)
ROS_IMAGES = frozenset(
    {
        "sensor_msgs/msg/Image",
        "sensor_msgs/msg/CompressedImage",
        "foxglove_msgs/msg/CompressedImage",
        "foxglove_msgs/msg/CompressedVideo",
        "ffmpeg_image_transport_msgs/msg/FFMPEGPacket",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageMessage:
    """One message of a camera."""

    stamp_ns: int  # of its header
    data: bytes
    said: str  # format or encoding as given in the message
    # width, height, bytes per row, whether words are big endian; for uncompressed images
    raw: tuple[int, int, int, bool] | None = None


def image_reader(topic: Topic, types: Mapping[str, Any]) -> Callable[[bytes], ImageMessage]:
    """Return the function that reads a camera topic's messages.

    It raises `LayoutError` for a message that does not match its type.
    """
    if topic.encoding == "json":
        return _from_json
    if topic.encoding == "protobuf":
        return _protobuf_reader(topic)
    is_ros1 = topic.encoding == "ros1"
    stamp = "timestamp" if topic.type_name.startswith("foxglove") else "header.stamp"
    is_raw = topic.type_name == "sensor_msgs/msg/Image"
    said = "encoding" if is_raw or topic.type_name.endswith("FFMPEGPacket") else "format"

    def read(data: bytes) -> ImageMessage:
        layout = lay_out(data, types, topic.type_name, is_ros1=is_ros1)
        seconds = layout.number(data, f"{stamp}.sec")
        raw = None
        if is_raw:
            raw = (
                layout.number(data, "width"),
                layout.number(data, "height"),
                layout.number(data, "step"),
                bool(layout.number(data, "is_bigendian")),
            )
        return ImageMessage(
            stamp_ns=seconds * 10**9 + layout.number(data, f"{stamp}.nanosec"),
            data=layout.raw(data, "data"),
            said=layout.text(data, said),
            raw=raw,
        )

    return read


def _from_json(data: bytes) -> ImageMessage:
    try:
        found = json.loads(data)
        stamp = found["timestamp"]
        raw = None
        if "step" in found:
            raw = (int(found["width"]), int(found["height"]), int(found["step"]), False)
        return ImageMessage(
            stamp_ns=int(stamp["sec"]) * 10**9 + int(stamp["nsec"]),
            data=base64.b64decode(found["data"], validate=True),
            said=str(found["encoding" if raw else "format"]),
            raw=raw,
        )
    except (ArithmeticError, ValueError, LookupError, TypeError, RecursionError) as error:
        raise LayoutError(f"{type(error).__name__}: {error}") from error


def _protobuf_reader(topic: Topic) -> Callable[[bytes], ImageMessage]:
    try:
        from google.protobuf.message import DecodeError
        from mcap.records import Schema
        from mcap_protobuf.decoder import DecoderFactory
    except ImportError as error:
        raise MissingExtraError(
            "mcap-protobuf-support", extra="ros", purpose=f"topic {topic.name}"
        ) from error
    schema = Schema(id=1, name=topic.type_name, encoding="protobuf", data=topic.schema)
    try:
        decode = DecoderFactory().decoder_for("protobuf", schema)
    except Exception as error:  # Protocol Buffers and mcap raise many types
        raise LayoutError(f"its schema cannot be read ({error})") from error
    if decode is None:
        raise LayoutError("it has no Protocol Buffers schema")

    def read(data: bytes) -> ImageMessage:
        try:
            found = decode(data)
            raw = None
            if topic.type_name == "foxglove.RawImage":
                raw = (found.width, found.height, found.step, False)
            return ImageMessage(
                stamp_ns=found.timestamp.seconds * 10**9 + found.timestamp.nanos,
                data=found.data,
                said=found.encoding if raw else found.format,
                raw=raw,
            )
        except (DecodeError, AttributeError, TypeError) as error:
            raise LayoutError(f"{type(error).__name__}: {error}") from error

    return read
