"""Align text with audio, judge the result, and by it the transcripts that are only text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from syncaudit.detectors import find_band_energies, spoken_tier
from syncaudit.errors import AlignmentError, SyncAuditError, UsageError, nearest_name
from syncaudit.estimators import measure_speech
from syncaudit.formatting import word_measure
from syncaudit.model import (
    AudioStream,
    Clip,
    Finding,
    PairMeasurement,
    ReasonCode,
    SourceKind,
    Stream,
    Tier,
    TranscriptSpec,
    TranscriptStream,
)
from syncaudit.pipeline.stages import Stages
from syncaudit.speech.aligners.alignment import (
    ALIGNERS,
    Aligner,
    Alignment,
    Utterance,
    words_of_text,
)

AUTO = "auto"
# The reject limit of phones: aligners differ by 10 to 25 ms in where a sound begins.
_LIMIT_S = 0.045
# From this duration the estimator makes no gross errors and misses no tier that fits.
_TELLING_S = 8.0
_WITH_SCORE = "pocketsphinx"
# Two aligners that mean the same words are this close (median of the words' starts).
_SAME_S, _OTHER_S = 0.050, 0.100

METHOD = "text"
# Offset of an aligner's tier as a whole from its audio, one sigma: people and models differ by 8
# to 15 ms on where a sound begins.
_STD_S = 0.012


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Aligners to try, in order, and why the others are not used."""

    aligners: tuple[Aligner, ...]  # at least one
    passed_over: tuple[str, ...] = ()  # why each of the others cannot be used here


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedAlignment:
    """An alignment that was compared with its audio."""

    alignment: Alignment
    # of the tier against the audio, by an estimator that is independent of the aligner
    measurement: PairMeasurement
    is_verified: bool  # whether anything confirms it
    why: str  # what confirms it, or why nothing can


@dataclass(slots=True)
class AlignedTexts:
    """Results for the texts of a clip."""

    # with the tiers that were made
    streams: dict[str, TranscriptStream] = field(default_factory=dict)
    # one per text, accepted where it fits its audio
    measurements: list[PairMeasurement] = field(default_factory=list)
    # what a reader of the verdict should know about tiers made here
    findings: list[Finding] = field(default_factory=list)


def choose_aligners(
    name: str = AUTO, *, language: str = "en", is_phones: bool = False, is_one_enough: bool = False
) -> Choice:
    """Return the aligner called `name`, or with ``auto`` all that can be used here.

    `is_phones`: the text is given as phones. `is_one_enough`: stop at the first that can be used,
    since checking the others takes seconds. UsageError if no aligner has that name; SyncAuditError,
    with what to install, if it, or every one, cannot be used here.
    """
    if name != AUTO and name not in ALIGNERS:
        raise UsageError(f"no aligner named '{name}'", hint=nearest_name(name, [AUTO, *ALIGNERS]))
    usable: list[Aligner] = []
    reasons: dict[str, SyncAuditError] = {}
    for each in ALIGNERS if name == AUTO else [name]:
        aligner = ALIGNERS[each]()
        reason = aligner.unavailable_reason(language, is_phones=is_phones)
        if reason is None:
            usable.append(aligner)
            if is_one_enough:
                break
        else:
            reasons[each] = reason
    if not usable:
        raise next(iter(reasons.values()))
    return Choice(
        aligners=tuple(usable),
        passed_over=tuple(f"{each}: {why.message}" for each, why in reasons.items()),
    )


def align_and_judge(
    utterances: Sequence[Utterance], choice: Choice
) -> list[JudgedAlignment | AlignmentError]:
    """Align utterances and judge each result; what one aligner cannot do, the next one tries.

    All are of one language, all words or all phones. Returns for each a judged alignment, or the
    error that explains why there is no usable one.
    """
    outcomes: list[JudgedAlignment | AlignmentError | None] = [None] * len(utterances)
    for aligner in choice.aligners:
        open_ = [k for k, got in enumerate(outcomes) if not isinstance(got, JudgedAlignment)]
        if not open_:
            break
        results = aligner.align([utterances[k] for k in open_])
        for k, result in zip(open_, results, strict=True):
            judged = _judge(result, utterances[k])
            outcomes[k] = _with_earlier(judged, outcomes[k])
    return [outcome for outcome in outcomes if outcome is not None]


def _with_earlier(
    judged: JudgedAlignment | AlignmentError, earlier: JudgedAlignment | AlignmentError | None
) -> JudgedAlignment | AlignmentError:
    """Join the reasons where several aligners failed."""
    if isinstance(judged, JudgedAlignment) or not isinstance(earlier, AlignmentError):
        return judged
    return AlignmentError(f"{earlier.message}; {judged.message}", hint=judged.hint or earlier.hint)


def _judge(
    result: Alignment | AlignmentError, utterance: Utterance
) -> JudgedAlignment | AlignmentError:
    if isinstance(result, AlignmentError):
        return result
    found = measure_tier(result.phones, _stream(utterance), name="the alignment")
    judged = partial(JudgedAlignment, alignment=result, measurement=found)
    by = f"{utterance.name}: the alignment by {result.aligner}"
    if found.accepted:
        offset_s, std_s = found.offset_s or 0.0, found.offset_std_s or 0.0
        off = f"{word_measure(offset_s, std_s)} off"
        if abs(offset_s) > _LIMIT_S + 2.0 * std_s or abs(found.step_s or 0.0) > _LIMIT_S:
            return AlignmentError(f"{by} is {off} the audio, more than {1e3 * _LIMIT_S:.0f} ms")
        return judged(is_verified=True, why=f"measured against the audio: {off}")
    if result.has_own_score:
        why = f"its own score indicates that the text fits (not measured: {found.why})"
        return judged(is_verified=True, why=why)
    if utterance.duration_s >= _TELLING_S:
        return AlignmentError(f"{by} does not fit the audio: {found.why}")
    # A short alignment without a score is compared with that of the aligner that has one.
    other = ALIGNERS[_WITH_SCORE]()
    is_usable = other.unavailable_reason(utterance.language, is_phones=False) is None
    second = other.align([utterance])[0] if is_usable else None
    apart_s = _apart(result, second) if isinstance(second, Alignment) else None
    if apart_s is not None and apart_s > _OTHER_S:
        return AlignmentError(
            f"{utterance.name}: {result.aligner} and {_WITH_SCORE} place the words "
            f"{1e3 * apart_s:.0f} ms apart"
        )
    if apart_s is not None and apart_s <= _SAME_S:
        why = f"{_WITH_SCORE} places the words within {1e3 * apart_s:.0f} ms of it"
        return judged(is_verified=True, why=why)
    return judged(is_verified=False, why=f"nothing confirms it: {found.why}")


def _apart(first: Alignment, second: Alignment) -> float | None:
    """Return the median distance of the words' starts, None unless the words are the same."""
    mine, others = first.words.intervals, second.words.intervals
    if not mine or len(mine) != len(others):
        return None
    return float(np.median([abs(a.start_s - b.start_s) for a, b in zip(mine, others, strict=True)]))


def _stream(utterance: Utterance) -> AudioStream:
    zero = np.zeros(1, dtype=np.int64)
    return AudioStream(
        name=utterance.name,
        clock=utterance.name,
        kind=SourceKind.AUDIO,
        time_ns=zero,
        anchor_samples=zero,
        rate_hz=utterance.rate_hz,
        samples=utterance.samples,
    )


def measure_tier(
    tier: Tier, audio: AudioStream, *, name: str = "tier", max_offset_s: float = 2.0
) -> PairMeasurement:
    """Measure the offset of a tier, in seconds of the audio file, from its audio.

    `name` is that of the tier in the result; offsets up to `max_offset_s`, either sign, are
    searched. `offset_s` is what to add to the tier's times; refused with a reason if it cannot be
    determined, or if the tier does not belong to the audio.
    """
    at_ns = int(audio.time_ns[0]) if audio.time_ns.size else 0
    spoken = spoken_tier(tier, source=name, audio=audio.name)
    if spoken is None:
        why = "the tier holds no words and no phones"
        return PairMeasurement.refused(name, audio.name, "speech", at_ns, why)
    sound = find_band_energies(audio)
    if sound is None:
        why = "the audio is silent, shorter than 0.1 s or sampled below 6 kHz"
        return PairMeasurement.refused(name, audio.name, "speech", at_ns, why)
    return measure_speech(spoken, sound, max_offset_s=max_offset_s)


def align_texts(clip: Clip, streams: Mapping[str, Stream], stages: Stages) -> AlignedTexts:
    """Align every text that has no times with its audio.

    A tier that is made from the audio matches it by construction: it proves nothing about
    timestamps. What is judged is whether the text fits. `streams` are as read, uncropped: texts
    cover whole files. `stages` receives the time of ``align``.
    """
    texts = AlignedTexts()
    for name, stream in streams.items():
        spec = clip.sources[name]
        if not isinstance(stream, TranscriptStream) or not isinstance(spec, TranscriptSpec):
            continue
        if stream.tiers or not (stream.text or "").strip():
            continue
        with stages.timed("align"):
            _align(name, stream, streams.get(stream.audio), spec.language, texts)
    return texts


def _align(
    name: str, stream: TranscriptStream, audio: Stream | None, language: str, texts: AlignedTexts
) -> None:
    refused = partial(PairMeasurement.refused, name, stream.audio, METHOD)
    if not isinstance(audio, AudioStream) or not audio.samples.size:
        texts.measurements.append(refused(0, "its audio cannot be read"))
        return
    at_ns = int(audio.time_ns[0]) if audio.time_ns.size else 0
    utterance = Utterance(
        name=name,
        samples=audio.samples,
        rate_hz=audio.rate_hz,
        words=words_of_text(stream.text or ""),
        language=language,
    )
    try:
        (judged,) = align_and_judge(
            [utterance], choose_aligners(language=language, is_one_enough=True)
        )
    except SyncAuditError as error:
        texts.measurements.append(refused(at_ns, str(error)))
        return
    if isinstance(judged, AlignmentError):
        why = str(judged).removeprefix(f"{name}: ")
        texts.measurements.append(refused(at_ns, why))
        return
    if not judged.is_verified:
        texts.measurements.append(refused(at_ns, judged.why))
        return
    made = judged.alignment
    texts.streams[name] = replace(stream, tiers=(made.phones, made.words), tier=made.phones.name)
    texts.measurements.append(
        PairMeasurement(
            source=name,
            target=audio.name,
            method=METHOD,
            at_ns=at_ns,
            offset_s=0.0,
            offset_std_s=_STD_S,
            systematic_std_s=_STD_S,
            accepted=True,
            diagnostics={"words": float(len(made.words.intervals))},
        )
    )
    guessed = f" Guessed pronunciations: {', '.join(made.guessed)}." if made.guessed else ""
    texts.findings.append(
        Finding.warning(
            ReasonCode.UNOBSERVABLE,
            name,
            f"{name} is text aligned here by {made.aligner}: its offset is 0 by construction and "
            "says nothing about timestamps; only the fit of the text was judged "
            f"({judged.why}).{guessed}",
        )
    )
