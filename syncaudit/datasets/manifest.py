"""Read clip manifests (JSON Lines or Parquet), reject violations, and store a million clips."""

from __future__ import annotations

import json
import pickle
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from io import BytesIO
from itertools import islice
from typing import Annotated, Any, BinaryIO, ClassVar, overload

from pydantic import Field, TypeAdapter, ValidationError

from syncaudit.datasets.clip_faults import clip_faults
from syncaudit.datasets.wording import describe, word_validation_error
from syncaudit.errors import ManifestError, StreamReadError, one_line
from syncaudit.limits import LINE_BYTES
from syncaudit.model import (
    AudioSpec,
    CameraSpec,
    CanSpec,
    Clip,
    EventsSpec,
    ImuSpec,
    Origin,
    StateSpec,
    TranscriptSpec,
)
from syncaudit.model.field_names import fields_of
from syncaudit.readers.access import is_url
from syncaudit.readers.uris import open_file, parent_of, read_bytes, resolve

_BATCH = 256  # Parquet rows converted to objects at a time

_Spec = Annotated[
    CameraSpec | ImuSpec | CanSpec | AudioSpec | TranscriptSpec | EventsSpec | StateSpec,
    Field(discriminator="kind"),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """One row of a manifest, with its sources discriminated by `kind`."""

    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid", "strict": True}

    clip_id: str
    sources: dict[str, _Spec]
    recording_id: str | None = None
    start_ns: int | None = None
    end_ns: int | None = None
    reference: str | None = None
    origin: Origin | None = None
    about: dict[str, str] = field(default_factory=dict)


def load_manifest(uri: str, *, limit: int | None = None) -> list[Clip]:
    """Return the clips of a manifest: JSON Lines or Parquet, a local path or any fsspec URL.

    With `limit`, stop after this many clips; the rest is not checked. ManifestError if the file or
    a row breaks the contract (formats, section 2). Files that a row names are not checked.
    """
    if limit is not None and limit < 1:
        raise ManifestError(f"limit is {limit}, expected a positive number of clips")
    return list(islice(iter_manifest(uri), limit))


def iter_manifest(uri: str) -> Iterator[Clip]:
    """Yield the clips of a manifest in order, each checked as it comes."""
    uri = str(uri)
    place = resolve(uri)
    base_uri = parent_of(place)
    taken: dict[str, str] = {}
    for where, row in _rows(uri, place):
        clip = clip_from_row(row, base_uri=base_uri, path=uri, where=where)
        if clip.clip_id in taken:
            raise ManifestError(
                f"{where}: clip_id '{clip.clip_id}' is already taken by {taken[clip.clip_id]}",
                path=uri,
                hint="Give every clip a unique id.",
            )
        taken[clip.clip_id] = where
        yield clip
    if not taken:
        raise _no_clips(uri)


def _rows(uri: str, place: str) -> Iterator[tuple[str, object]]:
    """Yield (where, row) of a manifest; a local one is never held in memory as a whole."""
    try:
        with BytesIO(read_bytes(place)) if is_url(place) else open_file(place) as file:
            is_parquet = file.read(4) == b"PAR1" or place.lower().endswith((".parquet", ".pq"))
            file.seek(0)
            yield from _parquet_rows(uri, file) if is_parquet else _json_rows(uri, file)
    except StreamReadError as error:
        if error.code == "empty":
            raise _no_clips(uri) from error
        hint = "Check its path." if error.code == "missing_file" else error.hint
        raise ManifestError(
            f"the manifest cannot be read: {error.message}", path=uri, hint=hint
        ) from error


def _no_clips(uri: str) -> ManifestError:
    return ManifestError(
        "the manifest holds no clips", path=uri, hint="Expected one clip per line."
    )


def clip_from_row(
    row: object, *, base_uri: str = "", path: str | None = None, where: str = "row"
) -> Clip:
    """Return the clip that a manifest row describes; nulls mean absent.

    Relative URIs start at `base_uri`; manifest and line (`path`, `where`) are for messages.
    ManifestError if the row breaks the contract.
    """
    if not isinstance(row, Mapping):
        raise ManifestError(
            f"{where}: expected an object with 'clip_id' and 'sources', found {describe(row)}",
            path=path,
            hint="Write every clip as one JSON object on one line.",
        )
    clip_id = row.get("clip_id")
    label = f"{where}, clip {describe(clip_id)}" if isinstance(clip_id, str) else where
    try:
        text = _ENCODER.encode(row)
        if "null" in text:  # Parquet structs hold every key that any row has
            text = _ENCODER.encode(_without_nulls(row))
        found = _adapter().validate_json(text)
    except ValidationError as error:
        message, hint = word_validation_error(error, _Row)
        raise ManifestError(f"{label}: {message}", path=path, hint=hint) from error
    except (TypeError, ValueError, RecursionError) as error:
        raise ManifestError(f"{label}: is not plain JSON ({error})", path=path) from error
    recording_id = found.clip_id if found.recording_id is None else found.recording_id
    clip = Clip(**{**fields_of(found), "recording_id": recording_id, "base_uri": base_uri})
    for message, hint in clip_faults(clip):
        raise ManifestError(f"{label}: {message}", path=path, hint=hint)
    return clip


@cache
def _adapter() -> TypeAdapter[_Row]:
    return TypeAdapter(_Row)


def _as_dict(value: object) -> dict[object, object]:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is not JSON serializable")


_ENCODER = json.JSONEncoder(default=_as_dict)


def _without_nulls(value: object) -> object:
    if isinstance(value, str | int | float):
        return value
    if isinstance(value, Mapping):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return [_without_nulls(item) for item in value]
    return value


def _json_rows(uri: str, file: BinaryIO) -> Iterator[tuple[str, object]]:
    """Yield ("line 3", parsed row) of JSON Lines."""
    lines = iter(lambda: file.readline(LINE_BYTES), b"")
    for number, line in enumerate(lines, start=1):
        where = f"line {number}"
        if len(line) == LINE_BYTES:
            raise ManifestError(
                f"{where} is longer than {LINE_BYTES >> 20} MiB",
                path=uri,
                hint="JSON Lines has one whole clip on every line.",
            )
        line = line.removesuffix(b"\n")
        if number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
        if not line.strip():
            continue
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise ManifestError(
                f"{where}: is not UTF-8 text (byte 0x{line[error.start]:02x})",
                path=uri,
                hint="Save the manifest as UTF-8.",
            ) from error
        try:
            row = json.loads(
                text, object_pairs_hook=_distinct_keys, parse_constant=_refuse_constant
            )
        except json.JSONDecodeError as error:
            is_spread = text.strip() in {"{", "["}
            raise ManifestError(
                f"{where}: is not valid JSON ({error.msg} at column {error.colno})",
                path=uri,
                hint="JSON Lines has one whole clip on every line"
                + ("; this file spreads it over several." if is_spread else "."),
            ) from error
        except (ValueError, RecursionError) as error:
            raise ManifestError(f"{where}: {error}", path=uri) from error
        yield where, row


def _distinct_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key '{key}' appears twice in one object; remove one of them")
        found[key] = value
    return found


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is not a JSON number; leave the key out instead")


def _parquet_rows(uri: str, file: BinaryIO) -> Iterator[tuple[str, object]]:
    """Yield ("row 3", row) of a Parquet file with nested fields; rows count from 0."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    number = 0
    try:
        for batch in pq.ParquetFile(file).iter_batches(_BATCH, use_threads=False):
            for row in batch.to_pylist(maps_as_pydicts="strict"):
                yield f"row {number}", row
                number += 1
    except (pa.ArrowException, OSError, KeyError, MemoryError) as error:
        raise ManifestError(
            f"row {number}: the Parquet file is damaged ({one_line(error)})",
            path=uri,
            hint="Write it again.",
        ) from error


class ClipTable(Sequence[Clip]):
    """Compressed clips; each is unpacked on access.

    Rows of one manifest are nearly identical: with the first one as the compression dictionary,
    six cameras take 200 bytes instead of 8 kB.
    """

    def __init__(self, clips: Iterable[Clip] = ()) -> None:
        self._dictionary = b""
        self._packed: list[bytes] = []
        for clip in clips:
            data = pickle.dumps(clip, protocol=pickle.HIGHEST_PROTOCOL)
            self._dictionary = self._dictionary or data
            packer = zlib.compressobj(1, zdict=self._dictionary)
            self._packed.append(packer.compress(data) + packer.flush())

    def __len__(self) -> int:
        """Return the number of clips."""
        return len(self._packed)

    @overload
    def __getitem__(self, index: int) -> Clip: ...
    @overload
    def __getitem__(self, index: slice) -> ClipTable: ...

    def __getitem__(self, index: int | slice) -> Clip | ClipTable:
        """Return one clip, or a table of several."""
        if isinstance(index, slice):
            part = ClipTable()
            part._dictionary, part._packed = self._dictionary, self._packed[index]
            return part
        return self._unpacked(self._packed[index])

    def __iter__(self) -> Iterator[Clip]:
        """Unpack one clip after the other."""
        return map(self._unpacked, self._packed)

    def _unpacked(self, data: bytes) -> Clip:
        unpacker = zlib.decompressobj(zdict=self._dictionary)
        clip: Clip = pickle.loads(unpacker.decompress(data))  # noqa: S301  # packed above
        return clip
