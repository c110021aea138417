"""Collect the messages of one topic; this module implements cameras."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from syncaudit.datasets.bags.collected import Collected, Damage, stamp_columns
from syncaudit.datasets.bags.image_messages import (
    FOXGLOVE_IMAGES,
    ROS_IMAGES,
    ImageMessage,
    image_reader,
)
from syncaudit.datasets.bags.layout import LayoutError
from syncaudit.datasets.bags.samples import SAMPLE_TYPES
from syncaudit.datasets.bags.topics import Topic
from syncaudit.datasets.images.image_file import ImageFile, codec_of
from syncaudit.datasets.images.raw_images import ImageError, raw_image

__all__ = ["Collector", "collector_for", "why_not_taken"]


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
        if topic.type_name in ROS_IMAGES:
            read = image_reader(topic, types)
            return None if _is_depth(topic, read, first) else CameraCollector(topic, read, images)
        if topic.type_name in SAMPLE_TYPES:
            return SAMPLE_TYPES[topic.type_name](topic, types)
    if topic.encoding in ("protobuf", "json") and topic.type_name in FOXGLOVE_IMAGES:
        return CameraCollector(topic, image_reader(topic, types), images)
    return None


def _is_depth(topic: Topic, read: Callable[[bytes], ImageMessage], first: bytes) -> bool:
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
        self, topic: Topic, read: Callable[[bytes], ImageMessage], images: Path | None
    ) -> None:
        self._topic, self._read = topic, read
        self._file = None if images is None else ImageFile(images)
        self._capture, self._receive, self._publish = array("q"), array("q"), array("q")
        self._damage = Damage()
        self._refused: ImageError | None = None

    def add(self, receive_ns: int, publish_ns: int | None, data: bytes) -> None:
        """Take one image."""
        try:
            found = self._read(data)
            if not -(2**63) <= found.stamp_ns < 2**63:
                raise LayoutError(f"its stamp is {found.stamp_ns} ns")
        except (ValueError, LookupError) as error:
            self._damage.note(error)
            return
        self._capture.append(found.stamp_ns)
        self._receive.append(receive_ns)
        if publish_ns is not None:
            self._publish.append(publish_ns)
        if self._file is None or self._refused is not None:
            return
        try:
            self._keep(self._file, found, receive_ns)
        except ImageError as error:
            self._refused = error
            self._file.close()

    def _keep(self, file: ImageFile, found: ImageMessage, at_ns: int) -> None:
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
        columns, is_captured, findings = stamp_columns(
            np.array(self._capture), np.array(self._receive), np.array(self._publish)
        )
        uri, n_skipped = None, 0
        if self._file is not None:
            if self._refused is None:
                self._file.close()
            uri = self._file.uri
            n_skipped = self._file.n_skipped if uri is not None else 0
            if uri is None and self._refused is None and len(self._capture):
                findings.append(
                    f"corrupt: none of its {len(self._capture)} images can be decoded, so only "
                    "its timestamps are audited"
                )
        if n_skipped:
            findings.append(
                f"corrupt: the recording starts inside a video: {n_skipped} images before the "
                "first key frame cannot be decoded and are left out with their timestamps"
            )
        if self._refused is not None:
            findings.append(
                f"unreadable: images are left out from number {self._kept} on: {self._refused}"
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

    @property
    def _kept(self) -> int:
        return 0 if self._file is None else self._file.n_kept
