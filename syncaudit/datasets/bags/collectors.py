"""Collect the messages of one topic; this module implements cameras."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from syncaudit.datasets.bags.collected import Collected, Damage, Stamps
from syncaudit.datasets.bags.layout import LayoutError, lay_out
from syncaudit.datasets.bags.samples import SAMPLE_TYPES
from syncaudit.datasets.bags.topics import Topic
from syncaudit.datasets.images import ImageError, ImageFile, codec_of, raw_image
from syncaudit.errors import MissingExtraError

_FOXGLOVE_IMAGES = frozenset(
    {"foxglove.CompressedImage", "foxglove.CompressedVideo", "foxglove.RawImage"}
)
_ROS_IMAGES = frozenset(
    {
        "sensor_msgs/msg/Image",
        "sensor_msgs/msg/CompressedImage",
        "foxglove_msgs/msg/CompressedImage",
        "foxglove_msgs/msg/CompressedVideo",
        "ffmpeg_image_transport_msgs/msg/FFMPEGPacket",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _ImageMessage:
    stamp_ns: int  # of its header
    data: bytes
    said: str  # format or encoding as given in the message
    # width, height, bytes per row, whether words are big endian; for uncompressed images
    raw: tuple[int, int, int, bool] | None = None


def _image_reader(topic: Topic, types: Mapping[str, Any]) -> Callable[[bytes], _ImageMessage]:
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

    def read(data: bytes) -> _ImageMessage:
        layout = lay_out(data, types, topic.type_name, is_ros1=is_ros1)
        raw = None
        if is_raw:
            raw = (
                layout.number(data, "width"),
                layout.number(data, "height"),
                layout.number(data, "step"),
                bool(layout.number(data, "is_bigendian")),
            )
        return _ImageMessage(
            stamp_ns=layout.time_ns(data, stamp),
            data=layout.raw(data, "data"),
            said=layout.text(data, said),
            raw=raw,
        )

    return read


def _from_json(data: bytes) -> _ImageMessage:
    try:
        found = json.loads(data)
        stamp = found["timestamp"]
        raw = None
        if "step" in found:
            raw = (int(found["width"]), int(found["height"]), int(found["step"]), False)
        return _ImageMessage(
            stamp_ns=int(stamp["sec"]) * 10**9 + int(stamp["nsec"]),
            data=base64.b64decode(found["data"], validate=True),
            said=str(found["encoding" if raw else "format"]),
            raw=raw,
        )
    except (ArithmeticError, ValueError, LookupError, TypeError, RecursionError) as error:
        raise LayoutError(f"{type(error).__name__}: {error}") from error


def _protobuf_reader(topic: Topic) -> Callable[[bytes], _ImageMessage]:
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

    def read(data: bytes) -> _ImageMessage:
        try:
            found = decode(data)
            raw = None
            if topic.type_name == "foxglove.RawImage":
                raw = (found.width, found.height, found.step, False)
            return _ImageMessage(
                stamp_ns=found.timestamp.seconds * 10**9 + found.timestamp.nanos,
                data=found.data,
                said=found.encoding if raw else found.format,
                raw=raw,
            )
        except (DecodeError, AttributeError, TypeError) as error:
            raise LayoutError(f"{type(error).__name__}: {error}") from error

    return read


class Collector(Protocol):
    """Takes the messages of one topic in file order."""

    def add(self, receive_ns: int, publish_ns: int | None, data: bytes) -> None:
        """Take one message."""

    def finish(self) -> list[Collected]:
        """Return the sources made from the messages."""


# What is left out by its type: the reason.
_LEFT_OUT = (
    ("PointCloud", "points of a lidar or depth camera have no texture to follow"),
    ("LaserScan", "points of a lidar have no texture to follow"),
    ("CompressedImage", "depth: distances show no light"),
    ("Image", "depth: distances show no light"),
    ("/msg/", "its numbers are read only if a [[topic]] rule names them"),
)
# Encodings of distances (REP 118), which are also used for other 16-bit images.
_DISTANCES = frozenset({"16UC1", "32FC1"})


def why_not_taken(topic: Topic) -> str:
    """Return why a topic's type is not audited; "" if the type does not explain it."""
    return next((why for word, why in _LEFT_OUT if word in topic.type_name), "")


def collector_for(
    topic: Topic, types: Mapping[str, Any], images: Path | None, first: bytes
) -> Collector | None:
    """Return the collector for a topic's type, or None if the type is not audited.

    `images` is the path for images, without suffix; None leaves them out. `first` is a message.
    LayoutError if messages cannot be read at all.
    """
    if topic.encoding in ("ros1", "cdr"):
        if topic.type_name in _ROS_IMAGES:
            read = _image_reader(topic, types)
            return None if _is_depth(topic, read, first) else CameraCollector(topic, read, images)
        if topic.type_name in SAMPLE_TYPES:
            return SAMPLE_TYPES[topic.type_name](topic, types)
    if topic.encoding in ("protobuf", "json") and topic.type_name in _FOXGLOVE_IMAGES:
        return CameraCollector(topic, _image_reader(topic, types), images)
    return None


def _is_depth(topic: Topic, read: Callable[[bytes], _ImageMessage], first: bytes) -> bool:
    """Return whether a topic's images are distances, judging by name and encoding."""
    if topic.name.endswith("/compressedDepth"):
        return True
    try:
        return "depth" in topic.name.lower() and read(first).said.partition(";")[0] in _DISTANCES
    except (ValueError, LookupError):
        return False  # the collector counts unreadable messages


class CameraCollector:
    """Collects the timestamps of a camera, and writes its images to a file."""

    def __init__(
        self, topic: Topic, read: Callable[[bytes], _ImageMessage], images: Path | None
    ) -> None:
        self._topic, self._read = topic, read
        self._file = None if images is None else ImageFile(images)
        self._stamps, self._damage = Stamps(), Damage()
        self._refused: ImageError | None = None

    def add(self, receive_ns: int, publish_ns: int | None, data: bytes) -> None:
        """Take one image."""
        try:
            found = self._read(data)
            if not -(2**63) <= found.stamp_ns < 2**63:
                raise LayoutError(f"its stamp is {found.stamp_ns} ns")
            if not len(found.data):
                raise LayoutError("it holds no image")
        except (ValueError, LookupError) as error:
            self._damage.note(error)
            return
        self._stamps.add(found.stamp_ns, receive_ns, publish_ns)
        if self._file is None or self._refused is not None:
            return
        try:
            self._keep(self._file, found, receive_ns)
        except ImageError as error:
            self._refused = error
            self._file.close()

    def _keep(self, file: ImageFile, found: _ImageMessage, at_ns: int) -> None:
        if found.raw is None:
            file.add(found.data, codec_of(found.data, found.said), at_ns)
            return
        width, height, step, is_big = found.raw
        frame = raw_image(
            found.data, found.said, width=width, height=height, step=step, is_big=is_big
        )
        file.add_raw(frame, at_ns)

    def finish(self) -> list[Collected]:
        """Return the camera."""
        columns, is_captured, findings = self._stamps.columns()
        uri, n_skipped, n_kept = None, 0, 0
        if self._file is not None:
            if self._refused is None:
                self._file.close()
            uri, n_kept = self._file.uri, self._file.n_kept
            n_skipped = self._file.n_skipped if uri is not None else 0
            if uri is None and self._refused is None and len(self._stamps):
                findings.append(
                    f"corrupt: none of its {len(self._stamps)} images can be decoded, so only "
                    "its timestamps are audited"
                )
        if n_skipped:
            findings.append(
                f"corrupt: the recording starts inside a video: {n_skipped} images before the "
                "first key frame cannot be decoded and are left out with their timestamps"
            )
        if self._refused is not None:
            findings.append(
                f"unreadable: images are left out from number {n_kept} on: {self._refused}"
            )
        return [
            Collected(
                topic=self._topic.name,
                kind="camera",
                columns={name: values[n_skipped:] for name, values in columns.items()},
                is_captured=is_captured,
                images=uri,
                findings=findings + self._damage.findings(self._topic.name),
            )
        ]
