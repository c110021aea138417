"""Read the messages of an MCAP file in file order, as far as the file is intact."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

from syncaudit.datasets.bags.topics import Messages, OnDamage, Topic, TopicTable
from syncaudit.datasets.bags.unpacking import UnpackError, error_words, unpack

_HEAD = struct.Struct("<BQ")
_MESSAGE = struct.Struct("<HIQQ")
_SCHEMA_OPCODE, _CHANNEL_OPCODE, _MESSAGE_OPCODE = 0x03, 0x04, 0x05
_LATEST = 2**63 - 1  # MCAP counts to 2**64
_SCHEMA_FORMATS = {"ros1msg": "msg", "ros2msg": "msg", "ros2idl": "idl", "protobuf": "protobuf"}


def read_mcap(path: Path, topics: TopicTable, on_damage: OnDamage) -> Messages:
    """Yield the messages of an MCAP file without its index, which a truncated file lacks.

    `on_damage` is called if the file is truncated or was never closed.
    """
    from mcap.records import Channel, Chunk, Footer, Message, Schema
    from mcap.stream_reader import StreamReader

    schemas: dict[int, Schema] = {}
    channels: dict[int, Topic] = {}

    def learn(record: object) -> None:
        if isinstance(record, Schema):
            schemas[record.id] = record
        elif isinstance(record, Channel):
            channels[record.id] = _topic(record, schemas.get(record.schema_id), topics)

    is_closed = False
    with path.open("rb") as file:
        records = iter(StreamReader(file, emit_chunks=True).records)
        while True:
            try:
                record = next(records, None)
            except Exception as error:  # noqa: BLE001  # damaged bytes raise many types
                on_damage(f"it cannot be read past byte {file.tell()} ({error_words(error)})")
                return
            if record is None:
                break
            if isinstance(record, Chunk):
                try:
                    data = unpack(record.compression, record.data)
                except UnpackError as error:
                    on_damage(f"the chunk before byte {file.tell()} is damaged ({error})")
                    continue
                yield from _chunk(data, channels, learn, on_damage)
            elif isinstance(record, Message):
                if record.channel_id in channels and record.log_time <= _LATEST:
                    topic = channels[record.channel_id]
                    yield topic, record.log_time, _known(record.publish_time), record.data
            else:
                learn(record)
                is_closed = is_closed or isinstance(record, Footer)
    if not is_closed:
        on_damage("it was never closed (its footer is missing)")


def _chunk(data: bytes, channels: dict[int, Topic], learn: Any, on_damage: OnDamage) -> Messages:
    """Yield the messages of one chunk; mcap's own loop takes five times as long per message."""
    from io import BytesIO

    from mcap.data_stream import ReadDataStream
    from mcap.records import Channel, Schema

    at, end = 0, len(data)
    while at + _HEAD.size <= end:
        opcode, length = _HEAD.unpack_from(data, at)
        start = at + _HEAD.size
        at = start + length
        if at > end:
            on_damage("a chunk ends inside a record")
            return
        if opcode == _MESSAGE_OPCODE and length >= _MESSAGE.size:
            channel, _, receive_ns, publish_ns = _MESSAGE.unpack_from(data, start)
            topic = channels.get(channel)
            if topic is not None and receive_ns <= _LATEST:
                yield topic, receive_ns, _known(publish_ns), data[start + _MESSAGE.size : at]
        elif opcode in (_SCHEMA_OPCODE, _CHANNEL_OPCODE):
            kind = Schema if opcode == _SCHEMA_OPCODE else Channel
            try:
                learn(kind.read(ReadDataStream(BytesIO(data[start:at]))))
            except Exception as error:  # noqa: BLE001  # damaged bytes raise many types
                on_damage(f"a topic's record is damaged ({error_words(error)})")


def _known(publish_ns: int) -> int | None:
    return publish_ns if publish_ns <= _LATEST else None


def _topic(channel: Any, schema: Any, topics: TopicTable) -> Topic:
    if schema is None:
        return topics.entry(channel.topic, "", channel.message_encoding)
    return topics.entry(
        channel.topic,
        schema.name,
        channel.message_encoding,
        _SCHEMA_FORMATS.get(schema.encoding, ""),
        schema.data,
    )
