"""Judge transcripts that are only text: whether the text matches the audio."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from syncaudit.errors import AlignmentError, SyncAuditError
from syncaudit.model import (
    AudioStream,
    Clip,
    Finding,
    PairMeasurement,
    ReasonCode,
    Stream,
    TranscriptSpec,
    TranscriptStream,
)
from syncaudit.pipeline.alignment import align_and_judge, choose_aligners
from syncaudit.pipeline.stages import Stages
from syncaudit.speech.aligners import Utterance, words_of_text

METHOD = "text"
# Offset of an aligner's tier as a whole from its audio, one sigma: people and models differ by 8
# to 15 ms on where a sound begins.
_STD_S = 0.012


@dataclass(slots=True)
class AlignedTexts:
    """Results for the texts of a clip."""

    # with the tiers that were made
    streams: dict[str, TranscriptStream] = field(default_factory=dict)
    # one per text, accepted where it fits its audio
    measurements: list[PairMeasurement] = field(default_factory=list)
    # what a reader of the verdict should know about tiers made here
    findings: list[Finding] = field(default_factory=list)


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
