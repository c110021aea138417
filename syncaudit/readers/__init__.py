"""Read sources into streams without repairing them: one table of functions, one per kind."""

from __future__ import annotations

import errno
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

import pyarrow

from syncaudit.errors import ClipInputError, StreamReadError, SyncAuditError, nearest_name
from syncaudit.model import (
    CanSpec,
    EventsSpec,
    Finding,
    ImuSpec,
    ReasonCode,
    Severity,
    SourceKind,
    SourceSpec,
    StateSpec,
    Stream,
    TranscriptSpec,
)
from syncaudit.model.units import NS_PER_UNIT, STAMPS_KEY, units_of
from syncaudit.readers.access import RefusedError, is_outside, refuse_outside
from syncaudit.readers.audio import read_audio
from syncaudit.readers.camera import read_camera
from syncaudit.readers.can import read_can
from syncaudit.readers.columns import STAMPS
from syncaudit.readers.faults import assumed_rate, noted, too_long_a_name
from syncaudit.readers.signals import read_arrivals, read_events, read_imu, read_state
from syncaudit.readers.tables import rows_near
from syncaudit.readers.transcript import read_transcript
from syncaudit.readers.uris import files_named, name_originals, resolve

__all__ = ["READERS", "read_source"]


# Each takes (name, spec of its kind, base_uri) and returns its stream.
READERS: Mapping[str, Callable[..., Stream]] = {
    SourceKind.CAMERA: read_camera,
    SourceKind.IMU: read_imu,
    SourceKind.CAN: read_can,
    SourceKind.AUDIO: read_audio,
    SourceKind.TRANSCRIPT: read_transcript,
    SourceKind.EVENTS: read_events,
    SourceKind.STATE: read_state,
}


# Above this many samples, giving freed memory back is worth the time.
LONG_RECORDING = 1 << 20


def read_source(
    name: str,
    spec: SourceSpec,
    base_uri: str = "",
    *,
    near_ns: tuple[int, int] | None = None,
) -> Stream:
    """Read one source of a clip.

    Local copies of remote files are removed at once, those of a camera's images when a later clip
    of a run does not use them, or when the process ends.

    Parameters
    ----------
    name : str
        Source name in the manifest.
    spec : SourceSpec
        Its entry in the manifest.
    base_uri : str
        Folder that relative URIs are resolved against (`Clip.base_uri`).
    near_ns : tuple of two int, optional
        For large tables, keep only the rows from the first timestamp in ``[low, high)`` to the
        last, if there are any. Other sources are read in full.

    Returns
    -------
    Stream
        Of the kind's own class; its `findings` (with `source` set) list faults that leave it
        usable.

    Raises
    ------
    ClipInputError
        If the source cannot be read; `code` is the reason code, `source` the name.
    MissingExtraError
        If the format needs an optional package.
    """
    reader: Callable[..., Any] = READERS[spec.kind]
    places = list(files_named(spec, base_uri).values())
    try:
        for place in places:
            refuse_outside(place)
        _check_units(name, spec)
        near = spec if near_ns is None else _near(spec, base_uri, near_ns)
        stream: Stream = reader(name, near, base_uri)
    except SyncAuditError as error:
        error.source = error.source or name
        error.path = error.path and name_originals(error.path)
        if (
            isinstance(error, ClipInputError)
            and error.machine_fault is None  # nothing was read that could be quoted
            and any(map(is_outside, [error.path] if error.path else places))
        ):
            raise _unquoted(error, spec) from None
        raise
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
        found = too_long_a_name(str(error.filename or ""))
        found.source = name
        raise found from error
    if stream.time_ns.size > LONG_RECORDING:
        pyarrow.default_memory_pool().release_unused()  # memory of its source tables
    stream = _with_manifest(stream, spec, base_uri)
    if not stream.findings:
        return stream
    findings = stream.findings
    outside = next(filter(is_outside, places), None)
    if outside is not None:
        findings = tuple(
            replace(
                each,
                message=str(_unseen(f"has a fault of kind '{each.code}'", each.code, outside)),
            )
            for each in findings
        )
    named = (replace(each, source=each.source or name) for each in findings)
    return replace(stream, findings=tuple(named))


def _check_units(name: str, spec: SourceSpec) -> None:
    """Reject units of quantities that a source does not have, and unknown units."""
    known: dict[str, Collection[str]] = {}
    if not isinstance(spec, TranscriptSpec):
        known[STAMPS_KEY] = NS_PER_UNIT
    if isinstance(spec, ImuSpec):
        known |= {triple: units_of(triple) for triple in ("gyro", "accel")}
    if isinstance(spec, CanSpec):
        known |= {role: units_of(role) for role in spec.signals}
    for key, unit in spec.units.items():
        if key not in known:
            raise _wrong(f"'units' of {name} names '{key}', which it does not have", key, known)
        if unit not in known[key]:
            message = (
                f"'units' of {name} gives '{unit}' as the unit of {key}, which is not a known unit"
            )
            raise _wrong(message, unit, known[key])


def _wrong(message: str, found: str, known: Collection[str]) -> StreamReadError:
    return StreamReadError(message, code="manifest", hint=nearest_name(found, known))


def _near(spec: SourceSpec, base_uri: str, near_ns: tuple[int, int]) -> SourceSpec:
    """Return the spec; that of a large table is restricted to the rows near its clip's window."""
    if not isinstance(spec, ImuSpec | CanSpec | StateSpec | EventsSpec):
        return spec
    if spec.rows is not None or spec.is_start_assumed or getattr(spec, "dbc", None) is not None:
        return spec
    renamed = spec.columns.get(STAMPS) if isinstance(spec, ImuSpec) else None
    rows = rows_near(
        resolve(spec.uri, base_uri),
        spec.stamps or renamed or STAMPS,
        near_ns,
        may_be_seconds=spec.stamps is not None,
        unit=spec.units.get(STAMPS_KEY),
    )
    return spec if rows is None else replace(spec, rows=list(rows))


def _unquoted(error: ClipInputError, spec: SourceSpec) -> ClipInputError:
    """Return the error for a file outside the roots without quoting the file's content."""
    if error.code == ReasonCode.MISSING_FILE or isinstance(error, RefusedError):
        return error
    return _unseen(f"cannot be read as {spec.kind}", error.code, error.path, source=error.source)


def _unseen(what: str, code: str, path: str | None, *, source: str | None = None) -> ClipInputError:
    return ClipInputError(
        f"{what}; it lies outside of the manifest's folder, so nothing of it is quoted",
        code=code,
        path=path,
        source=source,
        hint="Name its folder with --root to see why.",
    )


def _with_manifest(stream: Stream, spec: SourceSpec, base_uri: str) -> Stream:
    """Add what any source may have in the manifest: arrivals, findings, an assumed start."""
    if isinstance(spec, ImuSpec | CanSpec | StateSpec | EventsSpec) and spec.is_start_assumed:
        stream = replace(stream, is_start_assumed=True)
    is_numbered = spec.stamp_kind == "index"
    if spec.arrivals is None and not spec.findings and not is_numbered:
        return stream
    findings = [*stream.findings, *noted(spec.findings)]
    if not stream.time_ns.size:  # what the importer could not read is why nothing is there
        corrupt = [each for each in findings if each.code is ReasonCode.CORRUPT]
        findings = [replace(each, severity=Severity.DEFECT) for each in corrupt] or findings
    if is_numbered:
        findings.append(assumed_rate())
    arrivals = None
    if spec.arrivals is not None:
        try:
            arrivals = read_arrivals(spec.arrivals, base_uri)
        except StreamReadError as error:
            if error.machine_fault is not None:
                raise
            findings.append(Finding(code=ReasonCode(error.code), message=str(error)))
    return replace(stream, arrivals=arrivals, findings=tuple(findings))
