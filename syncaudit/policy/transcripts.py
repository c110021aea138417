"""Judge a transcript against the audio that its times refer to."""

from __future__ import annotations

import math
from dataclasses import replace

from syncaudit.formatting import word_correction, word_duration
from syncaudit.model import (
    ClockEstimate,
    ClockSolution,
    Finding,
    PairMeasurement,
    ReasonCode,
    TranscriptSpec,
    nanoseconds,
)
from syncaudit.policy.case import (
    QUARTZ_PPM,
    Case,
    CheckResult,
    ClockCase,
    Equivalence,
    compare,
    rejected,
)
from syncaudit.policy.clocks import judge_clock, unmeasured

# Times that were measured; text without times that was aligned here, at 0 by construction.
_METHODS = ("speech", "text")
# Times of a tier are stretched by file conversion: 0.1 % where 29.97 frames per second are taken
# for 30, more where the step of an aligner's frames is rounded.
_STRETCH_PPM = 1000.0


def judge_transcript(case: Case, name: str, spec: TranscriptSpec) -> CheckResult:
    """Return the result on a transcript.

    Its words are about its audio, so it is judged against that and nothing else: if the
    microphone's own clock is off, or nothing constrains it, that is reported for the microphone.
    """
    audio, limits, z = spec.audio, case.limits[name], case.z
    at_ns, span_s = case.solution.at_ns, case.record.span_s
    own = [
        m
        for m in case.measurements
        if (m.source, m.target) == (name, audio) and m.method in _METHODS
    ]
    if not own:
        return unmeasured(name, "it holds no words with times")
    m = own[0]
    if not m.accepted or m.offset_s is None or m.offset_std_s is None:
        return _refused(name, audio, m)
    if m.diagnostics.get("is_words"):
        limits = limits.for_words()
    if abs(m.at_ns - at_ns) * 1e-9 > span_s:  # unrelated epochs: the tier's own middle
        at_ns = m.at_ns
    # There is no speech, and no evidence, beyond the tier, which lies within the clip.
    heard_s = min(m.diagnostics.get("seconds", span_s), span_s)
    room_s = 0.5 * (span_s - heard_s)
    off_middle_s = min(max((m.at_ns - at_ns) * 1e-9, -room_s), room_s)
    at_ns += nanoseconds(off_middle_s)
    estimate = _estimate(name, m, at_ns, spec.expected_offset_s)
    own_case = ClockCase(
        name=name,
        clock=name,
        limits=limits,
        solution=ClockSolution(
            reference=audio,
            is_reference_stated=True,
            at_ns=at_ns,
            clocks={name: estimate},
        ),
        measurements=own,
        clocks={name: name, audio: audio},
        expected_offset_s=spec.expected_offset_s,
        span_s=heard_s,
        start_s=room_s + off_middle_s,
        z=z,
        # Text that was aligned here has no times of its own.
        prior_ppm=_STRETCH_PPM if m.method == "speech" else QUARTZ_PPM,
    )
    result = judge_clock(own_case)
    warning = limits.offset_warning_s
    value_s, std_s = estimate.offset_s or 0.0, estimate.offset_std_s or 0.0
    if (
        result.defects
        or warning is None
        or compare(value_s, std_s, warning, z) is not Equivalence.OUTSIDE
    ):
        return result
    text = (
        f"{name} is {word_correction(value_s, std_s)} against {audio}, more than the usual "
        f"{word_duration(warning)}: state 'expected_offset_s' if that is a convention of its "
        "aligner"
    )
    found = Finding.warning(ReasonCode.OFFSET, name, text, value=value_s, limit=warning)
    return replace(result, warnings=(*result.warnings, found))


def _estimate(name: str, m: PairMeasurement, at_ns: int, expected_offset_s: float) -> ClockEstimate:
    """Return the measurement as a clock's estimate at the middle of the clip."""
    after_s = (at_ns - m.at_ns) * 1e-9
    std_s = m.offset_std_s or 0.0
    if m.drift_ppm is not None:
        std_s = math.hypot(std_s, 1e-6 * (m.drift_std_ppm or 0.0) * after_s)
    return ClockEstimate(
        clock=name,
        is_observable=True,
        offset_s=m.clock_map().change_at(at_ns) - expected_offset_s,
        offset_std_s=std_s,
        drift_ppm=m.drift_ppm,
        drift_std_ppm=m.drift_std_ppm,
        step_s=m.step_s,
        step_std_s=m.step_std_s,
        step_at_ns=m.step_at_ns,
        is_step_past=m.step_at_ns is not None and at_ns >= m.step_at_ns,
        n_measurements=1,
    )


def _refused(name: str, audio: str, m: PairMeasurement) -> CheckResult:
    """Reject a transcript shown not to fit; one that is merely unclear stays unverified."""
    if m.diagnostics.get("is_foreign"):
        words = "words" if m.diagnostics.get("is_words") else "phones"
        text = (
            f"the {words} of {name} are not what is spoken in {audio}, or their times are "
            f"inconsistent: {m.why}"
        )
        return rejected(ReasonCode.BAD_TEXT, name, text)
    if m.diagnostics.get("steps", 0.0) > 1.0 and not m.diagnostics.get("is_words"):
        text = f"{name} does not follow {audio}: {m.why}"
        return rejected(ReasonCode.STEP, name, text)
    return unmeasured(name, f"its words could not be matched to {audio}: {m.why}")
