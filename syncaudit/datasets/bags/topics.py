"""Describe the topics of a bag and the fields of their messages, for any container."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

# Common types outside the core of any distribution, as their packages publish them.
_MORE = {
    "can_msgs/msg/Frame": """std_msgs/Header header
uint32 id
bool is_rtr
bool is_extended
bool is_error
uint8 dlc
uint8[8] data
""",
    "audio_common_msgs/msg/AudioInfo": """uint8 channels
uint32 sample_rate
string sample_format
uint32 bitrate
string coding_format
""",
    "audio_common_msgs/msg/AudioData": "uint8[] data\n",
    "audio_common_msgs/msg/AudioDataStamped": """std_msgs/Header header
audio_common_msgs/AudioData audio
""",
    "ffmpeg_image_transport_msgs/msg/FFMPEGPacket": """std_msgs/Header header
int32 width
int32 height
string encoding
uint64 pts
uint8 flags
bool is_bigendian
uint8[] data
""",
    **dict.fromkeys(
        ("foxglove_msgs/msg/CompressedVideo", "foxglove_msgs/msg/CompressedImage"),
        """builtin_interfaces/Time timestamp
string frame_id
uint8[] data
string format
""",
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Topic:
    """One topic with one message type."""

    name: str  # as published, ``/camera/front/image_raw``
    type_name: str  # ``sensor_msgs/msg/Imu``, also for ROS 1; ``foxglove.RawImage``
    encoding: str  # ``ros1``, ``cdr``, ``protobuf``, ``json`` or what the bag states
    schema_format: str = ""  # ``msg``, ``idl``, ``protobuf``; "" if the bag holds no definition
    schema: bytes = b""


# (topic, receive stamp in ns, publish stamp in ns or None, serialized message), in file order.
Messages = Iterator[tuple[Topic, int, int | None, bytes]]
# Receives a description of where a file breaks off; what comes before it is used.
OnDamage = Callable[[str], None]


class TopicTable:
    """The topics of one recording: files and connections of one topic share its entry."""

    def __init__(self) -> None:
        self._topics: dict[tuple[str, str, str], Topic] = {}

    def entry(
        self, name: str, type_name: str, encoding: str, schema_format: str = "", schema: bytes = b""
    ) -> Topic:
        """Return the topic with that name, type and encoding, added on first use."""
        if encoding in ("ros1", "cdr") and type_name.count("/") == 1:
            type_name = type_name.replace("/", "/msg/")
        topic = Topic(
            name=name,
            type_name=type_name,
            encoding=encoding,
            schema_format=schema_format,
            schema=schema,
        )
        return self._topics.setdefault((name, type_name, encoding), topic)


class Definitions:
    """Field definitions of one recording's types, in the form of rosbags.

    A bag's own definitions take precedence; types that it does not define (rosbag2 before Iron
    stored none) are looked up by name in the latest distribution, since sensor types have not
    changed.
    """

    def __init__(self) -> None:
        self._known: dict[bool, dict[str, Any]] = {}

    def of(self, topic: Topic) -> dict[str, Any]:
        """Return all definitions that apply to a topic's messages."""
        is_ros1 = topic.encoding == "ros1"
        known = self._known.setdefault(is_ros1, dict(_built_in(is_ros1)))
        known.update(_parsed(topic.type_name, topic.schema_format, topic.schema))
        return known


@lru_cache(maxsize=256)
def _parsed(type_name: str, schema_format: str, schema: bytes) -> dict[str, Any]:
    from rosbags.typesys import TypesysError, get_types_from_idl, get_types_from_msg

    text = schema.decode("utf-8", "replace")
    try:
        if schema_format == "msg":
            return dict(get_types_from_msg(text, type_name))
        if schema_format == "idl":
            # Several files in one string, each below a line of "=" and "IDL: name".
            parts = text.split("=" * 80 + "\n")
            bodies = [part.partition("\n")[2] if part.startswith("IDL: ") else part
                      for part in parts if part.strip()]  # fmt: skip
            found: dict[str, Any] = {}
            for body in bodies:
                found.update(get_types_from_idl(body))
            return found
    except (TypesysError, ValueError, LookupError, TypeError, RecursionError):
        return {}  # as if the bag held no definition
    return {}


@cache
def _built_in(is_ros1: bool) -> dict[str, Any]:
    from rosbags.typesys import Stores, get_types_from_msg, get_typestore

    store = get_typestore(Stores.ROS1_NOETIC if is_ros1 else Stores.LATEST)
    known: dict[str, Any] = dict(store.fielddefs)
    for name, text in _MORE.items():
        known[name] = get_types_from_msg(text, name)[name]
    return known
