"""Detect speech: the band energies of a sound, and the classes and defects of a tier.

Log energies in nine bands distinguish speech sounds. A tier of phones or words becomes a sequence
of broad phone classes; its defects are those it has before any sound is compared with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, pairwise
from statistics import median

import numpy as np
from numpy.typing import NDArray
from scipy.fft import next_fast_len, rfft

from syncaudit.dsp.sound import sample_clock
from syncaudit.model import (
    AudioStream,
    BandEnergies,
    Finding,
    Interval,
    ReasonCode,
    Severity,
    SpokenTier,
    Tier,
    TranscriptStream,
)
from syncaudit.model.arrays import Floats
from syncaudit.speech.phonetics import (
    TYPICAL_DURATION_S,
    PhoneClass,
    alphabet_of,
    classes_of_phone,
    classes_of_spelling,
    is_latin,
    is_silence,
    look_up,
)

N_BANDS = 9
HOP_S = 0.005
# Two periods of a deep voice, so that single glottal pulses do not show.
WINDOW_S = 0.016
LOWEST_HZ, HIGHEST_HZ = 100.0, 7600.0
# Telephone audio ends at 3.4 kHz; at lower rates sibilants look like silence.
MIN_RATE_HZ = 6000.0
# This far below a band's loud frames (45 dB), differences are room and codec, not speech.
FLOOR_NEPERS = 10.4
# Frames transformed at once.
_CHUNK = 4096

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


def find_band_energies(stream: AudioStream) -> BandEnergies | None:
    """Return log energies of a sound in nine bands, every 5 ms.

    A Hann window of 16 ms is centred on each frame's time, so nothing is delayed. The bands are
    evenly spaced in mel (O'Shaughnessy's formula) from 100 Hz to 7.6 kHz, or to the end of the
    spectrum if that is lower. Each band's energy gets a floor 45 dB below its loud frames. Times
    are the file's own seconds (sample over rate from the header); non-finite samples count as
    silence. None if the sound is silent, shorter than 0.1 s, or sampled below 6 kHz.
    """
    rate = stream.rate_hz
    if rate < MIN_RATE_HZ or stream.samples.size < 0.1 * rate:
        return None
    half = max(8, round(0.5 * WINDOW_S * rate))
    n_frames = int((stream.samples.size - 1) / (HOP_S * rate)) + 1
    n_fft = next_fast_len(2 * half + 1, real=True)
    window = np.hanning(2 * half + 3)[1:-1].astype(np.float32)
    weights, centres = _bands(rate, n_fft)
    energy = np.empty((n_frames, N_BANDS))
    padded = np.zeros(stream.samples.size + 2 * half, np.float32)
    padded[half:-half] = np.nan_to_num(stream.samples, nan=0.0, posinf=0.0, neginf=0.0)
    views = np.lib.stride_tricks.sliding_window_view(padded, 2 * half + 1)
    for first in range(0, n_frames, _CHUNK):
        k = np.arange(first, min(first + _CHUNK, n_frames))
        at = np.minimum(np.rint(k * HOP_S * rate).astype(np.int64), len(views) - 1)
        spectrum = rfft(views[at] * window, n=n_fft, axis=1)
        energy[k] = (spectrum.real**2 + spectrum.imag**2) @ weights
    loud = np.quantile(energy, 0.95, axis=0)
    if float(loud.max()) <= 0.0:
        return None
    loud = np.maximum(loud, 1e-6 * float(loud.max()))
    return BandEnergies(
        source=stream.name,
        epoch_ns=_stamp_of_file_start(stream),
        start_s=stream.first_sample / rate,
        hop_s=HOP_S,
        values=np.log(energy / loud + np.exp(-FLOOR_NEPERS)),
        centres_hz=centres,
    )


def _stamp_of_file_start(stream: AudioStream) -> int:
    clock = sample_clock(stream)
    return clock.epoch_ns + round(clock.at(-stream.first_sample) * 1e9)


def _bands(rate_hz: float, n_fft: int) -> tuple[NDArray[np.float32], Floats]:
    """Return triangular weights, shape (bins, bands), and the middle of each band."""
    top = min(HIGHEST_HZ, 0.47 * rate_hz)
    edges_mel = np.linspace(_mel(LOWEST_HZ), _mel(top), N_BANDS + 2)
    edges = 700.0 * (10.0 ** (edges_mel / 2595.0) - 1.0)
    frequency = np.arange(n_fft // 2 + 1) * rate_hz / n_fft
    rise = (frequency[:, None] - edges[:-2]) / (edges[1:-1] - edges[:-2])
    fall = (edges[2:] - frequency[:, None]) / (edges[2:] - edges[1:-1])
    return np.clip(np.minimum(rise, fall), 0.0, None).astype(np.float32), edges[1:-1]


def _mel(frequency_hz: float) -> float:
    return float(2595.0 * np.log10(1.0 + frequency_hz / 700.0))


def find_spoken_tier(stream: TranscriptStream) -> SpokenTier | None:
    """Return what a transcript lists as spoken and when, or None if it has no times.

    If its manifest selects no tier, phones take precedence over words.
    """
    tier = _pick_tier(stream)
    return None if tier is None else spoken_tier(tier, source=stream.name, audio=stream.audio)


def _pick_tier(stream: TranscriptStream) -> Tier | None:
    """Return the tier to check: the selected one, else the one with the most phones."""
    if stream.tier is not None:
        return next((tier for tier in stream.tiers if tier.name == stream.tier), None)
    spoken = [tier for tier in stream.tiers if any(not is_silence(i.label) for i in tier.intervals)]
    phones = [tier for tier in spoken if _has_phones(tier)]
    return max(phones or spoken, key=lambda tier: len(tier.intervals), default=None)


def _has_phones(tier: Tier) -> bool:
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
    is_words = not _has_phones(tier)
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
    is_spelling_known = is_latin(words)
    return {
        word: known.get(word)
        or (classes_of_spelling(word) if is_spelling_known else ())
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


def audit_tier(stream: TranscriptStream, audio: AudioStream | None) -> list[Finding]:
    """Return the defects of the tier to check.

    Intervals that end before they start reject the transcript (``backwards``), as do many labels
    after the end of the audio (``length_mismatch``). Overlaps, empty and long intervals, runs of
    the shortest phones and unknown symbols are warnings (``bad_text``). `audio` is its sound, if
    readable.
    """
    tier = _pick_tier(stream)
    if tier is None:
        return []
    spoken = [i for i in tier.intervals if not is_silence(i.label)]
    if not spoken:
        if any(finding.code is ReasonCode.EMPTY for finding in stream.findings):
            return []
        text = f"{stream.uri}: tier '{tier.name}' holds no words and no phones. Export it again."
        return [Finding(code=ReasonCode.EMPTY, source=stream.name, message=text)]
    place = f"{stream.uri}: tier '{tier.name}'"
    is_phones = _has_phones(tier)
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
