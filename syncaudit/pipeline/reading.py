"""Read every source of a clip; what cannot be read becomes a finding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from syncaudit.at_work import at_work_on
from syncaudit.errors import ClipInputError, MachineError, SyncAuditError
from syncaudit.machine_faults import machine_fault
from syncaudit.model import Clip, Finding, ReasonCode, Stream
from syncaudit.pipeline.window import window_of
from syncaudit.readers import read_source
from syncaudit.readers.remote import is_url

_LOOK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadClip:
    """The streams of a clip and the findings about those that could not be read."""

    streams: Mapping[str, Stream]  # by source; those that could not be read are absent
    findings: tuple[Finding, ...] = field(default=())  # from the readers, all sources together


def read_clip(
    clip: Clip,
    *,
    is_tolerant: bool = False,
    near_ns: Mapping[str, tuple[int, int]] | None = None,
) -> ReadClip:
    """Read all sources of `clip`; bad data are findings.

    MachineError if the machine failed, not the data. With `is_tolerant`, for display and not for
    judging, the other sources are read even then. `near_ns` is by source, as in `read_source`.
    """
    streams: dict[str, Stream] = {}
    findings: list[Finding] = []
    for name, spec in clip.sources.items():
        try:
            near = None if near_ns is None else near_ns.get(name)
            with at_work_on(f"reading source {name!r}"):
                stream = read_source(name, spec, clip.base_uri, near_ns=near)
        except SyncAuditError as error:
            if not is_tolerant:
                refuse_machine_fault(error, error.path, source=name)
            findings.append(unreadable(name, error))
            continue
        streams[name] = stream
        findings += [replace(finding, source=name) for finding in stream.findings]
        # Transcripts are relative to their audio and have no timestamps of their own.
        if stream.time_ns.size == 0 and spec.kind != "transcript" and not stream.findings:
            findings.append(
                Finding(
                    code=ReasonCode.EMPTY,
                    source=name,
                    message=f"{stream.uri or name} holds no samples. Record it again or drop it.",
                )
            )
    return ReadClip(
        streams={**streams, **_placed(clip, streams)},
        findings=tuple(from_manifest(finding, clip.base_uri) for finding in findings),
    )


def _placed(clip: Clip, streams: Mapping[str, Stream]) -> dict[str, Stream]:
    """Return undated streams moved to the start of the dated ones, if there are any."""
    undated = {
        name
        for name, stream in streams.items()
        if stream.is_start_assumed and getattr(clip.sources[name], "start_ns", 0) is None
    }
    dated = {name: stream for name, stream in streams.items() if name not in undated}
    if not any(stream.time_ns.size for stream in dated.values()):
        return {}
    start_ns = window_of(clip, dated).start_ns
    return {
        name: replace(streams[name], time_ns=streams[name].time_ns + start_ns) for name in undated
    }


def from_manifest(finding: Finding, base_uri: str) -> Finding:
    """Return `finding` with paths as in the manifest: relative to its folder.

    A verdict then does not depend on where a data set lies, and is easier to read.
    """
    message = without_base(finding.message, base_uri) or ""
    return finding if message == finding.message else replace(finding, message=message)


def without_base(text: str | None, base_uri: str) -> str | None:
    """Return `text` with paths relative to the manifest's folder."""
    base = base_uri.rstrip("/")
    return text.replace(f"{base}/", "") if text and base else text


def refuse_machine_fault(
    error: BaseException, path: str | None, *, source: str | None = None
) -> None:
    """Raise MachineError if the machine caused an error, which is then not a finding about a clip.

    C libraries often report only that a file cannot be opened; the file is then opened directly,
    and read at both ends, to find out why.
    """
    if isinstance(error, MachineError):
        raise error
    fault = machine_fault(error) or machine_fault(_plain_error(path))
    if fault is not None:
        raise MachineError(
            f"this clip cannot be judged: {fault} ({str(error).rstrip('.')})",
            source=source,
            hint="Fix that and run again: the clip is then measured again.",
        ) from error


def _plain_error(path: str | None) -> OSError | None:
    if path is None or is_url(path):
        return None
    try:
        if not Path(path).is_file():
            return None
        with Path(path).open("rb") as file:
            file.read(_LOOK_BYTES)
            file.seek(max(0, Path(path).stat().st_size - _LOOK_BYTES))
            file.read(_LOOK_BYTES)
    except OSError as error:
        return error
    return None


def unreadable(source: str, error: SyncAuditError) -> Finding:
    """Return the finding for an expected error of a reader or decoder."""
    code = error.code if isinstance(error, ClipInputError) else ReasonCode.UNREADABLE
    known = {str(member) for member in ReasonCode}
    return Finding(
        code=ReasonCode(code) if code in known else ReasonCode.UNREADABLE,
        source=source,
        message=str(error),
    )
