"""What people say of topics whose messages are of no type that is known."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from syncaudit.errors import UsageError, nearest_name

__all__ = ["TopicRule", "parse_topic_rules", "rule_for"]

_KINDS = ("can", "imu", "state", "events")
_AXES = tuple(f"{triple}_{axis}" for triple in ("gyro", "accel") for axis in "xyz")


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicRule:
    """How the messages of some topics become a source.

    Fields are those of the message (``twist.linear.x``, ``data[2]``) by role of a bus, axis of an
    IMU (``gyro_x``) or channel of a state.
    """

    match: str  # pattern of topics
    kind: str  # ``can`` (decoded signals), ``imu``, ``state`` or ``events``
    fields: Mapping[str, str] = field(default_factory=dict)
    # what some are multiplied by, to come to SI units
    scale: Mapping[str, float] = field(default_factory=dict)
    name: str | None = None  # of the source
    stamp: str = "header.stamp"  # field that holds it


def rule_for(rules: tuple[TopicRule, ...], topic: str) -> TopicRule | None:
    """Return the first rule that matches a topic."""
    return next((rule for rule in rules if fnmatch.fnmatchcase(topic, rule.match)), None)


def parse_topic_rules(listed: object) -> tuple[TopicRule, ...]:
    """Return the rules of the tables ``[[topic]]``; the message on a wrong one says which."""
    if not isinstance(listed, list):
        raise UsageError(f"topic is {listed!r}", hint="Expected tables [[topic]].")
    return tuple(_parse(f"topic rule {place}", rule) for place, rule in enumerate(listed, start=1))


def _parse(where: str, rule: object) -> TopicRule:
    known = [each.name for each in fields(TopicRule)]
    if not isinstance(rule, Mapping):
        raise UsageError(f"{where} is no table", hint="Write [[topic]] tables.")
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
            raise UsageError(f"{where}: fields.{name} is no axis", hint=nearest_name(name, _AXES))
    for name in rule.scale:
        if name not in rule.fields:
            raise UsageError(
                f"{where}: scale.{name} is of none of the fields",
                hint=nearest_name(name, list(rule.fields)),
            )
