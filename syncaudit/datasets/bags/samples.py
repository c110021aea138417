"""Collect numeric messages, thousands at a time: inertial sensors, joints, bus frames."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syncaudit.datasets.bags.collected import Collected, Damage, stamp_columns
from syncaudit.datasets.bags.layout import Layout, LayoutError, lay_out, read_columns
from syncaudit.datasets.bags.rules import TopicRule
from syncaudit.datasets.bags.topics import Topic
from syncaudit.errors import UsageError
from syncaudit.model.arrays import Bools

_BATCH = 4096
_Columns = dict[str, NDArray[Any]]
_ITEM = re.compile(r"^(.+)\[([0-9]+)\]$")
_MOST_NAMED = 30


class SampleCollector:
    """Collects the messages of one topic; those of the same layout are read at once.

    Messages with several layouts on one topic (several publishers) stay in file order.
    """

    def __init__(self, topic: Topic, types: Mapping[str, Any]) -> None:
        self.topic, self._types = topic, types
        self._waiting: list[tuple[int, int, int | None, bytes]] = []
        self._parts: dict[Hashable, list[_Columns]] = {}
        self.damage = Damage()
        self.stamp = "header.stamp"
        self.is_stamped = True
        self._n_seen = 0

    def add(self, receive_ns: int, publish_ns: int | None, data: bytes) -> None:
        """Take one message."""
        self._waiting.append((self._n_seen, receive_ns, publish_ns, data))
        self._n_seen += 1
        if len(self._waiting) >= _BATCH:
            self._flush()

    def finish(self) -> list[Collected]:
        """Return the sources made from the topic."""
        self._flush()
        found = [
            self._source(key, _in_order(parts), place)
            for place, (key, parts) in enumerate(self._parts.items())
        ]
        if found:
            found[0].findings.extend(self.damage.findings(self.topic.name))
        return found

    def _wanted(self, layout: Layout) -> Sequence[str]:
        """Return the numeric fields that are needed."""
        raise NotImplementedError

    def _select(self, layout: Layout, columns: _Columns) -> _Columns:  # noqa: ARG002  # rules need it
        """Return the columns to keep for messages of one layout."""
        return columns

    def _key(self, layout: Layout, data: bytes) -> Hashable:  # noqa: ARG002  # joints need them
        """Return a key that distinguishes the sources of one topic."""
        return ""

    def _source(self, key: Hashable, columns: _Columns, place: int) -> Collected:
        """Return source number `place` of the topic from its columns."""
        raise NotImplementedError

    def _flush(self) -> None:
        waiting, self._waiting = self._waiting, []
        while waiting:
            first = waiting[0][3]
            is_ros1 = self.topic.encoding == "ros1"
            try:
                layout = lay_out(first, self._types, self.topic.type_name, is_ros1=is_ros1)
                has_layout, part = self._part(layout, waiting)
                key = self._key(layout, first)
            except (ValueError, LookupError) as error:  # its definition differs from the type's
                self.damage.note(error)
                waiting = waiting[1:]
                continue
            self._parts.setdefault(key, []).append(part)
            waiting = [item for item, same in zip(waiting, has_layout, strict=True) if not same]

    def _part(
        self, layout: Layout, waiting: Sequence[tuple[int, int, int | None, bytes]]
    ) -> tuple[Bools, _Columns]:
        """Return which messages share `layout`, and their columns."""
        wanted = self._wanted(layout)
        stamp = (f"{self.stamp}.sec", f"{self.stamp}.nanosec")
        self.is_stamped = set(stamp) <= layout.slots.keys()
        names = (*(stamp if self.is_stamped else ()), *wanted)
        has_layout, columns = read_columns([item[3] for item in waiting], layout, names)
        matching = [item for item, same in zip(waiting, has_layout, strict=True) if same]
        capture_ns = np.zeros(len(matching), np.int64)
        if self.is_stamped:
            seconds, rest = (columns.pop(name)[:, 0].astype(np.int64) for name in stamp)
            capture_ns = seconds * 10**9 + rest
        return has_layout, {
            "number": np.array([item[0] for item in matching]),
            "receive_ns": np.array([item[1] for item in matching], dtype=np.int64),
            "publish_ns": np.array(
                [item[2] for item in matching if item[2] is not None], dtype=np.int64
            ),
            "capture_ns": capture_ns,
            **self._select(layout, columns),
        }

    def _made(self, kind: str, stamps: _Columns, values: _Columns) -> Collected:
        columns, is_captured, findings = stamp_columns(
            stamps["capture_ns"], stamps["receive_ns"], stamps["publish_ns"]
        )
        return Collected(
            topic=self.topic.name,
            kind=kind,
            columns=columns | values,
            is_captured=is_captured,
            findings=findings,
        )


def _in_order(parts: list[_Columns]) -> _Columns:
    """Join the parts of a source in file order."""
    joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    order = np.argsort(joined.pop("number"), kind="stable")
    return {
        name: values[order] if len(values) == len(order) else values
        for name, values in joined.items()
    }


class ImuCollector(SampleCollector):
    """``sensor_msgs/Imu``; a covariance that starts with -1 marks a triple as missing."""

    _TRIPLES = (("gyro", "angular_velocity"), ("accel", "linear_acceleration"))

    def _wanted(self, layout: Layout) -> Sequence[str]:  # noqa: ARG002  # see `SampleCollector`
        return [
            f"{field}{part}"
            for _, field in self._TRIPLES
            for part in (".x", ".y", ".z", "_covariance")
        ]

    def _source(self, key: Hashable, columns: _Columns, place: int) -> Collected:  # noqa: ARG002
        values = {
            f"{triple}_{axis}": columns[f"{field}.{axis}"][:, 0]
            for triple, field in self._TRIPLES
            for axis in "xyz"
            if not (columns[f"{field}_covariance"][:, 0] == -1.0).all()
        }
        return self._made("imu" if values else "events", columns, values)


class JointCollector(SampleCollector):
    """``sensor_msgs/JointState``: one source per set of joints that is sent together."""

    _KINDS = ("position", "velocity", "effort")

    def _wanted(self, layout: Layout) -> Sequence[str]:  # the lists that are not empty
        return [kind for kind in self._KINDS if layout.slots[kind].count]

    def _key(self, layout: Layout, data: bytes) -> Hashable:
        """Return the joint names, and the lists present with their lengths."""
        n_names = sum(1 for name in layout.slots if name.startswith("name["))
        names = tuple(layout.text(data, f"name[{place}]") for place in range(n_names))
        return names, tuple((kind, layout.slots[kind].count) for kind in self._wanted(layout))

    def _source(self, key: Any, columns: _Columns, place: int) -> Collected:
        names, kinds = key
        values: _Columns = {}
        groups: dict[str, list[str]] = {}
        for kind, count in kinds:
            is_named = len(names) == count and len(set(names)) == count
            labels = names if is_named else [str(joint) for joint in range(count)]
            groups[kind] = [f"{kind}.{label}" for label in labels]
            values |= {name: columns[kind][:, at] for at, name in enumerate(groups[kind])}
        made = self._made("state" if groups else "events", columns, values)
        return replace(
            made,
            suffix="" if place == 0 else f"_{place + 1}",
            said={"columns": groups} if groups else {},
        )


class CanCollector(SampleCollector):
    """``can_msgs/Frame``: a log in candump format, with timestamps to the nanosecond."""

    _FIELDS = ("id", "is_rtr", "is_extended", "is_error", "dlc", "data")

    def _wanted(self, layout: Layout) -> Sequence[str]:  # noqa: ARG002  # see `SampleCollector`
        return self._FIELDS

    def _source(self, key: Hashable, columns: _Columns, place: int) -> Collected:  # noqa: ARG002
        made = self._made("can", columns, {})
        frames = zip(
            made.columns["timestamp_ns"].tolist(),
            *(columns[name][:, 0].tolist() for name in self._FIELDS[:-1]),
            np.ascontiguousarray(columns["data"]),
            strict=True,
        )
        lines = [
            f"({stamp // 10**9}.{stamp % 10**9:09d}) can0 "
            f"{number:0{8 if extended else 3}X}#{'R' if remote else data[:n].tobytes().hex()}"
            for stamp, number, remote, extended, error, n, data in frames
            if not error and stamp >= 0
        ]
        return replace(made, log="\n".join([*lines, ""]).encode())


SAMPLE_TYPES: Mapping[str, type[SampleCollector]] = {
    "sensor_msgs/msg/Imu": ImuCollector,
    "sensor_msgs/msg/JointState": JointCollector,
    "can_msgs/msg/Frame": CanCollector,
}


class FieldCollector(SampleCollector):
    """Collects the numbers that a rule names from each message of a topic."""

    def __init__(self, topic: Topic, types: Mapping[str, Any], rule: TopicRule) -> None:
        super().__init__(topic, types)
        self.stamp = rule.stamp
        self._rule = rule

    def _wanted(self, layout: Layout) -> Sequence[str]:
        """Return the fields that the rule names; LayoutError if a message lacks one."""
        return sorted({_place(layout, name)[0] for name in self._rule.fields.values()})

    def _select(self, layout: Layout, columns: _Columns) -> _Columns:
        """Return one column for each name of the rule, in SI units."""
        found = {}
        for name, field in self._rule.fields.items():
            slot, item = _place(layout, field)
            values = columns[slot][:, item].astype(float)
            found[name] = values * self._rule.scale.get(name, 1.0)
        return found

    def finish(self) -> list[Collected]:
        """Return the source; UsageError if no message has the fields that the rule names."""
        found = super().finish()
        if not found and self.damage.first:
            raise UsageError(
                f"{self.topic.name} ({self.topic.type_name}): {self.damage.first}",
                hint="Name a field that is a number in [[topic]] of the rules.",
            )
        return found

    def _source(self, key: object, columns: _Columns, place: int) -> Collected:  # noqa: ARG002
        names = list(self._rule.fields)
        said: dict[str, Any] = {}
        if self._rule.kind == "can":
            said = {"signals": {name: name for name in names}}
        elif self._rule.kind == "state":
            said = {"columns": {self._rule.name or "state": names}}
        made = self._made(self._rule.kind, columns, {name: columns[name] for name in names})
        if not self.is_stamped:
            made.findings[:] = [
                f"manifest: its messages hold no '{self.stamp}', so receive timestamps are used: "
                "they include every delay between sensor and recorder"
            ]
        return replace(made, said=said)


def _place(layout: Layout, name: str) -> tuple[str, int]:
    """Return (slot, item) of a number."""
    slot, item = name, 0
    if name not in layout.slots and (found := _ITEM.match(name)) is not None:
        slot, item = found[1], int(found[2])
    numbers = {key: each.count for key, each in layout.slots.items() if each.dtype != "S"}
    if slot not in numbers or item >= numbers[slot] or (slot == name and numbers[slot] != 1):
        listed = [key if n == 1 else f"{key}[0..{n - 1}]" for key, n in numbers.items() if n]
        raise LayoutError(f"there is no number '{name}', but {', '.join(listed[:_MOST_NAMED])}")
    return slot, item
