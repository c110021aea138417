"""Turn the files of a clip into the parts of a sample, with a matching manifest row."""

from __future__ import annotations

import io
import re
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from syncaudit.datasets.export.shard_file import Part
from syncaudit.datasets.rows import clip_to_row
from syncaudit.datasets.samples import ROW_PART, iter_members, split_member
from syncaudit.errors import StreamReadError
from syncaudit.model import CameraSpec, Clip, SourceSpec
from syncaudit.readers.arrays import NPY_MAGIC, list_arrays
from syncaudit.readers.camera import FILE, named_images
from syncaudit.readers.columns import STAMPS
from syncaudit.readers.tables import read_table
from syncaudit.readers.uris import (
    files_named,
    is_image,
    keep_local,
    list_folder,
    local_path,
    natural_key,
    resolve,
)

_UNSAFE = re.compile(r"[^A-Za-z0-9_=@+-]+")
_SCHEME = "tar://"


def key_of(clip_id: str) -> str:
    """Return a clip's id as a sample key, without dots and characters unsafe in file names."""
    folders = [_UNSAFE.sub("_", part) for part in clip_id.split("/")]
    return "/".join(part for part in folders if part) or "clip"


def clip_parts(clip: Clip, scratch: Path) -> tuple[list[Part], dict[str, Any]]:
    """Return the files of a clip as parts, and its row with part names as URIs.

    Files are copied byte by byte, remote ones via `scratch`. Tables of which the clip is only some
    rows, NumPy arrays, and tables that name images become Parquet with the same values.
    StreamReadError if a file cannot be read, or is a video of which the clip is only a span.
    """
    packing = _Packing(clip.base_uri, scratch)
    row = clip_to_row(clip)
    for name, spec in clip.sources.items():
        for key in ("rows", "picture_rows"):
            row["sources"][name].pop(key, None)
        row["sources"][name] |= packing.files_of(name, spec)
    return packing.parts, row


class _Packing:
    """Collects the parts of one clip; files shared by several sources are included once."""

    def __init__(self, base_uri: str, scratch: Path) -> None:
        self.parts: list[Part] = []
        self._base_uri = base_uri
        self._scratch = scratch
        self._names = {"json", ROW_PART}
        self._made: dict[tuple[str, tuple[int, ...]], str] = {}

    def files_of(self, name: str, spec: SourceSpec) -> dict[str, str]:
        """Return the parts for the files that a source names, by key."""
        if getattr(spec, "pts_ns", None) is not None:
            raise StreamReadError(
                f"{name} is a span of a video that holds several clips",
                path=str(getattr(spec, "uri", "")),
                hint="Cut the video, or hand LeRobot's own tools the lists in keep.json.",
            )
        base = _UNSAFE.sub("_", name).strip("_") or "source"
        located = files_named(spec, self._base_uri)
        # The rows of a camera are those of its timestamp table.
        key_of_rows = "timestamps" if "timestamps" in located else "uri"
        rows = {key_of_rows: tuple(getattr(spec, "rows", None) or ())}
        made = {}
        if isinstance(spec, CameraSpec):
            rows.setdefault("uri", tuple(spec.picture_rows or ()))
            made = self._named_images(base, spec)
        for key, uri in located.items():
            if key not in made:
                place = (uri, rows.get(key, ()))
                if place not in self._made:
                    self._made[place] = self._part_of(base, key, *place)
                made[key] = self._made[place]
        return made

    def _named_images(self, base: str, spec: CameraSpec) -> dict[str, str]:
        """Return the parts of a camera whose timestamp table names its images, {} for others."""
        files = named_images(spec, self._base_uri)
        if files is None:
            return {}
        uri = resolve(spec.timestamps or "", self._base_uri)
        table = read_table(uri, text_columns=(spec.stamps or STAMPS, FILE), rows=spec.rows).data
        return {
            "uri": self._images(base, files),
            "timestamps": self._table(base, "timestamps", table.drop_columns([FILE])),
        }

    def _part_of(self, base: str, key: str, uri: str, rows: tuple[int, ...]) -> str:
        if rows or list_arrays(uri) is not None:
            return self._table(base, key, read_table(uri, rows=rows or None).data)
        listed = list_folder(uri)
        if listed is not None:
            found = sorted((path for path in listed if is_image(path)), key=natural_key)
            if not found:
                raise StreamReadError("is a folder without images", code="empty", path=uri)
            return self._images(base, found)
        path = keep_local(uri, self._scratch)
        with path.open("rb") as file:
            is_array = file.read(len(NPY_MAGIC)) == NPY_MAGIC
        if is_array:  # its file name is its column name
            return self._table(base, key, read_table(uri).data)
        name = self._free(base, key, Path(uri.split("::")[0]).suffix)
        self.parts.append(Part.of_file(name, path))
        return name

    def _table(self, base: str, key: str, data: pa.Table) -> str:
        buffer = io.BytesIO()
        pq.write_table(data, buffer)
        name = self._free(base, key, ".parquet")
        self.parts.append(Part.of_bytes(name, buffer.getvalue()))
        return name

    def _images(self, base: str, places: Sequence[str]) -> str:
        """Return the glob of images, in this order."""
        start = self._free(base, "pictures", "")
        for number, place in enumerate(places):
            suffix = Path(place.split("::")[0]).suffix
            path = keep_local(place, self._scratch)
            self.parts.append(Part.of_file(f"{start}.{number:06d}{suffix}", path))
        return f"{start}.*"

    def _free(self, base: str, key: str, suffix: str) -> str:
        """Return an unused part name: ``cam.mp4``, ``cam.csv``, ``can.dbc``."""
        name, number = f"{base}{suffix}", 1
        if name in self._names:
            name = f"{base}.{key}{suffix}"
        while name in self._names:
            number += 1
            name = f"{base}.{key}_{number}{suffix}"
        self._names.add(name)
        return name


def sample_of(clip: Clip) -> tuple[str, str] | None:
    """Return (shard, key) of the single sample that holds all files of a clip, else None."""
    places = set()
    for spec in clip.sources.values():
        for uri in files_named(spec, clip.base_uri).values():
            member, _, shard = uri.partition("::")
            found = split_member(member.removeprefix(_SCHEME))
            if not member.startswith(_SCHEME) or "::" in shard or not shard or found is None:
                return None
            places.add((shard, found[0]))
    return places.pop() if len(places) == 1 else None


class StoredSamples:
    """Parts of samples by shard and key; keeps the index of one shard at a time."""

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch
        self._shard = ""
        self._copy: Path | None = None
        self._parts: dict[str, list[Part]] = {}

    def parts(self, shard: str, key: str) -> list[Part]:
        """Return all parts of a sample in order."""
        if shard != self._shard:
            if self._copy is not None:
                self._copy.unlink(missing_ok=True)
            self._shard, self._parts, self._copy = "", {}, None
            path = keep_local(shard, self._scratch)
            self._copy = path if local_path(shard) is None else None
            try:
                self._parts = _index(path)
            except (tarfile.TarError, OSError, EOFError, ValueError) as error:
                raise StreamReadError(
                    f"is not an intact tar archive ({error})",
                    path=shard,
                    code="corrupt",
                    hint="Copy the shard again.",
                ) from error
            self._shard = shard
        try:
            return self._parts[key]
        except KeyError:
            raise StreamReadError(
                f"there is no sample '{key}'", path=shard, code="missing_file"
            ) from None


def _index(path: Path) -> dict[str, list[Part]]:
    found: dict[str, list[Part]] = {}
    end = path.stat().st_size
    with tarfile.open(path, "r:") as archive:
        for key, name, member in iter_members(archive):
            if member.offset_data + member.size <= end:
                part = Part(name=name, size=member.size, path=path, offset=member.offset_data)
                found.setdefault(key, []).append(part)
    return found
