"""Find the fields of serialized ROS messages, and read many messages of one layout at once."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syncaudit.model.arrays import Bools

# Field definitions of rosbags: name -> (constants, [(field, (node type, rest)), ...]).
Types = Mapping[str, tuple[Any, Sequence[tuple[str, tuple[int, Any]]]]]

_BASE, _NAME, _ARRAY, _SEQUENCE = 1, 2, 3, 4
_DTYPES = {
    "bool": "u1", "octet": "u1", "byte": "u1", "char": "u1", "uint8": "u1", "int8": "i1",
    "uint16": "u2", "int16": "i2", "uint32": "u4", "int32": "i4", "uint64": "u8", "int64": "i8",
    "float32": "f4", "float64": "f8",
}  # fmt: skip
_MOST_ITEMS = 4096
_MOST_FIELDS = 100_000
_DEEPEST = 32


class LayoutError(ValueError):
    """A message does not match its type."""


@dataclass(frozen=True, slots=True)
class Slot:
    """Location of the numbers or the text of one field in a message."""

    offset: int  # byte of the first item
    dtype: str  # NumPy type with byte order; ``S`` for text
    count: int  # items, or bytes of text


class _Slots(dict[str, Slot]):
    """Slots by name; a missing name is an error of the message."""

    def __missing__(self, name: str) -> Slot:
        raise LayoutError(f"it has no field {name}")


@dataclass(slots=True)
class Layout:
    """Fields of one message by dotted name, and the bytes that determine their locations.

    Messages of equal size that agree in the byte ranges `fixing` (lengths, lists of strings) have
    the same layout.
    """

    # ``angular_velocity.x``; items of a list of strings: ``name[0]``
    slots: dict[str, Slot] = field(default_factory=_Slots)
    fixing: list[tuple[int, int]] = field(default_factory=list)

    def text(self, data: bytes, name: str) -> str:
        """Return a text field."""
        slot = self.slots[name]
        return data[slot.offset : slot.offset + slot.count].decode("utf-8", "replace")

    def raw(self, data: bytes, name: str) -> bytes:
        """Return the bytes of a numeric field."""
        slot = self.slots[name]
        return data[slot.offset : slot.offset + slot.count * np.dtype(slot.dtype).itemsize]

    def time_ns(self, data: bytes, name: str) -> int:
        """Return a field of seconds and nanoseconds."""
        return self.number(data, f"{name}.sec") * 10**9 + self.number(data, f"{name}.nanosec")

    def number(self, data: bytes, name: str) -> int:
        """Return an integer field."""
        slot = self.slots[name]
        return int(np.frombuffer(data, slot.dtype, 1, slot.offset)[0])


def lay_out(data: bytes, types: Types, type_name: str, *, is_ros1: bool) -> Layout:
    """Walk through one message; `types` are definitions in the form of rosbags.

    ROS 1 messages are packed; ROS 2 messages are CDR (OMG DDS-XTypes 1.3, section 7.4.1: XCDR
    version 1, plain), aligned after an encapsulation header of four bytes. LayoutError if the
    message is shorter than its fields, or a type is not defined.
    """
    walk = _Walk(data, types, is_ros1=is_ros1)
    walk.fields("", type_name)
    if walk.at > len(data):
        raise LayoutError(f"{len(data)} bytes, fields need {walk.at}")
    return walk.layout


class _Walk:
    """One pass over a message: a position that every field advances."""

    def __init__(self, data: bytes, types: Types, *, is_ros1: bool) -> None:
        self.layout = Layout()
        self._data, self._types, self._is_ros1 = data, types, is_ros1
        self.at, self._origin, self._order = 0, 0, "<"
        self._n_fields = 0
        if not is_ros1:
            if data[:1] != b"\0" or data[1:2] not in (b"\0", b"\1"):
                raise LayoutError("it is not plain CDR")
            self._order = "<" if data[1] else ">"
            self.at = self._origin = 4
            self.layout.fixing.append((0, 2))
        self._length = struct.Struct(f"{self._order}I")

    def fields(self, prefix: str, type_name: str) -> None:
        found = self._types.get(type_name)
        if found is None:
            raise LayoutError(f"the type {type_name} is not defined")
        if prefix.count(".") > _DEEPEST:
            raise LayoutError(f"the type {type_name} contains itself")
        for name, (node, rest) in found[1]:
            self._field(f"{prefix}{name}", int(node), rest)

    def _field(self, name: str, node: int, rest: Any) -> None:
        self._n_fields += 1
        if self._n_fields > _MOST_FIELDS:
            raise LayoutError(f"it has more than {_MOST_FIELDS} fields")
        if node == _BASE and rest[0] in ("string", "wstring"):
            self._text(name)
        elif node == _BASE:
            self._numbers(name, rest[0], 1)
        elif node == _NAME:
            self.fields(f"{name}.", rest)
        else:
            (item_node, item), count = rest
            start = self.at
            if node == _SEQUENCE:
                count = self._count()
            if int(item_node) == _BASE and item[0] not in ("string", "wstring"):
                self._numbers(name, item[0], count)
                return
            if count > _MOST_ITEMS:
                raise LayoutError(f"{name} claims {count} items")
            for place in range(count):
                self._field(f"{name}[{place}]", int(item_node), item)
            self.layout.fixing.append((start, self.at))

    def _count(self) -> int:
        self._align(4)
        if self.at + 4 > len(self._data):
            raise LayoutError(f"ends at byte {len(self._data)}, inside a length")
        self.layout.fixing.append((self.at, self.at + 4))
        self.at += 4
        return int(self._length.unpack_from(self._data, self.at - 4)[0])

    def _text(self, name: str) -> None:
        length = self._count()
        # CDR counts the terminating NUL.
        self._slot(name, "S", length if self._is_ros1 else max(0, length - 1), length)

    def _numbers(self, name: str, kind: str, count: int) -> None:
        dtype = _DTYPES.get(kind)
        if dtype is None:
            raise LayoutError(f"{name} is of the unknown kind {kind}")
        size = int(dtype[1])
        if count:
            self._align(size)
        self._slot(name, self._order + dtype, count, size * count)

    def _slot(self, name: str, dtype: str, count: int, n_bytes: int) -> None:
        self.layout.slots[name] = Slot(self.at, dtype, count)
        self.at += n_bytes
        if self.at > len(self._data):
            raise LayoutError(f"ends at byte {len(self._data)}, inside {name}")

    def _align(self, size: int) -> None:
        if not self._is_ros1:
            self.at += -(self.at - self._origin) % size


def read_columns(
    messages: Sequence[bytes], layout: Layout, names: Sequence[str]
) -> tuple[Bools, dict[str, NDArray[Any]]]:
    """Return numeric fields of all messages with the same layout as the first one.

    `layout` is that of ``messages[0]``, `names` are numeric fields. Return which of the n messages
    share the layout, shape (n,), and the values by name in native byte order, shape
    (n_matching, count).
    """
    size = len(messages[0])
    has_layout = np.fromiter((len(data) == size for data in messages), np.bool_, len(messages))
    whole = messages if has_layout.all() else [data for data in messages if len(data) == size]
    rows = np.frombuffer(b"".join(whole), np.uint8).reshape(len(whole), size)
    agree = np.ones(len(whole), np.bool_)
    for start, stop in layout.fixing:
        agree &= (rows[:, start:stop] == rows[0, start:stop]).all(axis=1)
    has_layout[has_layout] = agree
    rows = rows[agree]
    columns: dict[str, NDArray[Any]] = {}
    for name in names:
        slot = layout.slots[name]
        if slot.dtype == "S":
            raise LayoutError(f"{name} is text")
        dtype = np.dtype(slot.dtype)
        part = rows[:, slot.offset : slot.offset + slot.count * dtype.itemsize]
        values = np.ascontiguousarray(part).view(dtype).reshape(len(rows), slot.count)
        columns[name] = values.astype(dtype.newbyteorder("="), copy=False)
    return has_layout, columns
