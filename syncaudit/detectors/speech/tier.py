"""Turn a tier of phones or words into a sequence of broad phone classes."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

import numpy as np

from syncaudit.model import Interval, SpokenTier, Tier, TranscriptStream
from syncaudit.speech.phonetics import (
    TYPICAL_DURATION_S,
    PhoneClass,
    Script,
    alphabet_of,
    classes_of_phone,
    classes_of_spelling,
    is_silence,
    look_up,
    script_of,
)

# Shorter gaps between neighbours are rounding, not pauses: the first label is extended.
MIN_PAUSE_S = 0.03
# Bursts last this long for every stop; the rest of the stop is its closure.
BURST_S = 0.035
# Share of a tier's labels that must be phones to call it a tier of phones.
MIN_PHONE_SHARE = 0.8
# Phones last 30 to 150 ms, words 150 to 500.
MAX_PHONE_S = 0.16
# Longer labels are sentences, whose word times are unknown.
MAX_WORD_S = 1.0
# Minimum share of words found in the English dictionary for it to be used.
MIN_KNOWN_SHARE = 0.8

_Sound = tuple[float, float, PhoneClass, bool]


def find_spoken_tier(stream: TranscriptStream) -> SpokenTier | None:
    """Return what a transcript lists as spoken and when, or None if it has no times.

    If its manifest selects no tier, phones take precedence over words.
    """
    tier = pick_tier(stream)
    return None if tier is None else spoken_tier(tier, source=stream.name, audio=stream.audio)


def pick_tier(stream: TranscriptStream) -> Tier | None:
    """Return the tier to check: the selected one, else the one with the most phones."""
    if stream.tier is not None:
        return next((tier for tier in stream.tiers if tier.name == stream.tier), None)
    spoken = [tier for tier in stream.tiers if any(not is_silence(i.label) for i in tier.intervals)]
    phones = [tier for tier in spoken if has_phones(tier)]
    return max(phones or spoken, key=lambda tier: len(tier.intervals), default=None)


def has_phones(tier: Tier) -> bool:
    """Return whether a tier holds phones rather than words, by its labels and their durations."""
    spoken = [i for i in tier.intervals if not is_silence(i.label)]
    share = alphabet_of([i.label for i in spoken])[1]
    return share >= MIN_PHONE_SHARE and median(i.stop_s - i.start_s for i in spoken) <= MAX_PHONE_S


def spoken_tier(tier: Tier, *, source: str, audio: str) -> SpokenTier | None:
    """Return a tier as a sequence of broad phone classes, or None if it holds no speech.

    A stop becomes closure and burst, an affricate closure and hiss. A word becomes the sounds of
    its pronunciation (from the dictionary if it contains nearly all words), of its spelling (Latin
    script), or just speech; they share its time according to their typical durations. Sentences
    (subtitles) are just speech. Gaps are silence.
    Disorder, overlaps and empty intervals are dropped here: `audit_tier` reports them. `source` and
    `audio` are the names of the transcript and of its microphone.
    """
    intervals = _in_order(tier.intervals)
    labels = [i.label for i in intervals if not is_silence(i.label)]
    if not labels:
        return None
    is_words = not has_phones(tier)
    if is_words:
        spans = [i.stop_s - i.start_s for i in intervals if not is_silence(i.label)]
        is_sentences = median(spans) > MAX_WORD_S
        readings = (
            dict.fromkeys(labels, (PhoneClass.SPEECH,)) if is_sentences else _readings(labels)
        )
    else:
        alphabet, _ = alphabet_of(labels)
        readings = {
            label: classes_of_phone(label, alphabet) or (PhoneClass.SPEECH,) for label in labels
        }
    sounds: list[_Sound] = []
    for k, interval in enumerate(intervals):
        following = intervals[k + 1].start_s if k + 1 < len(intervals) else interval.stop_s
        is_joined = 0.0 <= following - interval.stop_s < MIN_PAUSE_S
        stop_s = following if is_joined else interval.stop_s
        if is_silence(interval.label):
            sounds.append((interval.start_s, stop_s, PhoneClass.SILENCE, True))
        elif is_words:
            sounds += _spread(interval.start_s, stop_s, readings[interval.label])
        else:
            sounds += _split(interval.start_s, stop_s, readings[interval.label])
        if not is_joined and following > stop_s:
            sounds.append((stop_s, following, PhoneClass.SILENCE, True))
    return SpokenTier(
        source=source,
        audio=audio,
        tier=tier.name,
        start_s=np.array([s[0] for s in sounds]),
        stop_s=np.array([s[1] for s in sounds]),
        is_stated=np.array([s[3] for s in sounds], dtype=np.bool_),
        classes=tuple(str(s[2]) for s in sounds),
        is_words=is_words,
        n_labels=len(labels),
    )


def _in_order(intervals: Sequence[Interval]) -> list[Interval]:
    """Return the intervals of positive length in order, each cut off where the next begins."""
    kept = sorted(
        (i for i in intervals if i.stop_s > i.start_s and np.isfinite([i.start_s, i.stop_s]).all()),
        key=lambda i: (i.start_s, i.stop_s),
    )
    found: list[Interval] = []
    for interval in kept:
        if found and interval.start_s < found[-1].stop_s:
            last = found.pop()
            if interval.start_s > last.start_s:
                found.append(
                    Interval(start_s=last.start_s, stop_s=interval.start_s, label=last.label)
                )
        found.append(interval)
    return found


def _readings(words: Sequence[str]) -> dict[str, tuple[PhoneClass, ...]]:
    """Return the sounds of every word."""
    known = look_up(words)
    if sum(word in known for word in words) < MIN_KNOWN_SHARE * len(words):
        known = {}
    is_latin = script_of(words) is Script.LATIN
    return {
        word: known.get(word)
        or (classes_of_spelling(word) if is_latin else ())
        or (PhoneClass.SPEECH,)
        for word in words
    }


def _spread(start_s: float, stop_s: float, classes: Sequence[PhoneClass]) -> list[_Sound]:
    shares = np.cumsum([0.0, *(TYPICAL_DURATION_S[manner] for manner in classes)])
    edges = start_s + (stop_s - start_s) * shares / shares[-1]
    return [
        (float(edges[k]), float(edges[k + 1]), manner, k == 0) for k, manner in enumerate(classes)
    ]


def _split(start_s: float, stop_s: float, classes: Sequence[PhoneClass]) -> list[_Sound]:
    if len(classes) == 2 and classes[1] is PhoneClass.PLOSIVE:
        middle = stop_s - min(BURST_S, 0.5 * (stop_s - start_s))
        return [(start_s, middle, classes[0], True), (middle, stop_s, classes[1], False)]
    return _spread(start_s, stop_s, classes)
