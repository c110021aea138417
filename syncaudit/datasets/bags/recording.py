"""Turn one recording into clips, with its topics as sources written beside the manifest."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from syncaudit.datasets.bags.collected import Collected
from syncaudit.datasets.bags.collectors import Collector, collector_for, why_not_taken
from syncaudit.datasets.bags.layout import LayoutError
from syncaudit.datasets.bags.rules import BagRules, rule_for
from syncaudit.datasets.bags.samples import FieldCollector
from syncaudit.datasets.bags.sounds import SOUND_TYPES, Sounds
from syncaudit.datasets.bags.storage import Recording, messages_of
from syncaudit.datasets.bags.topics import Definitions, Topic, TopicTable
from syncaudit.datasets.manifest import clip_from_row
from syncaudit.datasets.protocol import Import
from syncaudit.datasets.source import Source
from syncaudit.formatting import word_count
from syncaudit.model import Clip

__all__ = ["clips_of"]

# Generic endings of topic names, which add nothing to the kind.
_PLAIN_ENDS = re.compile(
    r"(_(compressed|image|image_raw|image_color|image_rect|image_mono|raw|video|data|data_raw))+$"
)


def clips_of(source: Source, recording: Recording, rules: BagRules, job: Import) -> Iterator[Clip]:
    """Yield the clips of one recording, in one pass over its messages."""
    damage: list[str] = []
    collectors, others = _collect(source, recording, rules, job, damage)
    for topic, count in others.items():
        kind = topic.type_name or topic.encoding
        what = f"{topic.name} ({kind}): not taken, {word_count(count, 'message')}"
        why = why_not_taken(topic)
        job.note(f"{what}: {why}" if why else what)
    found = [each for collector in collectors.values() for each in collector.finish()]
    found = [each for each in found if len(each.columns["timestamp_ns"])]
    general = [*recording.findings, *(f"corrupt: {text}" for text in damage)]
    for text in general:
        job.note(f"{recording.name}: {text.partition(': ')[2]}")
    if not found and not general:
        job.note(
            f"{recording.name}: it holds no camera, IMU, joint states, CAN or sound, so it is "
            "not a clip"
        )
        return
    if not found:  # unreadable: still a clip, so that it gets a verdict
        empty = {"timestamp_ns": np.empty(0, np.int64)}
        found = [Collected(topic="recording", kind="events", columns=empty, is_captured=True)]
    names = _names([f"{each.topic}{each.suffix}" for each in found], rules)
    sources = {
        name: _source(each, name, recording, rules, job, general)
        for name, each in sorted(zip(names, found, strict=True), key=lambda pair: pair[0])
    }
    for clip_id, window in _windows(recording.name, found, rules):
        row: dict[str, Any] = {"clip_id": clip_id, "recording_id": recording.name, **window}
        yield clip_from_row(row | {"sources": sources}, base_uri=source.base_uri, where=clip_id)


def _collect(
    source: Source, recording: Recording, rules: BagRules, job: Import, damage: list[str]
) -> tuple[dict[Topic, Collector], dict[Topic, int]]:
    """Read all messages once; return their collectors, and the number left out."""
    definitions, sounds = Definitions(), Sounds()
    collectors: dict[Topic, Collector] = {}
    others: dict[Topic, int] = {}
    for topic, receive_ns, publish_ns, data in messages_of(
        source, recording, TopicTable(), damage.append
    ):
        collector = collectors.get(topic)
        if collector is not None:
            collector.add(receive_ns, publish_ns, data)
        elif topic in others:
            others[topic] += 1
        else:
            new = _collector(topic, data, recording, rules, job, definitions, sounds)
            if new is None:
                others[topic] = 1
            else:
                collectors[topic] = new
                new.add(receive_ns, publish_ns, data)
    return collectors, others


def _collector(
    topic: Topic,
    first: bytes,
    recording: Recording,
    rules: BagRules,
    job: Import,
    definitions: Definitions,
    sounds: Sounds,
) -> Collector | None:
    """Return the collector for a topic, of which `first` is a message; None if there is none."""
    if not rules.takes(topic.name):
        return None
    images = None if rules.stamps_only else _path(recording, topic.name)
    rule = rule_for(rules.topic, topic.name)
    if rule is not None and topic.encoding not in ("ros1", "cdr"):
        job.note(f"{topic.name}: a rule can only name fields of ROS messages")
        return None
    try:
        if rule is not None:
            return FieldCollector(topic, definitions.of(topic), rule)
        if topic.type_name in SOUND_TYPES and topic.encoding in ("ros1", "cdr"):
            path = job.sidecars.path(_path(recording, topic.name))
            return sounds.collector(topic, definitions.of(topic), path)
        return collector_for(
            topic,
            definitions.of(topic),
            None if images is None else job.sidecars.path(images),
            first,
        )
    except LayoutError as error:
        job.note(f"{topic.name} ({topic.type_name}): not taken, {error}")
        return None


def _path(recording: Recording, topic: str) -> str:
    return f"{recording.name}/{_plain(topic)}"


def _plain(topic: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "_", topic).strip("_") or "topic"


def _names(topics: list[str], rules: BagRules) -> list[str]:
    """Return source names: short where that keeps them unique, else the whole topic."""
    long = [_plain(topic) for topic in topics]
    short = [_PLAIN_ENDS.sub("", name) or name for name in long]
    names = [s if short.count(s) == 1 else n for s, n in zip(short, long, strict=True)]
    names = [rules.name_of(topic, name) for topic, name in zip(topics, names, strict=True)]
    return [name if names.count(name) == 1 else f"{name}_{k}" for k, name in enumerate(names)]


def _source(
    found: Collected,
    name: str,
    recording: Recording,
    rules: BagRules,
    job: Import,
    general: list[str],
) -> dict[str, Any]:
    """Write the data of a topic; return its source as a manifest entry."""
    path = _path(recording, f"{found.topic}{found.suffix}")
    table = job.sidecars.write_table(f"{path}.parquet", found.columns)
    row: dict[str, Any] = {"kind": found.kind, "uri": table, **found.said}
    if found.kind == "camera" and found.images is not None:
        row |= {"uri": found.images, "timestamps": table}
    elif found.sound is not None:
        row |= {"uri": found.sound, "timestamps": table}
    elif found.log is not None:
        row |= _bus(found, path, rules, job)
    if "receive_ns" in found.columns:
        row["arrivals"] = table
    if not found.is_captured:
        row["stamp_kind"] = "receive"
    if found.findings or general:
        row["findings"] = [*general, *found.findings]
    what = "timestamps only" if row["kind"] in ("camera", "events") and row["uri"] == table else ""
    job.note(f"{found.topic} -> {name} ({row['kind']}{', ' if what else ''}{what})")
    return row | rules.said_of(name)


def _bus(found: Collected, path: str, rules: BagRules, job: Import) -> dict[str, Any]:
    if rules.dbc is None or not found.log:
        job.note(
            f"{found.topic}: without a DBC, only its timestamps are audited; name 'dbc' and "
            "'signals' in --rules"
        )
        return {"kind": "events"}
    log = job.sidecars.path(f"{path}.log")
    log.write_bytes(found.log)
    return {
        "uri": str(log),
        "dbc": str(Path(rules.dbc).absolute()),
        "signals": dict(rules.signals),
    }


def _windows(
    name: str, found: list[Collected], rules: BagRules
) -> list[tuple[str, dict[str, int]]]:
    """Return (clip id, window) for each clip: the whole recording, or pieces of it."""
    if rules.clip_seconds is None:
        return [(name, {})]
    # Outlying timestamps must not stretch the recording.
    spans = [
        np.quantile(each.columns["timestamp_ns"], [0.001, 0.999], method="nearest")
        for each in found
    ]
    start = max(int(low) for low, _ in spans)
    stop = min(int(high) for _, high in spans)
    length = round(rules.clip_seconds * 1e9)
    n_clips = (stop - start) // length
    if n_clips < 1:
        return [(name, {})]
    return [
        (f"{name}/{k:04d}", {"start_ns": start + k * length, "end_ns": start + (k + 1) * length})
        for k in range(n_clips)
    ]
