"""What a bag says of its topics, whatever container it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

__all__ = ["Messages", "OnDamage", "Topic", "TopicTable"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Topic:
    """One topic with one message type."""

    name: str  # as published, ``/camera/front/image_raw``
    type_name: str  # ``sensor_msgs/msg/Imu``, also of ROS 1; ``foxglove.RawImage``
    encoding: str  # ``ros1``, ``cdr``, ``protobuf``, ``json`` or what the bag says
    schema_format: str = ""  # ``msg``, ``idl``, ``protobuf``; "" where the bag holds no definition
    schema: bytes = b""


# (topic, receive stamp in ns, publish stamp in ns or None, serialized message), in file order.
Messages = Iterator[tuple[Topic, int, int | None, bytes]]
# Told in words where a file breaks off; what came before it is used.
OnDamage = Callable[[str], None]


class TopicTable:
    """The topics of one recording: files and connections of one topic share its entry."""

    def __init__(self) -> None:
        self._topics: dict[tuple[str, str, str], Topic] = {}

    def entry(
        self, name: str, type_name: str, encoding: str, schema_format: str = "", schema: bytes = b""
    ) -> Topic:
        """Return the topic of that name, type and encoding, entered at its first mention."""
        if encoding in ("ros1", "cdr") and type_name.count("/") == 1:
            type_name = type_name.replace("/", "/msg/")
        key = (name, type_name, encoding)
        if key not in self._topics:
            self._topics[key] = Topic(
                name=name,
                type_name=type_name,
                encoding=encoding,
                schema_format=schema_format,
                schema=schema,
            )
        return self._topics[key]
