"""Hold back sources without samples in part of the clip's window: nothing confirms them there."""

from __future__ import annotations

from syncaudit.formatting import word_duration
from syncaudit.model import EventsSpec, Finding, ReasonCode, TranscriptSpec
from syncaudit.policy.case import Case, Findings, doubt

# Windows are stated in whole seconds, and recorders begin one after the other.
_NEAR_S = 1.0


def check_coverage(case: Case) -> Findings:
    """Return a doubt for every source that does not cover the window stated in the manifest.

    Coverage is counted on the reported time base: a source's own timestamps plus the correction
    that was measured, if any was. A clock of another epoch therefore covers what its correction
    maps into the window, and nothing if none could be measured. If no source has a sample in the
    window, that is a defect of the clip.
    """
    clip, record = case.clip, case.record
    if not record.extents:
        return Findings()
    half_ns = round(0.5e9 * record.span_s)
    start_ns = record.at_ns - half_ns if clip.start_ns is None else clip.start_ns
    stop_ns = record.at_ns + half_ns if clip.end_ns is None else clip.end_ns
    window = f"the clip's window, {start_ns} to {stop_ns}"
    lacks = {
        name: _lacking_s(ends, _correction_s(name, case), start_ns, stop_ns)
        for name, ends in record.extents.items()
    }
    span_s = (stop_ns - start_ns) * 1e-9
    away_s = {name: max(late_s, early_s) - span_s for name, (late_s, early_s) in lacks.items()}
    findings: list[Finding] = []
    for name, spec in clip.sources.items():
        holder = spec.audio if isinstance(spec, TranscriptSpec) else name  # times relative to audio
        if holder not in lacks:
            continue
        late_s, early_s = lacks[holder]
        if away_s[holder] >= 0.0:
            first_ns, last_ns = record.extents[holder]
            way = "after" if late_s > early_s else "before"
            text = (
                f"{name} has no sample in {window}: {clip.sources[holder].uri} runs from "
                f"{first_ns} to {last_ns}, {word_duration(away_s[holder])} {way} it. Correct "
                "start_ns and end_ns, or its uri; a clock with another epoch must be calibrated."
            )
            findings.append(doubt(ReasonCode.EMPTY, name, text, value=away_s[holder], limit=0.0))
        elif max(late_s, early_s) > _NEAR_S and not isinstance(spec, EventsSpec):
            text = (
                f"{name} covers only a part of {window}: {clip.sources[holder].uri} "
                f"{_word_lack(late_s, early_s)}, and nothing confirms the rest. Shorten the clip "
                "(start_ns, end_ns), or find the rest of the recording."
            )
            findings.append(
                doubt(ReasonCode.GAP, name, text, value=max(late_s, early_s), limit=_NEAR_S)
            )
    as_stamped = {
        name: max(_lacking_s(ends, 0.0, start_ns, stop_ns)) - span_s
        for name, ends in record.extents.items()
    }
    if min(*away_s.values(), *as_stamped.values()) >= 0.0:
        nearest = min(away_s, key=lambda name: away_s[name])
        text = (
            f"{window} holds no sample of any source: the nearest, of {nearest}, is "
            f"{word_duration(away_s[nearest])} off. Correct start_ns and end_ns, or leave them "
            "out: the clip is then the overlap of its sources."
        )
        findings.append(
            Finding(code=ReasonCode.EMPTY, message=text, value=away_s[nearest], limit=0.0)
        )
    return Findings(findings=findings)


def _lacking_s(
    ends: tuple[int, int], shift_s: float, start_ns: int, stop_ns: int
) -> tuple[float, float]:
    """Return by how much a source begins after the window does, and ends before it does."""
    return (ends[0] - start_ns) * 1e-9 + shift_s, (stop_ns - ends[1]) * 1e-9 - shift_s


def _word_lack(late_s: float, early_s: float) -> str:
    late = f"begins {word_duration(late_s)} after its start"
    early = f"ends {word_duration(early_s)} before its end"
    return " and ".join(
        words for words, lacks_s in ((late, late_s), (early, early_s)) if lacks_s > _NEAR_S
    )


def _correction_s(name: str, case: Case) -> float:
    """Return what to add to a source's timestamps, 0 if nothing is known."""
    estimate = case.clock(name)
    if estimate is None or estimate.offset_s is None:
        return 0.0
    return estimate.offset_s + case.clip.sources[name].expected_offset_s
