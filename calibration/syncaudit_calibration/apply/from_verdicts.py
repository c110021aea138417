"""Corrections from the verdicts of a run (formats, section 3): each clip has its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from syncaudit.errors import UsageError
from syncaudit.formatting import word_correction
from syncaudit.model import Clip, ClockMap, ReasonCode
from syncaudit_calibration.apply.corrections import SourceCorrection, number, shared_by_clock

# Two-sided 95 %: a correction within its own error would only add noise to the timestamps.
_Z = 1.96

# Defects that an offset and a drift cannot fix, as messages.
_BEYOND_MENDING = {
    ReasonCode.STEP: "its clock jumps",
    ReasonCode.INCONSISTENT: "its measurements contradict each other",
    ReasonCode.JITTER: "its timestamps jitter",
    ReasonCode.GAP: "samples are missing",
    ReasonCode.MISSING_FRAMES: "frames are missing",
    ReasonCode.DUPLICATE: "timestamps are duplicated",
    ReasonCode.BACKWARDS: "timestamps run backwards",
    ReasonCode.RATE: "its rate is wrong",
    ReasonCode.LENGTH_MISMATCH: "the numbers of frames and timestamps differ",
    ReasonCode.CORRUPT: "its data are damaged",
    ReasonCode.NON_FINITE: "values are NaN or infinite",
}


class VerdictCorrections:
    """Corrections of the clips that the verdicts are about.

    Parameters
    ----------
    rows : mapping of str to mapping
        Rows of ``verdicts.jsonl`` by clip id.
    uri : str
        Where they were read from, for messages.
    is_every_figure : bool
        Also apply corrections that lie within their own error.
    """

    def __init__(
        self, rows: Mapping[str, Mapping[str, Any]], *, uri: str, is_every_figure: bool = False
    ) -> None:
        self._rows = rows
        self._uri = uri
        self._z = 0.0 if is_every_figure else _Z

    def of_clip(self, clip: Clip) -> Mapping[str, SourceCorrection]:
        """Return the correction of every source from the verdict on `clip`."""
        row = self._rows.get(clip.clip_id)
        why = "this clip has no verdict" if row is None else _why_other(clip, row)
        if row is None or why is not None:
            return {name: SourceCorrection(why=why) for name in clip.sources}
        reasons, warnings = list(row.get("reasons") or ()), list(row.get("warnings") or ())
        known: dict[str, SourceCorrection] = {}
        missing: dict[str, str] = {}
        for name, source in (row.get("sources") or {}).items():
            found = self._source(row, source, _about(name, reasons), _about(name, warnings))
            if found.correction is None and found.why is not None:
                missing[name] = found.why
            else:
                known[name] = found
        for name in clip.sources:
            missing.setdefault(name, "the verdict on this clip does not list it")
        return shared_by_clock(clip, known, missing)

    def check(self, clips: Mapping[str, Clip]) -> None:
        """Raise an error if there is no verdict on any of the clips."""
        if clips.keys() & self._rows.keys():
            return
        raise UsageError(
            f"none of its {len(self._rows)} clips is in the manifest (it judges "
            f"'{next(iter(self._rows))}', the manifest holds '{next(iter(clips))}')",
            path=self._uri,
            hint="Give the verdicts that 'syncaudit validate' wrote for this manifest.",
        )

    def _source(
        self,
        row: Mapping[str, Any],
        source: Mapping[str, Any],
        reasons: list[Mapping[str, Any]],
        warnings: list[Mapping[str, Any]],
    ) -> SourceCorrection:
        offset_s, drift_ppm = number(source.get("offset_s")), number(source.get("drift_ppm"))
        at_ns = row.get("at_ns")
        if offset_s is None or source.get("observable") is False or not isinstance(at_ns, int):
            return SourceCorrection(why=_why_unknown([*reasons, *warnings]))
        offset_std_s = number(source.get("offset_std_s"))
        if abs(offset_s) <= self._z * (offset_std_s or 0.0):
            offset_s = 0.0
        drift_std_ppm = number(source.get("drift_std_ppm"))
        if drift_ppm is not None and abs(drift_ppm) <= self._z * (drift_std_ppm or 0.0):
            drift_ppm = None
        return SourceCorrection(
            correction=ClockMap(
                offset_s=offset_s, drift_ppm=drift_ppm, at_ns=at_ns if drift_ppm else None
            ),
            offset_std_s=offset_std_s,
            why=_why_nothing(row, source),
            remarks=_remarks(reasons),
            is_of_this_clip=True,
        )


def _why_other(clip: Clip, row: Mapping[str, Any]) -> str | None:
    """Return why a verdict on a clip of the same id must be that on another clip, or None."""
    recording = row.get("recording_id")
    if recording is not None and recording != clip.recording_id:
        return f"the verdict of this id is on a clip of another recording ('{recording}')"
    for name, source in (row.get("sources") or {}).items():
        spec, kind = clip.sources.get(name), source.get("kind")
        if spec is not None and kind is not None and kind != spec.kind:
            return f"the verdict of this id is on another clip, in which '{name}' is of kind {kind}"
    return None


def _about(name: str, findings: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [finding for finding in findings if finding.get("source") == name]


def _why_unknown(findings: list[Mapping[str, Any]]) -> str:
    messages = [str(f.get("message")) for f in findings if f.get("code") == ReasonCode.UNOBSERVABLE]
    messages += [str(f.get("message")) for f in findings]
    return messages[0] if messages else "no measurement in the clip ties it to another source"


def _why_nothing(row: Mapping[str, Any], source: Mapping[str, Any]) -> str:
    """Return why a correction turns out to be zero."""
    if source.get("clock") is not None and source.get("clock") == row.get("reference"):
        return "its clock is the reference"
    offset_s, std_s = number(source.get("offset_s")), number(source.get("offset_std_s"))
    if offset_s and std_s:
        return f"{word_correction(offset_s, std_s)}, within its own error"
    return "its timestamps are right"


def _remarks(reasons: list[Mapping[str, Any]]) -> tuple[str, ...]:
    """Name the defects that an offset and a drift leave in the timestamps."""
    codes = dict.fromkeys(str(finding.get("code")) for finding in reasons)
    words = [_BEYOND_MENDING[ReasonCode(code)] for code in codes if code in _BEYOND_MENDING]
    return (f"{' and '.join(words)}: an offset and a drift cannot correct that",) if words else ()
