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

# Generic endings of topic names, which add nothing to the kind.
_PLAIN_ENDS = re.compile(
    r"(_(compressed|image|image_raw|image_color|image_rect|image_mono|raw|video|data|data_raw))+$"
)


def clips_of(source: Source, recording: Recording, rules: BagRules, job: Import) -> Iterator[Clip]:
    """Yield the clips of one recording, in one pass over its messages."""
    return _Importer(source, recording, rules, job).clips()


class _Importer:
    """Makes the clips of one recording."""

    def __init__(self, source: Source, recording: Recording, rules: BagRules, job: Import) -> None:
        self._source, self._recording, self._rules, self._job = source, recording, rules, job
        self._definitions, self._sounds = Definitions(), Sounds()
        self._faults = list(recording.findings)  # of the whole recording, ``code: text``

    def clips(self) -> Iterator[Clip]:
        job, name = self._job, self._recording.name
        found = [each for collector in self._collect() for each in collector.finish()]
        found = [each for each in found if len(each.columns["timestamp_ns"])]
        for text in self._faults:
            job.note(f"{name}: {text.partition(': ')[2]}")
        if not found and not self._faults:
            job.note(
                f"{name}: it holds no camera, IMU, joint states, CAN or sound, so it is not a clip"
            )
            return
        if not found:  # unreadable: still a clip, so that it gets a verdict
            empty = {"timestamp_ns": np.empty(0, np.int64)}
            found = [Collected(topic="recording", kind="events", columns=empty, is_captured=True)]
        names = _names([f"{each.topic}{each.suffix}" for each in found], self._rules)
        sources = {
            name: self._write(each, name)
            for name, each in sorted(zip(names, found, strict=True), key=lambda pair: pair[0])
        }
        for clip_id, window in _windows(name, found, self._rules):
            row: dict[str, Any] = {"clip_id": clip_id, "recording_id": name, **window}
            row["sources"] = sources
            yield clip_from_row(row, base_uri=self._source.base_uri, where=clip_id)

    def _collect(self) -> list[Collector]:
        """Read all messages once; note the topics that are left out."""
        collectors: dict[Topic, Collector] = {}
        others: dict[Topic, int] = {}

        def on_damage(text: str) -> None:
            self._faults.append(f"corrupt: {text}")

        for topic, receive_ns, publish_ns, data in messages_of(
            self._source, self._recording, TopicTable(), on_damage
        ):
            if topic not in collectors and topic not in others:
                if (new := self._collector(topic, data)) is not None:
                    collectors[topic] = new
                else:
                    others[topic] = 0
            if topic in collectors:
                collectors[topic].add(receive_ns, publish_ns, data)
            else:
                others[topic] += 1
        for topic, count in others.items():
            kind = topic.type_name or topic.encoding
            what = f"{topic.name} ({kind}): not taken, {word_count(count, 'message')}"
            why = why_not_taken(topic)
            self._job.note(f"{what}: {why}" if why else what)
        return list(collectors.values())

    def _collector(self, topic: Topic, first: bytes) -> Collector | None:
        """Return the collector for a topic, of which `first` is a message; None if none is."""
        if not self._rules.takes(topic.name):
            return None
        rule = rule_for(self._rules.topic, topic.name)
        is_ros = topic.encoding in ("ros1", "cdr")
        if rule is not None and not is_ros:
            self._job.note(f"{topic.name}: a rule can only name fields of ROS messages")
            return None
        try:
            types = self._definitions.of(topic)
            if rule is not None:
                return FieldCollector(topic, types, rule)
            is_sound = topic.type_name in SOUND_TYPES and is_ros
            if self._rules.stamps_only and not is_sound:
                return collector_for(topic, types, None, first)
            path = self._job.sidecars.path(self._path(topic.name))
            if is_sound:
                return self._sounds.collector(topic, types, path)
            return collector_for(topic, types, path, first)
        except LayoutError as error:
            self._job.note(f"{topic.name} ({topic.type_name}): not taken, {error}")
            return None

    def _path(self, topic: str) -> str:
        return f"{self._recording.name}/{_plain(topic)}"

    def _write(self, found: Collected, name: str) -> dict[str, Any]:
        """Write the data of a topic; return its source as a manifest entry."""
        path = self._path(f"{found.topic}{found.suffix}")
        table = self._job.sidecars.write_table(f"{path}.parquet", found.columns)
        row: dict[str, Any] = {"kind": found.kind, "uri": table, **found.said}
        if found.images is not None or found.sound is not None:
            row |= {"uri": found.images or found.sound, "timestamps": table}
        elif found.log is not None:
            row |= self._bus(found, path)
        if "receive_ns" in found.columns:
            row["arrivals"] = table
        if not found.is_captured:
            row["stamp_kind"] = "receive"
        if found.findings or self._faults:
            row["findings"] = [*self._faults, *found.findings]
        is_bare = row["kind"] in ("camera", "events") and row["uri"] == table
        what = ", timestamps only" if is_bare else ""
        self._job.note(f"{found.topic} -> {name} ({row['kind']}{what})")
        return row | self._rules.said_of(name)

    def _bus(self, found: Collected, path: str) -> dict[str, Any]:
        if self._rules.dbc is None or not found.log:
            self._job.note(
                f"{found.topic}: without a DBC, only its timestamps are audited; name 'dbc' and "
                "'signals' in --rules"
            )
            return {"kind": "events"}
        log = self._job.sidecars.path(f"{path}.log")
        log.write_bytes(found.log)
        return {
            "uri": str(log),
            "dbc": str(Path(self._rules.dbc).absolute()),
            "signals": dict(self._rules.signals),
        }


def _plain(topic: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "_", topic).strip("_") or "topic"


def _names(topics: list[str], rules: BagRules) -> list[str]:
    """Return source names: short where that keeps them unique, else the whole topic."""
    long = [_plain(topic) for topic in topics]
    short = [_PLAIN_ENDS.sub("", name) or name for name in long]
    names = [s if short.count(s) == 1 else n for s, n in zip(short, long, strict=True)]
    names = [rules.name_of(topic, name) for topic, name in zip(topics, names, strict=True)]
    return [name if names.count(name) == 1 else f"{name}_{k}" for k, name in enumerate(names)]


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
