"""Define the user's options for importing bags."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from syncaudit.errors import UsageError, nearest_name

_KINDS = ("can", "imu", "state", "events")
_AXES = tuple(f"{triple}_{axis}" for triple in ("gyro", "accel") for axis in "xyz")


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicRule:
    """Rule that turns the messages of some topics into a source.

    Fields are those of the message (``twist.linear.x``, ``data[2]``), keyed by bus role, IMU axis
    (``gyro_x``) or state channel.
    """

    match: str  # topic pattern
    kind: str  # ``can`` (decoded signals), ``imu``, ``state`` or ``events``
    fields: Mapping[str, str] = field(default_factory=dict)
    # factors to SI units, by key of `fields`
    scale: Mapping[str, float] = field(default_factory=dict)
    name: str | None = None  # of the source
    stamp: str = "header.stamp"  # field that holds the timestamp


def rule_for(rules: tuple[TopicRule, ...], topic: str) -> TopicRule | None:
    """Return the first rule that matches a topic."""
    return next((rule for rule in rules if fnmatch.fnmatchcase(topic, rule.match)), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class BagRules:
    """Options from ``--rules FILE``."""

    stamps_only: bool = False  # leave images out: cameras are judged by their timestamps alone
    # length of the clips that a recording is cut into; None keeps it whole
    clip_seconds: float | None = None
    topics: tuple[str, ...] = ("*",)  # patterns of topics to import (``/camera/*``)
    topic: tuple[TopicRule, ...] = ()  # rules for messages of other types
    names: Mapping[str, str] = field(default_factory=dict)  # topic to source name
    # pattern of source names to manifest keys that a bag lacks (``line_delay_s``, ``clock``)
    sources: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    dbc: str | None = None  # describes the frames of all buses
    signals: Mapping[str, str] = field(default_factory=dict)  # role to signal, as in the manifest

    def said_of(self, name: str) -> dict[str, Any]:
        """Return the manifest keys that the rules add to a source."""
        said: dict[str, Any] = {}
        for pattern, keys in self.sources.items():
            if fnmatch.fnmatchcase(name, pattern):
                said |= keys
        return said

    def name_of(self, topic: str, default: str) -> str:
        """Return the name of a topic's source."""
        rule = rule_for(self.topic, topic)
        return self.names.get(topic, (rule.name if rule is not None else None) or default)

    def takes(self, topic: str) -> bool:
        """Return whether a topic is wanted."""
        return any(fnmatch.fnmatchcase(topic, pattern) for pattern in self.topics)


def parse_bag_rules(content: Mapping[str, Any]) -> BagRules:
    """Return the options from a rules file; reject a wrong key or type."""
    known = [choice.name for choice in fields(BagRules)]
    for key in content:
        if key not in known:
            raise UsageError(
                f"the rules hold the unknown key '{key}'", hint=nearest_name(key, known)
            )
    found = dict(content)
    _check(found, "stamps_only", bool, "true or false")
    seconds = found.get("clip_seconds")
    if seconds is not None:
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds >= 1:
            raise UsageError(f"clip_seconds is {seconds!r}", hint="Give seconds, 1 or more.")
        found["clip_seconds"] = float(seconds)
    if "topics" in found:
        _check(found, "topics", list, "a list of patterns such as '/camera/*'")
        found["topics"] = tuple(str(pattern) for pattern in found["topics"])
    if "topic" in found:
        found["topic"] = _parse_topic_rules(found["topic"])
    for key in ("names", "signals", "sources"):
        _check(found, key, Mapping, "a table")
    for pattern, keys in found.get("sources", {}).items():
        if not isinstance(keys, Mapping):
            raise UsageError(
                f"sources.{pattern} is {keys!r}", hint="Expected a table of manifest keys."
            )
    _check(found, "dbc", str, "the path of a DBC")
    if ("dbc" in found) != bool(found.get("signals")):
        raise UsageError(
            "the rules hold one of 'dbc' and 'signals' without the other",
            hint="A bus needs both: dbc = 'vehicle.dbc', signals = {speed = 'Speed'}.",
        )
    return BagRules(**found)


def _check(content: Mapping[str, Any], key: str, kind: type, wanted: str) -> None:
    if key in content and not isinstance(content[key], kind):
        raise UsageError(f"{key} is {content[key]!r}", hint=f"Expected {wanted}.")


def _parse_topic_rules(listed: object) -> tuple[TopicRule, ...]:
    """Return the rules of the tables ``[[topic]]``; an error message names the wrong one."""
    if not isinstance(listed, list):
        raise UsageError(f"topic is {listed!r}", hint="Expected tables [[topic]].")
    return tuple(
        _parse_topic_rule(f"topic rule {place}", rule) for place, rule in enumerate(listed, start=1)
    )


def _parse_topic_rule(where: str, rule: object) -> TopicRule:
    known = [each.name for each in fields(TopicRule)]
    if not isinstance(rule, Mapping):
        raise UsageError(f"{where} is not a table", hint="Write [[topic]] tables.")
    for key in rule:
        if key not in known:
            raise UsageError(f"{where} holds '{key}'", hint=nearest_name(key, known))
    for key in ("match", "kind", "name", "stamp"):
        value = rule.get(key)
        is_needed = key in ("match", "kind")
        if (value is not None or is_needed) and not (isinstance(value, str) and value.strip()):
            raise UsageError(f"{where}: {key} is {value!r}", hint="Expected text.")
    if rule["kind"] not in _KINDS:
        raise UsageError(
            f"{where}: kind is '{rule['kind']}'", hint=nearest_name(rule["kind"], _KINDS)
        )
    made = TopicRule(**rule)
    _check_fields(where, made)
    return made


def _check_fields(where: str, rule: TopicRule) -> None:
    for key, kind, wanted in (
        ("fields", str, "a field of the message"),
        ("scale", float, "a number"),
    ):
        table = getattr(rule, key)
        if not isinstance(table, Mapping):
            raise UsageError(f"{where}: {key} is {table!r}", hint="Expected a table.")
        for name, value in table.items():
            is_right = isinstance(value, kind) or (kind is float and type(value) is int)
            if not is_right:
                raise UsageError(f"{where}: {key}.{name} is {value!r}", hint=f"Expected {wanted}.")
    if bool(rule.fields) != (rule.kind != "events"):
        what = "has no 'fields'" if rule.kind != "events" else "of kind events has 'fields'"
        raise UsageError(
            f"{where} {what}", hint="Such as fields = {speed = 'twist.linear.x'}; events have none."
        )
    for name in rule.fields if rule.kind == "imu" else ():
        if name not in _AXES:
            raise UsageError(
                f"{where}: fields.{name} is not an axis", hint=nearest_name(name, _AXES)
            )
    for name in rule.scale:
        if name not in rule.fields:
            raise UsageError(
                f"{where}: scale.{name} belongs to none of the fields",
                hint=nearest_name(name, list(rule.fields)),
            )
