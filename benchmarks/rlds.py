"""Read the episodes of an RLDS data set from its TFRecord files, for the benchmarks.

A TFRecord is a run of records: length (8 bytes), checksum of it (4), content, checksum (4). Each
content is one ``tf.train.Example``, a protocol buffer of named lists
(github.com/tensorflow/tensorflow, tensorflow/core/example).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

__all__ = ["Feature", "read_episodes"]

Feature = list[bytes] | NDArray[np.float32] | bytes


def read_episodes(path: Path) -> Iterator[dict[str, Feature]]:
    """Yield the features of every episode: bytes as a list, numbers as an array, flags raw."""
    content = path.read_bytes()
    place = 0
    while place < len(content):
        (length,) = struct.unpack_from("<Q", content, place)
        yield _features(content[place + 12 : place + 12 + length])
        place += length + 16


def _features(example: bytes) -> dict[str, Feature]:
    found: dict[str, Feature] = {}
    for _, features in _fields(example):
        for _, entry in _fields(features):
            parts = dict(_fields(entry))
            for kind, values in _fields(parts[2]):
                lists = [value for _, value in _fields(values)]
                if kind == 1:
                    found[parts[1].decode()] = lists
                elif kind == 2:
                    found[parts[1].decode()] = np.frombuffer(b"".join(lists), "<f4")
                else:
                    found[parts[1].decode()] = b"".join(lists)
    return found


def _fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield number and content of the fields that have a length: all that is used here."""
    place = 0
    while place < len(message):
        key, place = _varint(message, place)
        if key & 7 != 2:
            raise ValueError(f"wire type {key & 7} is not expected in an Example")
        length, place = _varint(message, place)
        yield key >> 3, message[place : place + length]
        place += length


def _varint(message: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[place]
        value |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if byte < 128:
            return value, place
