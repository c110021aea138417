"""Read TFRecord files, and the ``tf.train.Example`` that each record holds, without TensorFlow.

A file is a sequence of records: length (8 bytes, little endian), its checksum (4), content, its
checksum (4). Checksums are CRC-32C, rotated and shifted. The content is a protocol buffer of named
lists: bytes, floats or integers (tensorflow/core/example/example.proto).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

__all__ = ["Value", "iter_records", "read_example"]

Value = list[bytes] | NDArray[np.float32]

# More than a protocol buffer can hold.
_MOST_BYTES = 1 << 31
_VARINT, _EIGHT_BYTES, _DELIMITED, _FOUR_BYTES = 0, 1, 2, 5
_WIDTHS = {_EIGHT_BYTES: 8, _FOUR_BYTES: 4}
_BYTES_LIST, _FLOAT_LIST = 1, 2


def iter_records(file: BinaryIO) -> Iterator[bytes | str]:
    """Yield the content of every record, or a description of its fault.

    Damaged content affects only its own record; after a damaged length nothing more is read.
    """
    while head := file.read(12):
        length, checksum = struct.unpack("<QI", head) if len(head) == 12 else (0, -1)
        if _checksum(head[:8]) != checksum or length > _MOST_BYTES:
            yield "its length is damaged, so nothing after it can be found"
            return
        data = file.read(length + 4)
        if len(data) < length + 4:
            yield f"the file breaks off in it: {len(data)} of {length + 4} bytes are there"
            return
        content = data[:length]
        is_intact = struct.pack("<I", _checksum(content)) == data[length:]
        yield content if is_intact else "its checksum is wrong, so its bytes were changed"


def _checksum(data: bytes) -> int:
    from crc32c import crc32c

    plain = crc32c(data)
    return ((plain >> 15 | plain << 17) + 0xA282EAD8) & 0xFFFFFFFF


def read_example(content: bytes) -> dict[str, Value]:
    """Return the lists of bytes and floats in an Example or SequenceExample by name.

    Lists of integers, which hold flags and labels, are left out. ValueError if it is not one.
    """
    found: dict[str, Value] = {}
    for number, features in _fields(memoryview(content)):
        for _, entry in _fields(features):
            parts = dict(_fields(entry))
            name = str(parts[1], "utf-8") if 1 in parts else ""
            # A Feature, or in a SequenceExample (field 2) a list of one Feature per step.
            each = [parts[2]] if number == 1 else [step for _, step in _fields(parts[2])]
            values = [_value(feature) for feature in each if feature]
            lists = [value for value in values if isinstance(value, list)]
            if lists:
                found[name] = [item for value in lists for item in value]
            elif floats := [value for value in values if isinstance(value, np.ndarray)]:
                found[name] = np.concatenate(floats)
    return found


def _value(feature: memoryview) -> Value | None:
    for kind, values in _fields(feature):
        items = [item for _, item in _fields(values)]
        if kind == _BYTES_LIST:
            return [bytes(item) for item in items]
        if kind == _FLOAT_LIST:
            return np.frombuffer(b"".join(items), "<f4")
    return None


def _fields(message: memoryview) -> Iterator[tuple[int, memoryview]]:
    """Yield number and bytes of each field of a message."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        wire = key & 7
        if wire == _DELIMITED:
            size, at = _varint(message, at)
        elif wire == _VARINT:
            size = _varint(message, at)[1] - at
        elif wire in _WIDTHS:
            size = _WIDTHS[wire]
        else:
            raise ValueError(f"wire type {wire} at byte {at} is not valid in an Example")
        if at + size > len(message):
            raise ValueError(f"a field at byte {at} is longer than what holds it")
        yield key >> 3, message[at : at + size]
        at += size


def _varint(message: memoryview, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(message):
            break
        byte = message[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
    raise ValueError(f"the number that ends at byte {at} breaks off")
