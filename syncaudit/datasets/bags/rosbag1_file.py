"""Read the messages of a ROS 1 bag in file order, with or without its index."""

from __future__ import annotations

import os
import struct
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from syncaudit.datasets.bags.topics import Messages, OnDamage, Topic, TopicTable
from syncaudit.datasets.bags.unpacking import error_words, unpack

_SIZE = struct.Struct("<I")
_STAMP = struct.Struct("<II")
_BLOCK = 1 << 16
_MESSAGE, _BAG_HEADER, _CHUNK, _CONNECTION = 2, 3, 5, 7


def read_rosbag1(path: Path, topics: TopicTable, on_damage: OnDamage) -> Messages:
    """Yield the messages chunk by chunk as written, so that disorder is preserved.

    The index at the end is not needed: bags that were never closed (``.bag.active``) or were
    truncated yield what they hold, and `on_damage` is called. Zeros between the records are
    reserved space, unless chunks are missing that the bag's header counts.
    """
    from rosbags.rosbag1.reader import Header, ReaderError

    size = path.stat().st_size
    connections: dict[int, Topic] = {}
    index_at = size
    n_chunks = n_stated = 0
    with path.open("rb") as file:
        if not file.readline(32).startswith(b"#ROSBAG V2.0"):
            on_damage("it does not start like a ROS 1 bag of version 2.0")
            return
        while file.tell() < index_at:
            at = _after_zeros(file, index_at)
            if at >= index_at:
                break
            try:
                header = Header.read(file)
                op = header.get_uint8("op")
                length = _SIZE.unpack(file.read(4))[0]
                if op == _BAG_HEADER:
                    index_at = header.get_uint64("index_pos") or size
                    if index_at == size:
                        on_damage("it was never closed (it has no index)")
                    index_at = min(index_at, size)
                    n_stated = header.get_uint32("chunk_count")
                if op != _CHUNK:
                    file.seek(length, os.SEEK_CUR)
                    continue
                packed = file.read(length)
                data = unpack(header.get_string("compression"), packed)
            except Exception as error:  # noqa: BLE001  # decompressors raise their own types
                on_damage(f"it breaks off at byte {at} ({error_words(error)})")
                return
            if len(packed) < length:
                on_damage(f"it breaks off at byte {size}, inside a chunk")
            n_chunks += 1
            try:
                yield from _chunk(data, connections, topics)
            except (ReaderError, struct.error, LookupError, ValueError) as error:
                on_damage(f"the chunk at byte {at} is damaged ({error_words(error)})")
        if index_at >= size and index_at and file.tell() > size:
            on_damage(f"it breaks off at byte {size}")
        elif n_chunks < n_stated:
            on_damage(
                f"it holds {n_chunks} of {n_stated} chunks: the others were replaced by zeros"
            )


def _after_zeros(file: BinaryIO, stop: int) -> int:
    """Skip zeros to the next record (no record has an empty header); return its position."""
    at = file.tell()
    if file.read(min(_SIZE.size, stop - at)).strip(b"\0"):
        file.seek(at)
        return at
    while at < stop:
        file.seek(at)
        block = file.read(min(_BLOCK, stop - at))
        rest = block.lstrip(b"\0")
        at += len(block) - len(rest)
        if rest or not block:
            break
    file.seek(at)
    return at


def _chunk(data: bytes, connections: dict[int, Topic], topics: TopicTable) -> Messages:
    at, end = 0, len(data)
    while at + 8 <= end:
        stop = at + 4 + _SIZE.unpack_from(data, at)[0]
        if stop + 4 > end:
            return
        fields = _fields(data, at + 4, stop)
        start = stop + 4
        at = start + _SIZE.unpack_from(data, stop)[0]
        if at > end:
            return
        op = fields[b"op"][0]
        if op == _MESSAGE:
            topic = connections.get(_SIZE.unpack(fields[b"conn"])[0])
            if topic is not None:
                seconds, rest = _STAMP.unpack(fields[b"time"])
                yield topic, seconds * 10**9 + rest, None, data[start:at]
        elif op == _CONNECTION:
            connections[_SIZE.unpack(fields[b"conn"])[0]] = _topic(
                fields[b"topic"].decode(), data[start:at], topics
            )


def _fields(data: bytes, at: int, stop: int) -> dict[bytes, bytes]:
    found: dict[bytes, bytes] = {}
    while at < stop:
        end = at + 4 + _SIZE.unpack_from(data, at)[0]
        name, _, value = data[at + 4 : end].partition(b"=")
        found[name] = value
        at = end
    return found


def _topic(name: str, record: bytes, topics: TopicTable) -> Topic:
    from rosbags.rosbag1.reader import Header

    header = Header.read(BytesIO(_SIZE.pack(len(record)) + record))
    return topics.entry(
        name,
        header.get_string("type"),
        "ros1",
        "msg",
        header.get_string("message_definition").encode(),
    )
