"""Align texts with audio in time, and check the result against the audio."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from syncaudit.errors import AlignmentError, SyncAuditError
from syncaudit.speech.phones import Phone, read_sound

if TYPE_CHECKING:
    from syncaudit.model import PairMeasurement, Tier
    from syncaudit.pipeline.alignment import Choice, JudgedAlignment

_TEXT_FILES = (".lab", ".txt")


@dataclass(frozen=True, slots=True, kw_only=True)
class AlignedSpeech:
    """When each phone and word was spoken."""

    phones: tuple[Phone, ...]  # in order, without silences
    words: tuple[Phone, ...]  # likewise; none if only phones were given
    duration_s: float  # of the audio
    aligner: str  # name and version
    is_verified: bool  # whether the times have been verified in any way
    why: str  # what verifies them, or why nothing can
    # of the phones against the audio, by the estimator that judges any tier
    measurement: PairMeasurement
    guessed: tuple[str, ...] = ()  # words whose pronunciation was guessed from their letters
    remarks: tuple[str, ...] = ()  # further remarks


def align(
    audio: str | Path,
    text: str | Path,
    *,
    aligner: str = "auto",
    language: str = "en",
    is_phones: bool = False,
) -> AlignedSpeech:
    """Align a text with audio in time, and check the result against the audio.

    Parameters
    ----------
    audio : str or Path
        Sound file, or a video with sound.
    text : str or Path
        The text itself, or a ``.lab`` or ``.txt`` file.
    aligner : str
        ``auto``, ``pocketsphinx``, ``mfa`` or ``viter``.
    language : str
        Language of the words.
    is_phones : bool
        Whether the text is phones separated by blanks (IPA or ARPAbet; ``|`` separates words).

    Raises
    ------
    AlignmentError
        If the text does not fit, or the result is not plausible.
    MissingExtraError, UsageError
        If no such aligner is installed; the message describes how to install one.
    StreamReadError
        If audio or text cannot be read.
    """
    (outcome,) = align_many(
        [(audio, text)], aligner=aligner, language=language, is_phones=is_phones
    )
    if isinstance(outcome, SyncAuditError):
        raise outcome
    return outcome


def align_many(
    pairs: Iterable[tuple[str | Path, str | Path]],
    *,
    aligner: str | Choice = "auto",
    language: str = "en",
    is_phones: bool = False,
) -> list[AlignedSpeech | SyncAuditError]:
    """Align many texts independently; one start of an aligner serves all.

    Parameters as for `align`; what cannot be read or aligned yields an error in its place.
    `aligner` may be the result of `syncaudit.pipeline.alignment.choose_aligners`.
    """
    from syncaudit.pipeline.alignment import align_and_judge, choose_aligners
    from syncaudit.speech.aligners.alignment import Utterance, phones_of_text, words_of_text

    choice = (
        choose_aligners(aligner, language=language, is_phones=is_phones)
        if isinstance(aligner, str)
        else aligner
    )
    outcomes: list[AlignedSpeech | SyncAuditError] = []
    utterances: dict[int, Utterance] = {}
    for place, (audio, text) in enumerate(pairs):
        try:
            sound, written = read_sound(audio), _text(text)
        except SyncAuditError as error:
            outcomes.append(error)
            continue
        phones = phones_of_text(written) if is_phones else ()
        words = words_of_text(written)
        if is_phones:
            words = tuple("".join(word) for word in phones) if "|" in written else ()
        utterances[place] = Utterance(
            name=Path(str(audio)).name,
            samples=sound.samples,
            rate_hz=sound.rate_hz,
            words=words,
            phones=phones,
            language=language,
        )
        outcomes.append(AlignmentError("not aligned yet"))
    judged = align_and_judge(list(utterances.values()), choice)
    for (place, utterance), one in zip(utterances.items(), judged, strict=True):
        outcomes[place] = (
            one if isinstance(one, AlignmentError) else _public(one, utterance.duration_s)
        )
    return outcomes


def _public(judged: JudgedAlignment, duration_s: float) -> AlignedSpeech:
    made = judged.alignment
    return AlignedSpeech(
        phones=tuple(_triples(made.phones)),
        words=tuple(_triples(made.words)),
        duration_s=duration_s,
        aligner=made.aligner,
        is_verified=judged.is_verified,
        why=judged.why,
        measurement=judged.measurement,
        guessed=made.guessed,
        remarks=made.remarks,
    )


def _triples(tier: Tier) -> Iterator[Phone]:
    return (Phone(one.label, one.start_s, one.stop_s) for one in tier.intervals)


def _text(text: str | Path) -> str:
    from syncaudit.readers.csv_table import decode_text
    from syncaudit.readers.uris import read_bytes, resolve

    if isinstance(text, str) and not text.lower().endswith(_TEXT_FILES):
        return text
    uri = resolve(str(text))
    return decode_text(uri, read_bytes(uri))
