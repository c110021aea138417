"""Read clip manifests (JSON Lines or Parquet) and refuse what breaks the contract."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, ClassVar

from pydantic import Field, TypeAdapter, ValidationError

from syncaudit.datasets.wording import describe, word_validation_error
from syncaudit.errors import ManifestError, StreamReadError, nearest_name
from syncaudit.model import (
    AudioSpec,
    CameraSpec,
    CanSpec,
    Clip,
    EventsSpec,
    ImuSpec,
    Origin,
    ReasonCode,
    SourceSpec,
    StateSpec,
    TranscriptSpec,
    clock_of,
)
from syncaudit.readers.roles import fault_of_role
from syncaudit.readers.uris import parent_of, read_bytes, resolve

__all__ = ["clip_from_row", "iter_manifest", "load_manifest"]

_Spec = Annotated[
    CameraSpec | ImuSpec | CanSpec | AudioSpec | TranscriptSpec | EventsSpec | StateSpec,
    Field(discriminator="kind"),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """One row of a manifest, with its sources told apart by `kind`."""

    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid", "strict": True}

    clip_id: str
    sources: dict[str, _Spec]
    recording_id: str | None = None
    start_ns: int | None = None
    end_ns: int | None = None
    reference: str | None = None
    origin: Origin | None = None


def load_manifest(uri: str, *, limit: int | None = None) -> list[Clip]:
    """Return the clips of a manifest.

    Parameters
    ----------
    uri : str
        JSON Lines or Parquet file: local path or any fsspec URL.
    limit : int, optional
        Stop after so many clips; the rest is not checked.

    Raises
    ------
    ManifestError
        If the file or a row breaks the contract (formats, section 2). Files that a row names
        are not looked at.
    """
    if limit is not None and limit < 1:
        raise ManifestError(f"limit is {limit}, expected a positive number of clips")
    clips: list[Clip] = []
    for clip in iter_manifest(uri):
        clips.append(clip)
        if len(clips) == limit:
            break
    return clips


def iter_manifest(uri: str) -> Iterator[Clip]:
    """Yield the clips of a manifest in order, each checked as it comes.

    Parameters
    ----------
    uri : str
        JSON Lines or Parquet file: local path or any fsspec URL.

    Raises
    ------
    ManifestError
        As `load_manifest`.
    """
    uri = str(uri)
    place = resolve(uri)
    try:
        data = read_bytes(place)
    except StreamReadError as error:
        if error.code == "empty":
            raise _no_clips(uri) from error
        hint = "Check its path." if error.code == "missing_file" else error.hint
        raise ManifestError(
            f"the manifest cannot be read: {error.message}", path=uri, hint=hint
        ) from error
    is_parquet = data[:4] == b"PAR1" or place.lower().endswith((".parquet", ".pq"))
    base_uri = parent_of(place)
    taken: dict[str, str] = {}
    for where, row in _parquet_rows(uri, data) if is_parquet else _json_rows(uri, data):
        clip = clip_from_row(row, base_uri=base_uri, path=uri, where=where)
        if clip.clip_id in taken:
            raise ManifestError(
                f"{where}: clip_id '{clip.clip_id}' is already taken by {taken[clip.clip_id]}",
                path=uri,
                hint="Give every clip an id of its own.",
            )
        taken[clip.clip_id] = where
        yield clip
    if not taken:
        raise _no_clips(uri)


def _no_clips(uri: str) -> ManifestError:
    return ManifestError("the manifest holds no clips", path=uri, hint="Expected one clip a line.")


def clip_from_row(
    row: object, *, base_uri: str = "", path: str | None = None, where: str = "row"
) -> Clip:
    """Return the clip that a manifest row describes.

    Parameters
    ----------
    row : object
        Parsed JSON; nulls mean absent.
    base_uri : str
        Folder that relative URIs start at.
    path, where : str
        Manifest and line, for messages.

    Raises
    ------
    ManifestError
        If the row breaks the contract.
    """
    if not isinstance(row, Mapping):
        raise ManifestError(
            f"{where}: expected an object with 'clip_id' and 'sources', found {describe(row)}",
            path=path,
            hint="Write every clip as one JSON object on one line.",
        )
    clip_id = row.get("clip_id")
    label = f"{where}, clip '{clip_id}'" if isinstance(clip_id, str) else where
    try:
        found = _adapter().validate_json(json.dumps(_without_nulls(row)))
    except ValidationError as error:
        message, hint = word_validation_error(error, _Row)
        raise ManifestError(f"{label}: {message}", path=path, hint=hint) from error
    except (TypeError, ValueError, RecursionError) as error:
        raise ManifestError(f"{label}: is no plain JSON ({error})", path=path) from error
    clip = Clip(
        clip_id=found.clip_id,
        recording_id=found.clip_id if found.recording_id is None else found.recording_id,
        sources=found.sources,
        start_ns=found.start_ns,
        end_ns=found.end_ns,
        reference=found.reference,
        origin=found.origin,
        base_uri=base_uri,
    )
    for message, hint in _faults(clip):
        raise ManifestError(f"{label}: {message}", path=path, hint=hint)
    return clip


@cache
def _adapter() -> TypeAdapter[_Row]:
    return TypeAdapter(_Row)


def _without_nulls(value: object) -> object:
    """Drop nulls from objects: Parquet structs hold every key that any row has."""
    if isinstance(value, Mapping):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return [_without_nulls(item) for item in value]
    return value


def _faults(clip: Clip) -> Iterator[tuple[str, str]]:
    """Yield (what is wrong, what to do) of a clip whose types are right."""
    if not clip.clip_id:
        yield "clip_id is empty", "Give every clip an id of its own."
    if not clip.recording_id:
        yield "recording_id is empty", "Leave it out, or name the recording."
    if not clip.sources:
        yield "sources is empty", "Name at least one source."
    if clip.origin is not None and not 0 <= clip.origin.episode_index < 2**63:
        yield (
            f"origin.episode_index is {clip.origin.episode_index}",
            "Episodes are counted from 0.",
        )
    for key, time_ns in (("start_ns", clip.start_ns), ("end_ns", clip.end_ns)):
        yield from _range_faults(key, time_ns)
    if clip.start_ns is not None and clip.end_ns is not None and clip.end_ns <= clip.start_ns:
        yield (
            f"end_ns ({clip.end_ns}) is not after start_ns ({clip.start_ns})",
            "Both are nanoseconds on the reported time base.",
        )
    clocks = {clock_of(name, spec) for name, spec in clip.sources.items()}
    if clip.reference is not None and clip.reference not in clocks | set(clip.sources):
        yield (
            f"reference is '{clip.reference}', which is neither a clock nor a source",
            nearest_name(clip.reference, clocks | set(clip.sources)),
        )
    for name, spec in clip.sources.items():
        at = f"sources.{name}"
        if not name:
            yield "a source has an empty name", "Name every source."
        yield from _spec_faults(at, spec)
        if isinstance(spec, TranscriptSpec):
            yield from _transcript_faults(at, spec, clip.sources)


def _range_faults(key: str, time_ns: int | None) -> Iterator[tuple[str, str]]:
    if time_ns is not None and not -(2**63) <= time_ns < 2**63:
        yield f"{key} is {time_ns}, too large for int64", "Stamps are nanoseconds."


def _spec_faults(at: str, spec: SourceSpec) -> Iterator[tuple[str, str]]:
    for key in ("uri", "timestamps", "dbc", "arrivals", "clock", "stamps", "pictures"):
        value = getattr(spec, key, None)
        if value is not None and (not value.strip() or "\0" in value):
            yield f"{at}.{key} is {value!r}", "Name it, or leave the key out."
    yield from _range_faults(f"{at}.start_ns", getattr(spec, "start_ns", None))
    for key in ("expected_offset_s", "line_delay_s", "exposure_s", "fov_deg", "focal_px"):
        value = getattr(spec, key, None)
        if value is not None and not math.isfinite(value):
            yield f"{at}.{key} is {value}, expected a finite number", "Give it, or leave it out."
    for finding in spec.findings:
        code = finding.partition(":")[0]
        if code not in set(ReasonCode):
            yield (
                f"{at}.findings holds {finding[:60]!r}, expected 'code: text'",
                nearest_name(code, ReasonCode),
            )
    for key in ("rows", "pts_ns", "picture_rows"):
        limits = getattr(spec, key, None)
        if limits is not None and not (len(limits) == 2 and limits[0] < limits[1]):
            yield f"{at}.{key} is {limits}, expected [first, stop]", "The second is not included."
    for key in ("rows", "picture_rows"):
        rows = getattr(spec, key, None)
        if rows and rows[0] < 0:
            yield f"{at}.{key} begins at {rows[0]}", "Rows are counted from 0."
    if isinstance(spec, CanSpec):
        for role, signal in spec.signals.items():
            fault = fault_of_role(role, signal)
            if fault is not None:
                yield f"{at}.{fault[0]}", fault[1]
    if isinstance(spec, CameraSpec):
        yield from _camera_faults(at, spec)


def _camera_faults(at: str, spec: CameraSpec) -> Iterator[tuple[str, str]]:
    if spec.stream < 0:
        yield f"{at}.stream is {spec.stream}", "Video streams are counted from 0."
    for key in ("line_delay_s", "exposure_s"):
        value = getattr(spec, key)
        if value is not None and not 0 <= value < 1:
            yield f"{at}.{key} is {value}, expected seconds from 0 to 1", "Convert it to seconds."
    if spec.fov_deg is not None and not 0 < spec.fov_deg < 180:
        yield (
            f"{at}.fov_deg is {spec.fov_deg}, expected degrees between 0 and 180",
            "Give the horizontal field of view, or 'focal_px' for wider lenses.",
        )
    if spec.focal_px is not None and spec.focal_px <= 0:
        yield f"{at}.focal_px is {spec.focal_px}, expected a positive number", "Give pixels."
    if spec.focal_px is not None and spec.fov_deg is not None:
        yield f"{at} has both fov_deg and focal_px", "Keep the one that you measured."


def _transcript_faults(
    at: str, spec: TranscriptSpec, sources: Mapping[str, SourceSpec]
) -> Iterator[tuple[str, str]]:
    named = sources.get(spec.audio)
    audio = [name for name, other in sources.items() if isinstance(other, AudioSpec)]
    if named is None:
        yield (
            f"{at}.audio is '{spec.audio}', which is no source of this clip",
            nearest_name(spec.audio, audio),
        )
    elif not isinstance(named, AudioSpec):
        yield (
            f"{at}.audio is '{spec.audio}', which is of kind {named.kind}, not audio",
            nearest_name(spec.audio, audio),
        )
    if spec.uri is None and spec.text is None:
        yield f"{at} has neither uri nor text", "Name a file with times, or give the text."


def _json_rows(uri: str, data: bytes) -> Iterator[tuple[str, object]]:
    """Yield ("line 3", parsed row) of JSON Lines."""
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        if not line.strip():
            continue
        where = f"line {number}"
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
                f"{where}: is no JSON ({error.msg} at column {error.colno})",
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
    raise ValueError(f"{name} is no JSON number; leave the key out instead")


def _parquet_rows(uri: str, data: bytes) -> Iterator[tuple[str, object]]:
    """Yield ("row 3", row) of a Parquet file with nested fields; rows count from 0."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    number = 0
    try:
        for batch in pq.ParquetFile(pa.BufferReader(data)).iter_batches(use_threads=False):
            for row in batch.to_pylist(maps_as_pydicts="strict"):
                yield f"row {number}", row
                number += 1
    except (pa.ArrowException, OSError, KeyError, MemoryError) as error:
        raise ManifestError(
            f"row {number}: the Parquet file is damaged ({' '.join(str(error).split())[:160]})",
            path=uri,
            hint="Write it again.",
        ) from error
