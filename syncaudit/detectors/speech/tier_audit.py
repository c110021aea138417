"""Find defects of a tier on its own, before any sound is compared with it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, pairwise

import numpy as np

from syncaudit.detectors.speech.tier import has_phones, pick_tier
from syncaudit.model import AudioStream, Finding, Interval, ReasonCode, Severity, TranscriptStream
from syncaudit.speech.phonetics import alphabet_of, classes_of_phone, is_silence

# Times are written in steps of 10 ms, or as float32: smaller overlaps are rounding.
ROUNDING_S = 0.011
# A tier may end this much after its audio: padding, a last frame.
PADDING_S = 0.1
# Longer words come from a timeline that lost its audio, or are sung.
LONG_WORD_S = 1.0
# Consecutive phones of the aligner's minimum length: it lost track there.
SMALLEST_PHONE_S = 0.035
MANY_SMALLEST = 8
# Share of labels beyond which damage is not accidental.
MANY = 0.1


def audit_tier(stream: TranscriptStream, audio: AudioStream | None) -> list[Finding]:
    """Return the defects of the tier to check.

    Intervals that end before they start reject the transcript (``backwards``), as do many labels
    after the end of the audio (``length_mismatch``). Overlaps, empty and long intervals, runs of
    the shortest phones and unknown symbols are warnings (``bad_text``). `audio` is its sound, if
    readable.
    """
    tier = pick_tier(stream)
    if tier is None:
        return []
    spoken = [i for i in tier.intervals if not is_silence(i.label)]
    if not spoken:
        if any(finding.code is ReasonCode.EMPTY for finding in stream.findings):
            return []
        text = f"{stream.uri}: tier '{tier.name}' holds no words and no phones. Export it again."
        return [Finding(code=ReasonCode.EMPTY, source=stream.name, message=text)]
    place = f"{stream.uri}: tier '{tier.name}'"
    is_phones = has_phones(tier)
    return [
        *_durations(stream.name, place, tier.intervals),
        *_overlaps(stream.name, place, spoken),
        *_beyond(stream.name, place, spoken, audio),
        *(_phones if is_phones else _words)(stream.name, place, spoken),
    ]


def _warning(name: str, text: str, value: float, limit: float | None = None) -> Finding:
    return Finding.warning(ReasonCode.BAD_TEXT, name, text, value=value, limit=limit)


def _durations(name: str, place: str, intervals: Sequence[Interval]) -> list[Finding]:
    found = []
    negative = [i for i in intervals if i.stop_s < i.start_s]
    if negative:
        found.append(
            Finding(
                code=ReasonCode.BACKWARDS,
                source=name,
                message=f"{place} has {len(negative)} intervals that end before they start, the "
                f"first {_word(negative[0])}. Export it again.",
                value=float(len(negative)),
                limit=0.0,
            )
        )
    empty = [i for i in intervals if i.stop_s == i.start_s and not is_silence(i.label)]
    if empty:
        text = f"{place} has {len(empty)} labels of zero length, the first {_word(empty[0])}."
        found.append(_warning(name, text, float(len(empty)), 0.0))
    return found


def _overlaps(name: str, place: str, spoken: Sequence[Interval]) -> list[Finding]:
    pairs = [
        (before, after)
        for before, after in pairwise(spoken)
        if after.start_s < before.stop_s - ROUNDING_S and before.stop_s > before.start_s
    ]
    if not pairs:
        return []
    before, after = pairs[0]
    text = (
        f"{place} has {len(pairs)} labels that begin before the previous one ends, the first "
        f"{_word(after)} in {_word(before)}. Give every speaker a separate tier."
    )
    return [_warning(name, text, float(len(pairs)), 0.0)]


def _beyond(
    name: str, place: str, spoken: Sequence[Interval], audio: AudioStream | None
) -> list[Finding]:
    if audio is None or not audio.rate_hz > 0.0:
        return []
    end_s = audio.file_seconds or audio.samples.size / audio.rate_hz
    beyond = [i for i in spoken if i.stop_s > end_s + PADDING_S or i.start_s < -PADDING_S]
    if not beyond:
        return []
    outside = [i for i in spoken if i.start_s >= end_s or i.stop_s <= 0.0]
    text = (
        f"{place} has {len(beyond)} of {len(spoken)} labels beyond its audio of {end_s:.2f} s, "
        f"the first {_word(beyond[0])}. Pair it with its own audio file."
    )
    is_defect = len(outside) > MANY * len(spoken)
    return [
        Finding(
            code=ReasonCode.LENGTH_MISMATCH,
            source=name,
            message=text,
            value=float(max(i.stop_s for i in beyond)),
            limit=end_s,
            severity=Severity.DEFECT if is_defect else Severity.WARNING,
        )
    ]


def _words(name: str, place: str, spoken: Sequence[Interval]) -> list[Finding]:
    long = [i for i in spoken if i.stop_s - i.start_s > LONG_WORD_S]
    if not long or float(np.median([i.stop_s - i.start_s for i in spoken])) > LONG_WORD_S:
        return []  # whole sentences are not words
    longest = max(long, key=lambda i: i.stop_s - i.start_s)
    text = (
        f"{place} has {len(long)} words longer than {LONG_WORD_S:g} s, the longest "
        f"{_word(longest)} of {longest.stop_s - longest.start_s:.2f} s: pauses inside words, or "
        "the aligner lost track."
    )
    return [_warning(name, text, longest.stop_s - longest.start_s, LONG_WORD_S)]


def _phones(name: str, place: str, spoken: Sequence[Interval]) -> list[Finding]:
    found = []
    runs = [
        list(run)
        for is_small, run in groupby(spoken, lambda i: i.stop_s - i.start_s <= SMALLEST_PHONE_S)
        if is_small
    ]
    longest = max(runs, key=len, default=[])
    if len(longest) >= MANY_SMALLEST:
        text = (
            f"{place} has {len(longest)} phones of {SMALLEST_PHONE_S * 1e3:g} ms or less in a "
            f"row, from {_word(longest[0])} on: the aligner lost track there."
        )
        found.append(_warning(name, text, float(len(longest)), float(MANY_SMALLEST)))
    alphabet, _ = alphabet_of([i.label for i in spoken])
    unknown = [i.label for i in spoken if classes_of_phone(i.label, alphabet) is None]
    if unknown:
        listed = ", ".join(f"'{label}'" for label in list(dict.fromkeys(unknown))[:5])
        text = (
            f"{place} has {len(unknown)} of {len(spoken)} phones that the {alphabet} does not "
            f"contain ({listed}): they count as speech of any kind."
        )
        found.append(_warning(name, text, float(len(unknown)), 0.0))
    return found


def _word(interval: Interval) -> str:
    return f"'{interval.label[:40]}' at {interval.start_s:.2f} s"
