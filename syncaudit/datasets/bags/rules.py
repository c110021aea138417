"""What people may choose when a bag is imported."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from syncaudit.datasets.bags.topic_rules import TopicRule, parse_topic_rules, rule_for
from syncaudit.errors import UsageError, nearest_name

__all__ = ["BagRules", "parse_bag_rules"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BagRules:
    """Choices of ``--rules FILE``."""

    stamps_only: bool = False  # leave pictures out: cameras are judged by their stamps alone
    # length of the clips that a recording is cut into; None keeps it whole
    clip_seconds: float | None = None
    topics: tuple[str, ...] = ("*",)  # patterns of those to take (``/camera/*``)
    topic: tuple[TopicRule, ...] = ()  # what messages of other types are
    names: Mapping[str, str] = field(default_factory=dict)  # topic to source name
    # pattern of source names to manifest keys that a bag lacks (``line_delay_s``, ``clock``)
    sources: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    dbc: str | None = None  # describes the frames of all buses
    signals: Mapping[str, str] = field(default_factory=dict)  # role to signal, as in the manifest

    def said_of(self, name: str) -> dict[str, Any]:
        """Return what the rules say of a source beside what the bag does."""
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
    """Return the choices of a rules file; a wrong key or type is refused."""
    known = [choice.name for choice in fields(BagRules)]
    for key in content:
        if key not in known:
            raise UsageError(f"the rules hold '{key}'", hint=nearest_name(key, known))
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
        found["topic"] = parse_topic_rules(found["topic"])
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
