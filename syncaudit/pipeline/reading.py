"""Read every source of a clip; what cannot be read becomes a finding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from syncaudit.errors import ClipInputError, SyncAuditError
from syncaudit.model import Clip, Finding, ReasonCode, Stream
from syncaudit.readers import read_source

__all__ = ["ReadClip", "from_manifest", "read_clip", "unreadable", "without_base"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadClip:
    """The streams of a clip and what was wrong with the rest.

    Parameters
    ----------
    streams : mapping of str to Stream
        By source name; sources that could not be read are absent.
    findings : tuple of Finding
        Of the readers, all sources together.
    """

    streams: Mapping[str, Stream]
    findings: tuple[Finding, ...] = field(default=())


def read_clip(clip: Clip) -> ReadClip:
    """Read all sources of `clip`.

    Parameters
    ----------
    clip : Clip
        From the manifest.

    Returns
    -------
    ReadClip
        Never raises for bad data.
    """
    streams: dict[str, Stream] = {}
    findings: list[Finding] = []
    for name, spec in clip.sources.items():
        try:
            stream = read_source(name, spec, clip.base_uri)
        except SyncAuditError as error:
            findings.append(unreadable(name, error))
            continue
        streams[name] = stream
        findings += [replace(finding, source=name) for finding in stream.findings]
        # Transcripts hang on their audio and have no stamps of their own.
        if stream.time_ns.size == 0 and spec.kind != "transcript" and not stream.findings:
            findings.append(
                Finding(
                    code=ReasonCode.EMPTY,
                    source=name,
                    message=f"{stream.uri or name} holds no samples. Record it again or drop it.",
                )
            )
    return ReadClip(
        streams=streams,
        findings=tuple(from_manifest(finding, clip.base_uri) for finding in findings),
    )


def from_manifest(finding: Finding, base_uri: str) -> Finding:
    """Return `finding` with paths as the manifest has them: relative to its folder.

    A verdict then does not depend on where a data set lies, and is easier to read.
    """
    message = without_base(finding.message, base_uri) or ""
    return finding if message == finding.message else replace(finding, message=message)


def without_base(text: str | None, base_uri: str) -> str | None:
    """Return `text` with paths relative to the manifest's folder."""
    base = base_uri.rstrip("/")
    return text.replace(f"{base}/", "") if text and base else text


def unreadable(source: str, error: SyncAuditError) -> Finding:
    """Return the finding that an expected error of a reader or decoder stands for."""
    code = error.code if isinstance(error, ClipInputError) else ReasonCode.UNREADABLE
    known = {str(member) for member in ReasonCode}
    return Finding(
        code=ReasonCode(code) if code in known else ReasonCode.UNREADABLE,
        source=source,
        message=str(error),
    )
