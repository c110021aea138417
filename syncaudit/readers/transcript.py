"""Read transcripts: tiers of words or phones with times, or text alone."""

from __future__ import annotations

from pathlib import PurePosixPath

import numpy as np

from syncaudit.errors import StreamReadError, nearest_name
from syncaudit.formatting import word_count
from syncaudit.model import Finding, ReasonCode, Tier, TranscriptSpec, TranscriptStream
from syncaudit.readers.csv_table import decode_text
from syncaudit.readers.faults import empty_stream, stream_fields, warned
from syncaudit.readers.uris import read_bytes, resolve
from syncaudit.speech.tiers.parsing import TIER_FORMATS, Parsed

_TEXT_ONLY = (".lab", ".txt")


def read_transcript(name: str, spec: TranscriptSpec, base_uri: str) -> TranscriptStream:
    """Read a transcript; the suffix of its name determines the format.

    `tier` of the stream is the one that the manifest selects, or the only one; None if there are
    several and the manifest selects none.
    """
    findings: list[Finding] = []
    tiers: tuple[Tier, ...] = ()
    text, uri = spec.text, ""
    if spec.uri is not None:
        uri = resolve(spec.uri, base_uri)
        content = decode_text(uri, read_bytes(uri))
        suffix = PurePosixPath(uri.split("::")[0]).suffix.lower()
        if suffix in _TEXT_ONLY:
            text = content.strip() if text is None else text
        else:
            parsed = _parse(uri, suffix, content)
            tiers = parsed.tiers
            findings += _remarks(uri, parsed)
    if spec.uri is None or not tiers:
        if text is not None and not text.strip():
            findings += empty_stream(uri or "text", "words")
    elif not any(interval.label for tier in tiers for interval in tier.intervals):
        findings += empty_stream(uri, "labelled intervals")
    return TranscriptStream(
        **stream_fields(name, spec, uri, np.empty(0, np.int64), findings),
        audio=spec.audio,
        tiers=tiers,
        tier=_picked(uri, spec.tier, tiers),
        text=text,
    )


def _parse(uri: str, suffix: str, content: str) -> Parsed:
    if suffix not in TIER_FORMATS:
        if content.startswith(('File type = "ooTextFile', '"ooTextFile')):
            return TIER_FORMATS[".textgrid"](uri, content)
        raise StreamReadError(
            f"'{suffix}' is not a known transcript format",
            path=uri,
            hint=f"Known endings: {', '.join([*TIER_FORMATS, *_TEXT_ONLY])}.",
        )
    if not content.strip():
        raise StreamReadError(
            "holds nothing but blanks", code="empty", path=uri, hint="Export it again."
        )
    parsed = TIER_FORMATS[suffix](uri, content)
    if not parsed.tiers:
        raise StreamReadError("holds no tier", code="empty", path=uri, hint="Export it again.")
    return parsed


def _picked(uri: str, tier: str | None, tiers: tuple[Tier, ...]) -> str | None:
    names = [found.name for found in tiers]
    if tier is None:
        return names[0] if len(names) == 1 else None
    if tiers and tier not in names:
        raise StreamReadError(
            f"has no tier '{tier}', found: {', '.join(names)}",
            code="manifest",
            path=uri,
            hint=nearest_name(tier, names),
        )
    return tier


def _remarks(uri: str, parsed: Parsed) -> list[Finding]:
    findings: list[Finding] = []
    if parsed.n_untimed:
        text = f"{uri}: {word_count(parsed.n_untimed, 'word')} without times left out."
        findings.append(warned(ReasonCode.BAD_TEXT, text, float(parsed.n_untimed)))
    if parsed.origin_s:
        text = (
            f"{uri}: its TIME_ORIGIN of {parsed.origin_s:.3f} s was added to every "
            "time, since annotations count from there in the audio."
        )
        findings.append(warned(ReasonCode.MANIFEST, text, parsed.origin_s))
    return findings
