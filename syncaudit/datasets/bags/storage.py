"""Find the files that make up a recording, and iterate over its messages."""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from posixpath import join

from syncaudit.datasets.bags.mcap_file import read_mcap
from syncaudit.datasets.bags.rosbag1_file import read_rosbag1
from syncaudit.datasets.bags.sqlite_file import read_sqlite
from syncaudit.datasets.bags.topics import Messages, OnDamage, TopicTable
from syncaudit.datasets.bags.unpacking import UnpackError, unpack, unpack_file
from syncaudit.datasets.source import Source
from syncaudit.errors import ManifestError
from syncaudit.formatting import word_count
from syncaudit.limits import METADATA_BYTES

METADATA = "metadata.yaml"
_PROBED = 20
_DEEPEST = 32
# Formats without compressed messages. Any rosbag2 message may be compressed, whatever the metadata
# (possibly lost) state; plain CDR begins with 0.
_NEVER_PACKED = (".bag", ".active")
_ZSTD = b"\x28\xb5\x2f\xfd"
_PACKED = (".zstd", ".zst")
_READERS = {
    ".mcap": read_mcap,
    ".db3": read_sqlite,
    ".bag": read_rosbag1,
    ".active": read_rosbag1,
}
# ``drive_0.bag``, ``drive_2026-01-31-10-00-00_0.bag``, ``drive_0.mcap``
_PART = re.compile(r"(.+?)(?:_\d{4}(?:-\d\d){5})?_(\d+)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """The files of one recording."""

    name: str  # name of its folder or first file
    files: tuple[str, ...]  # in order, relative to the source
    findings: tuple[str, ...] = ()  # ``code: text``


def has_storage(source: Source, suffixes: tuple[str, ...]) -> bool:
    """Return whether a storage file lies in a source or in one of its folders."""
    return any(
        _storage(name) in suffixes
        for folder in ["", *source.folders()[:_PROBED]]
        for name in source.files(folder=folder)
    )


def find_recordings(source: Source, suffixes: tuple[str, ...]) -> Iterator[Recording]:
    """Yield the recordings in a file or folder: rosbag2 folders, and files with their parts.

    Only storage files that end in `suffixes` (``.mcap``) are used.
    """
    folders = source.folders()
    for folder in ["", *folders]:
        names = [name for name in source.files(folder=folder) if _storage(name) in suffixes]
        if source.file is None and source.has(join(folder, METADATA)):
            recording = _rosbag2(source, folder, names, suffixes)
            if recording is not None:
                yield recording
        else:
            yield from _grouped(names, folder, taken=folders)


def _storage(name: str) -> str:
    path = Path(name)
    return Path(path.stem).suffix.lower() if path.suffix.lower() in _PACKED else path.suffix.lower()


def _rosbag2(
    source: Source, folder: str, names: list[str], suffixes: tuple[str, ...]
) -> Recording | None:
    """Return the recording in a rosbag2 folder: the files that its metadata name, in order.

    Unreadable metadata give a finding: the files can be read without.
    """
    findings: list[str] = []
    listed = _listed(source, join(folder, METADATA))
    if isinstance(listed, str):
        findings.append(
            f"corrupt: {METADATA} cannot be read ({listed}); the files in its folder are"
        )
    else:
        # Old versions wrote paths relative to the parent folder.
        names = [join(folder, Path(name).name) for name in listed]
        missing = [name for name in names if not source.has(name)]
        names = [name for name in names if name not in missing and _storage(name) in suffixes]
        findings += [
            f"missing_file: {METADATA} names {name}, which is not there" for name in missing
        ]
    if not names:
        return None
    return Recording(
        name=folder or source.base_uri.rstrip("/").rpartition("/")[2],
        files=tuple(names),
        findings=tuple(findings),
    )


def _listed(source: Source, name: str) -> list[str] | str:
    """Return the files that metadata name, or why they cannot be read."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError
    from ruamel.yaml.events import AliasEvent, CollectionEndEvent, CollectionStartEvent

    try:
        data = source.read(name)
        if len(data) > METADATA_BYTES:
            return f"it holds {len(data)} bytes"
        text = data.decode("utf-8")
        depth = 0
        for event in YAML(typ="base").parse(text):
            depth += isinstance(event, CollectionStartEvent)
            depth -= isinstance(event, CollectionEndEvent)
            if isinstance(event, AliasEvent) or depth > _DEEPEST:
                return "it holds aliases or deep lists, which rosbag2 does not write"
        content = YAML(typ="base").load(text)  # only strings, lists and mappings
        paths = content["rosbag2_bagfile_information"]["relative_file_paths"]
        if isinstance(paths, list) and all(isinstance(path, str) for path in paths):
            return paths
    except ManifestError as error:
        return error.message
    except (YAMLError, LookupError, TypeError, ValueError, RecursionError) as error:
        return type(error).__name__
    return "relative_file_paths is not a list of strings"


def _grouped(names: list[str], folder: str, taken: list[str]) -> Iterator[Recording]:
    """Join files numbered from 0 into recordings; every other file is a recording of its own.

    Names keep the suffix if files differ only in that, or if a folder in `taken` has the same name.
    """
    numbered: dict[tuple[str, str], list[tuple[int, str]]] = {}
    found: list[tuple[str, list[str]]] = []
    for name in names:
        match = _PART.match(_stem(name))
        if match:
            numbered.setdefault((match[1], _storage(name)), []).append((int(match[2]), name))
        else:
            found.append((_stem(name), [name]))
    for (title, _), parts in numbered.items():
        files = [name for _, name in sorted(parts)]
        if sorted(number for number, _ in parts) == list(range(len(parts))):
            found.append((title, files))
        else:
            found += [(_stem(name), [name]) for name in files]
    titles = Counter(title for title, _ in found)
    if not folder:
        titles.update(taken)
    for title, files in sorted(found):
        name = title if titles[title] == 1 else f"{title}{Path(files[0]).suffix}"
        yield Recording(name=join(folder, name), files=tuple(files))


def _stem(name: str) -> str:
    stem = Path(name).name
    while Path(stem).suffix.lower() in (*_READERS, *_PACKED):
        stem = Path(stem).stem
    return stem


def messages_of(
    source: Source, recording: Recording, topics: TopicTable, on_damage: OnDamage
) -> Messages:
    """Yield the messages of all files of a recording.

    `on_damage` receives descriptions of damaged files; what can be read is used.
    """
    for name in recording.files:
        storage = _storage(name)

        def say(text: str, name: str = name) -> None:
            on_damage(f"{Path(name).name}: {text}")

        with source.local(name) as path, _unpacked(path, say) as plain:
            messages = _READERS[storage](plain, topics, say)
            yield from messages if storage in _NEVER_PACKED else _unpack_each(messages, say)


@contextmanager
def _unpacked(path: Path, on_damage: OnDamage) -> Iterator[Path]:
    """Yield a file itself, or a temporary unpacked copy of it."""
    if path.suffix.lower() not in _PACKED:
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="syncaudit-") as folder:
        plain = Path(folder) / path.stem
        fault = unpack_file("zstd", path, plain)
        if fault is not None:
            on_damage(fault)
        yield plain


def _unpack_each(messages: Messages, on_damage: OnDamage) -> Messages:
    n_bad, why = 0, ""
    for topic, receive_ns, publish_ns, data in messages:
        if data[:4] != _ZSTD:
            yield topic, receive_ns, publish_ns, data
            continue
        try:
            plain = unpack("zstd", data)
        except UnpackError as error:
            n_bad, why = n_bad + 1, why or str(error)
            continue
        yield topic, receive_ns, publish_ns, plain
    if n_bad:
        on_damage(f"{word_count(n_bad, 'message')} cannot be unpacked, left out (the first: {why})")
