"""Import WebDataset shards: tar archives with the files of each sample side by side."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, islice
from typing import Any

from syncaudit.datasets.manifest import clip_from_row
from syncaudit.datasets.naming import (
    COMPANIONS,
    DEFAULT_RULES,
    NamingRule,
    name_sources,
    parse_rules,
)
from syncaudit.datasets.protocol import Import
from syncaudit.datasets.samples import ROW_PART, iter_members, placed_row
from syncaudit.datasets.source import Source
from syncaudit.datasets.steps.episode import broken_clip
from syncaudit.datasets.tracks import assume_starts
from syncaudit.errors import ManifestError
from syncaudit.machine_faults import machine_fault
from syncaudit.model import Clip

# Names assumed for parts without a name of their own.
_BARE = {
    **dict.fromkeys(("mp4", "mkv", "avi", "mov", "webm", "h264", "hevc", "mjpeg", "csv"), "video"),
    **dict.fromkeys(("wav", "flac", "ogg", "mp3", "TextGrid", "ctm", "srt", "vtt"), "audio"),
}
_CLIP_KEYS = {"recording_id": str, "start_ns": int, "end_ns": int, "reference": str}
_MOST_JSON = 1 << 20
_PROBED_SHARDS = 5
_PROBED = 50  # samples of each


class WebDatasetFormat:
    """One clip per sample; naming rules determine what its parts are.

    A part with its own name keeps it: ``000123.cam_front.mp4`` is ``cam_front.mp4``. A part
    ``mp4`` is ``video.mp4``, ``wav`` is ``audio.wav``. A ``json`` part may hold the keys
    ``recording_id``, ``start_ns``, ``end_ns`` and ``reference`` of the clip. Samples of
    `syncaudit export-shards` hold the whole manifest row, which is used unless rules are given.
    """

    name = "webdataset"
    summary = "WebDataset shards: *.tar with key.mp4, key.wav, key.json ..."
    takes_rules = True

    def probe(self, source: Source) -> str | None:
        """Accept a shard, or a folder of shards, whose first samples hold a source."""
        shards = source.files("*.tar")[:_PROBED_SHARDS]
        if not shards:
            return "no *.tar"
        reasons = []
        for shard in shards:
            try:
                if any(
                    _own_row(parts, shard) is not None
                    or name_sources(list(_names(parts)), DEFAULT_RULES).sources
                    for _, parts in islice(_samples(source, shard), _PROBED)
                ):
                    return None
                reasons.append(f"{shard}: none of its parts is known (mp4, wav, imu.csv)")
            except ManifestError as error:
                reasons.append(str(error))
        return reasons[0]

    def clips(self, source: Source, job: Import) -> Iterator[Clip]:
        """Yield the samples, shards in the order of their names.

        A shard that is cut off ends with a broken clip in place of the samples that it lost.
        """
        rules = parse_rules(job.rules)
        for shard in source.files("*.tar"):
            samples = _samples(source, shard)
            while True:
                try:
                    sample = next(samples, None)
                except ManifestError as error:
                    if machine_fault(error) is not None:
                        raise
                    fault = f"corrupt: {shard} {error.message}. {error.hint}"
                    yield broken_clip(shard.removesuffix(".tar"), [fault], job, source)
                    break
                if sample is None:
                    break
                clip = _clip(source, shard, *sample, rules, job)
                if clip is not None:
                    yield clip


# Part (what follows the key) to (member, content of a JSON part).
_Parts = dict[str, tuple[str, Mapping[str, Any]]]


def _samples(source: Source, shard: str) -> Iterator[tuple[str, _Parts]]:
    """Yield (key, parts) of a shard: adjacent members with the same key are a sample."""
    for key, members in groupby(_members(source, shard), key=lambda member: member[0]):
        yield key, {part: (name, content) for _, part, name, content in members}


def _members(source: Source, shard: str) -> Iterator[tuple[str, str, str, Mapping[str, Any]]]:
    """Yield (key, part, member, content of JSON) of the files of a shard."""
    with source.open(shard) as file:
        try:
            with tarfile.open(fileobj=file, mode="r:") as archive:
                for key, part, member in iter_members(archive):
                    content: Mapping[str, Any] = {}
                    if part in ("json", ROW_PART) and member.size <= _MOST_JSON:
                        content = _json_of(archive, member)
                    yield key, part, member.name, content
        except (tarfile.TarError, OSError, EOFError, ValueError) as error:
            if isinstance(error, ManifestError):
                raise
            raise ManifestError(
                f"is not an intact tar archive ({error})",
                path=source.uri_of(shard),
                hint="Copy the shard again; compressed shards must be unpacked.",
            ) from error


def _json_of(archive: tarfile.TarFile, member: tarfile.TarInfo) -> dict[str, Any]:
    """Return the object in a JSON part, {} if there is none."""
    opened = archive.extractfile(member)
    try:
        content = json.loads(opened.read().decode("utf-8")) if opened is not None else None
    except (ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def _own_row(parts: _Parts, shard: str) -> dict[str, Any] | None:
    """Return the manifest row that `syncaudit export-shards` left in a sample."""
    content = parts.get(ROW_PART, parts.get("json", ("", {})))[1]
    return placed_row(content, {part: member for part, (member, _) in parts.items()}, shard)


def _names(parts: _Parts) -> dict[str, str]:
    """Return the member for each part, by the part's effective name."""
    return {
        (f"{_BARE[part]}.{part}" if part in _BARE else part): member
        for part, (member, _) in parts.items()
    }


def _clip(
    source: Source,
    shard: str,
    key: str,
    parts: _Parts,
    rules: Sequence[NamingRule],
    job: Import,
) -> Clip | None:
    clip_id = f"{shard.removesuffix('.tar')}/{key}"
    own = None if job.rules else _own_row(parts, shard)
    if own is not None:
        job.note("sources are those of the manifest row in each sample (export-shards)")
        return _checked({"clip_id": clip_id, **own}, source, shard, key)
    names = _names(parts)
    found = name_sources(list(names), rules)
    content = parts.get("json", ("", {}))[1]
    about: dict[str, Any] = {
        each: content[each]
        for each, kind in _CLIP_KEYS.items()
        if isinstance(content.get(each), kind) and not isinstance(content[each], bool)
    }
    for name in found.ignored:
        if name != "json" or not about:
            job.note(f"ignored parts {name}")
    if not found.sources:
        job.note("left out samples without any known part")
        return None
    rows = {
        title: dict(row)
        for title, row in found.sources.items()
        if row["kind"] != "can" or "signals" in row
    }
    for title in found.sources.keys() - rows.keys():
        job.note(f"ignored {title}: name the signals of a bus in a rule")
    if not rows:
        return None
    for title, row in rows.items():
        job.note(f"{row['uri']} -> {row['kind']} {title}")
        for field in ("uri", *COMPANIONS):
            if field in row:
                row[field] = f"tar://{names[row[field]]}::{shard}"
    assume_starts(rows, job, start_ns=about.get("start_ns", 0))
    return _checked({"clip_id": clip_id, **about, "sources": rows}, source, shard, key)


def _checked(row: Mapping[str, Any], source: Source, shard: str, key: str) -> Clip:
    return clip_from_row(
        row, base_uri=source.base_uri, path=source.uri_of(shard), where=f"sample {key}"
    )
