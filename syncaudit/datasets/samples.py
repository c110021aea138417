"""Split the member names of WebDataset samples, and read manifest rows stored in samples."""

from __future__ import annotations

import re
import tarfile
from collections.abc import Iterator, Mapping
from typing import Any

from syncaudit.model import SourceKind
from syncaudit.readers.uris import FILE_KEYS

ROW_PART = "syncaudit.json"
"""Part with the manifest row, since the part ``json`` belongs to the data set."""

# The key of a sample is all up to the first dot of the file's own name, the rest is the part.
_MEMBER = re.compile(r"^((?:.*/|)[^./][^./]*)\.([^/]+)$")


def split_member(name: str) -> tuple[str, str] | None:
    """Return (key, part) of a member's name; None if it does not belong to a sample."""
    found = _MEMBER.match(name)
    if found is None or "::" in name:
        return None
    return found[1].removeprefix("./"), found[2]


def iter_members(archive: tarfile.TarFile) -> Iterator[tuple[str, str, tarfile.TarInfo]]:
    """Yield (key, part, member) of the files of a shard that belong to samples."""
    while (member := archive.next()) is not None:
        archive.members = []  # type: ignore[attr-defined]  # it would keep a list of all
        found = split_member(member.name)
        if found is not None and member.isreg():
            yield *found, member


def placed_row(content: object, members: Mapping[str, str], shard: str) -> dict[str, Any] | None:
    """Return the manifest row in a sample, with URIs into its shard.

    In rows written by syncaudit every URI names a part of the same sample, or with ``NAME.*`` its
    images; `members` maps part to the full name of its member. None if the content is something
    else, since a data set may store anything there.
    """
    if not isinstance(content, dict) or not isinstance(content.get("sources"), dict):
        return None
    sources = {name: _placed(spec, members, shard) for name, spec in content["sources"].items()}
    if not sources or any(spec is None for spec in sources.values()):
        return None
    return {**content, "sources": sources}


def _placed(spec: object, members: Mapping[str, str], shard: str) -> dict[str, Any] | None:
    if not isinstance(spec, dict) or spec.get("kind") not in set(SourceKind):
        return None
    placed = dict(spec)
    for key in FILE_KEYS:
        if key in spec:
            member = _member(spec[key], members)
            if member is None:
                return None
            placed[key] = f"tar://{member}::{shard}"
    return placed


def _member(name: object, members: Mapping[str, str]) -> str | None:
    if not isinstance(name, str):
        return None
    if name in members:
        return members[name]
    # Images: the glob stands for the members whose parts have this prefix.
    start = name.removesuffix("*") if name.endswith(".*") else name
    first = next((part for part in members if start != name and part.startswith(start)), None)
    return None if first is None else members[first].removesuffix(first) + name
