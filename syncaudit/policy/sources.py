"""Judge single sources: when their samples arrived, where they have none, and in which unit.

Arrival times give warnings only, since transport latencies are unknown. A source without samples in
part of the clip's window is held back: nothing confirms it there. A gyroscope in degrees shows
motion that fits in time and is 57 times too large.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping

import numpy as np

from syncaudit.formatting import word_count, word_drift, word_duration, word_measure
from syncaudit.model import (
    ArrivalAudit,
    EventsSpec,
    Finding,
    ImuSpec,
    PairMeasurement,
    ReasonCode,
    TranscriptSpec,
)
from syncaudit.policy.case import Case, Findings, doubt

# How much longer the latency of one source may be than that of its peers, before a wrong timestamp
# is the simpler explanation: encoding and network take ms to tens of ms, the same for peers.
_FLOOR_S = 0.02
# No transport takes that long.
_EPOCH_S = 60.0
# Drift worth reporting: this significant, and this much over the recording.
_SURE = 4.0
_DRIFTED_S = 1e-3
_LEAST_PPM = 10.0
# Beyond any crystal: a queue that grows, or a clock that is being steered.
_FASTEST_PPM = 500.0
_WANDER_S = 0.01
_GROWTH_S = 0.02

# Windows are stated in whole seconds, and recorders begin one after the other.
_NEAR_S = 1.0

# Minimum number of sources that agree, and how far a gain may be off: scales of sensors differ by a
# few percent, stated focal lengths by somewhat more.
MIN_AGREEING = 2
MAX_APART = 0.1
# Rotation of a camera, turn rate of a bus: the ratio of target to source is 1 in rad/s.
METHODS = ("rotation", "yaw_rate")


def check_arrivals(case: Case) -> Findings:
    """Return warnings about the timestamps of sources whose arrival times are known.

    Arrival proves nothing about capture: a source may have a longer latency, and the recorder's
    clock may be the wrong one. So nothing here rejects; the content decides. Sources are compared
    with each other, and a drift or a floor that all share is attributed to the recorder.
    """
    audits = {
        name: audit.arrival
        for name, audit in case.record.stamps.items()
        if audit.arrival is not None
    }
    usual_ppm = _usual_drift(audits)
    findings: list[Finding] = []
    for name, audit in audits.items():
        findings += _floor(name, audit, audits, case.kinds)
        findings += _drift(name, audit, usual_ppm)
        findings += _changes(name, audit)
    return Findings(findings=findings)


def _usual_drift(audits: Mapping[str, ArrivalAudit]) -> float:
    """Return the drift that most sources share, which is the recorder's own; 0 if they do not."""
    known = [
        (audit.drift_ppm, audit.drift_std_ppm or 0.0)
        for audit in audits.values()
        if audit.drift_ppm is not None
    ]
    if len(known) < 3:
        return 0.0
    middle = float(np.median([drift for drift, _ in known]))
    n_agreeing = sum(abs(drift - middle) <= 3.0 * std + _LEAST_PPM for drift, std in known)
    return middle if 2 * n_agreeing > len(known) else 0.0


def _drift(name: str, audit: ArrivalAudit, usual_ppm: float) -> list[Finding]:
    if audit.drift_ppm is None or audit.drift_std_ppm is None:
        return []
    drift, std = audit.drift_ppm - usual_ppm, audit.drift_std_ppm
    is_small = abs(drift) * 1e-6 * audit.span_s < _DRIFTED_S or abs(drift) < _LEAST_PPM
    if is_small or abs(drift) < _SURE * std:
        return []
    against = "the recorder's clock" if usual_ppm == 0.0 else "the other sources"
    way = "slow" if drift > 0.0 else "fast"
    text = (
        f"{name}: by arrival time its timestamps run {way} against {against} by "
        f"{word_drift(abs(drift), std)}: {word_duration(abs(drift) * 1e-6 * audit.span_s)} over "
        "the recording"
    )
    if abs(drift) > _FASTEST_PPM:
        text += "; no quartz drifts that much: a queue that grows or empties, or a steered clock"
    return [Finding.warning(ReasonCode.DRIFT, name, text, value=drift)]


def _floor(
    name: str, audit: ArrivalAudit, audits: Mapping[str, ArrivalAudit], kinds: Mapping[str, str]
) -> list[Finding]:
    if abs(audit.floor_s) > _EPOCH_S:
        text = (
            f"{name}: its timestamps are {word_duration(abs(audit.floor_s))} "
            f"{'before' if audit.floor_s > 0.0 else 'after'} their arrival: its clock has "
            "another epoch than the recorder's"
        )
        return [Finding.warning(ReasonCode.OFFSET, name, text, value=audit.floor_s, limit=_EPOCH_S)]
    fellows, who = _fellows(name, audits, kinds)
    departs = _departure(audit, fellows)
    if departs is not None:
        way = "early" if departs > 0.0 else "late"
        text = (
            f"{name}: its samples arrive {word_measure(abs(departs), audit.floor_std_s)} "
            f"{'later' if departs > 0.0 else 'sooner'} after their timestamps than {who}: the "
            f"timestamps are {way}, or its latency is that much "
            f"{'longer' if departs > 0.0 else 'shorter'}. The content decides"
        )
        if audit.negative:
            text += f"; {_before(audit)}"
        return [Finding.warning(ReasonCode.OFFSET, name, text, value=departs, limit=_FLOOR_S)]
    if audit.negative:
        text = (
            f"{name}: {_before(audit)}, by up to "
            f"{word_duration(max(0.0, -audit.floor_s))}: its clock and the recorder's differ by at "
            "least that"
        )
        return [Finding.warning(ReasonCode.OFFSET, name, text, value=audit.floor_s, limit=0.0)]
    return []


def _before(audit: ArrivalAudit) -> str:
    verb = "was" if audit.negative == 1 else "were"
    return (
        f"{word_count(audit.negative, 'sample')} of {audit.samples} {verb} received before their "
        "timestamp"
    )


def _fellows(
    name: str, audits: Mapping[str, ArrivalAudit], kinds: Mapping[str, str]
) -> tuple[list[float], str]:
    """Return the floors to compare a source's with, and what to call them.

    Those of its kind if there are two others. Otherwise those of cameras: the latency of small
    messages is not longer than that of images.
    """
    own = [a.floor_s for n, a in audits.items() if n != name and kinds[n] == kinds[name]]
    if len(own) >= 2:
        return own, f"those of the other {kinds[name]} sources"
    cameras = [a.floor_s for n, a in audits.items() if n != name and kinds[n] == "camera"]
    if kinds[name] != "camera" and len(cameras) >= 2:
        return cameras, "the frames of the cameras"
    return [], ""


def _departure(audit: ArrivalAudit, fellows: list[float]) -> float | None:
    """Return the offset of a floor from its peers', if it is beyond their scatter."""
    if not fellows:
        return None
    middle = float(np.median(fellows))
    scatter = float(np.median(np.abs(np.array(fellows) - middle)))
    departs = audit.floor_s - middle
    limit = max(_FLOOR_S, 5.0 * scatter, _SURE * audit.floor_std_s)
    return departs if abs(departs) > limit else None


def _changes(name: str, audit: ArrivalAudit) -> list[Finding]:
    findings = []
    if audit.steps:
        at_ns, size = max(audit.steps, key=lambda step: abs(step[1]))
        n = len(audit.steps)
        more = f", the largest of {n} jumps" if n > 1 else ""
        text = (
            f"{name}: the time from timestamp to arrival jumps by {word_duration(abs(size))} "
            f"({'up' if size > 0.0 else 'down'}) at {at_ns} ns{more}: a stepped clock, or a queue"
        )
        findings.append(Finding.warning(ReasonCode.STEP, name, text, value=size))
    if audit.wander_s > _WANDER_S and not audit.steps:
        findings.append(
            Finding.warning(
                ReasonCode.JITTER,
                name,
                f"{name}: the shortest time from timestamp to arrival wanders by "
                f"{word_duration(audit.wander_s)}: a queue that fills and empties, or a steered "
                "clock",
                value=audit.wander_s,
                limit=_WANDER_S,
            )
        )
    growth = audit.transport_growth_s
    if growth is not None and growth > _GROWTH_S:
        findings.append(
            Finding.warning(
                ReasonCode.JITTER,
                name,
                f"{name}: transport from publisher to recorder takes {word_duration(growth)} "
                "longer at the end than at the start: a queue grows",
                value=growth,
                limit=_GROWTH_S,
            )
        )
    return findings


def check_coverage(case: Case) -> Findings:
    """Return a doubt for every source that does not cover the clip's window.

    Without one in the manifest, the window is what most sources cover, and only a source that has
    no sample in it is in doubt.

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
    is_stated = clip.states_window
    name_of_window = "the clip's window" if is_stated else "what most sources cover"
    window = f"{name_of_window}, {start_ns} to {stop_ns}"
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
            remedy = "Correct start_ns and end_ns" if is_stated else "Split the clip"
            text = (
                f"{name} has no sample in {window}: {clip.sources[holder].uri} runs from "
                f"{first_ns} to {last_ns}, {word_duration(away_s[holder])} {way} it. {remedy}, "
                "or correct its uri; a clock with another epoch must be calibrated."
            )
            findings.append(doubt(ReasonCode.EMPTY, name, text, value=away_s[holder], limit=0.0))
        elif is_stated and max(late_s, early_s) > _NEAR_S and not isinstance(spec, EventsSpec):
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
    if is_stated and min(*away_s.values(), *as_stamped.values()) >= 0.0:
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


def check_units(case: Case) -> Findings:
    """Return a warning for every IMU whose gyroscope others show to be in degrees per second.

    Nothing is converted: the manifest has to state a unit. The pairs were refused for their gain,
    so that such an IMU confirms no other source.
    """
    findings = []
    for name, spec in case.clip.sources.items():
        if not isinstance(spec, ImuSpec) or "gyro" in spec.units:
            continue
        gains = {
            pair.source: gain
            for pair in case.measurements
            if pair.target == name and (gain := _gain(pair)) is not None
        }
        agreeing = [gain for gain in gains.values() if abs(math.degrees(gain) - 1.0) < MAX_APART]
        if len(agreeing) >= max(MIN_AGREEING, 0.5 * len(gains) + 0.5):
            findings.append(
                Finding.warning(
                    ReasonCode.UNOBSERVABLE,
                    name,
                    f"the gyroscope of {name} looks like degrees, not radians: "
                    f"{word_count(len(agreeing), 'source')} show a gain of "
                    f"{statistics.median(agreeing):.4f}, degrees make it {math.pi / 180.0:.4f}. "
                    'State it in the manifest: "units": {"gyro": "deg/s"}',
                )
            )
    return Findings(findings=findings)


def _gain(pair: PairMeasurement) -> float | None:
    gain = pair.diagnostics.get("gain")
    return None if pair.accepted or pair.method not in METHODS else gain
