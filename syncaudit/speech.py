"""Words and phones with times: read, align, measure, write.

>>> from syncaudit import speech
>>> aligned = speech.align("talk.wav", "hello world")  # doctest: +SKIP
>>> aligned.phones[0]  # doctest: +SKIP
Phone(symbol='HH', start_s=0.319, end_s=0.379)
>>> speech.write("talk.TextGrid", aligned.phones, aligned.words)  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from syncaudit.errors import AlignmentError, SyncAuditError, UsageError, nearest_name
from syncaudit.writing import replace_text

if TYPE_CHECKING:
    from syncaudit.model import AudioStream, PairMeasurement, Tier
    from syncaudit.pipeline.alignment import Choice, JudgedAlignment

__all__ = [
    "AlignedSpeech",
    "Classes",
    "Phone",
    "align",
    "align_many",
    "classes",
    "measure",
    "read_phones",
    "write",
]

_TEXT_FILES = (".lab", ".txt")


class Phone(NamedTuple):
    """A phone, or a word: ``[symbol, start, end]``, in seconds after the start of its audio."""

    symbol: str
    start_s: float
    end_s: float


class Classes(NamedTuple):
    """Broad classes of phones, and what is not known.

    Parameters
    ----------
    alphabet : str
        ``IPA`` or ``ARPAbet``.
    classes : tuple of tuple of str
        Of each phone in order: a plosive is a closure and a burst. Empty where unknown.
    unknown : tuple of str
        Symbols that the alphabet does not have.
    """

    alphabet: str
    classes: tuple[tuple[str, ...], ...]
    unknown: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AlignedSpeech:
    """When each phone and word was spoken.

    Parameters
    ----------
    phones, words : tuple of Phone
        In order, silences left out; no words where only phones were given.
    duration_s : float
        Length of the audio.
    aligner : str
        Which one, with its version.
    is_verified : bool
        Whether anything vouches for the times.
    why : str
        What does, or why nothing can.
    measurement : PairMeasurement
        The phones against the audio, by the estimator that judges any tier.
    guessed : tuple of str
        Words whose pronunciation was guessed from their letters.
    remarks : tuple of str
        What else should be known.
    """

    phones: tuple[Phone, ...]
    words: tuple[Phone, ...]
    duration_s: float
    aligner: str
    is_verified: bool
    why: str
    measurement: PairMeasurement
    guessed: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


def read_phones(path: str | Path, tier: str | None = None) -> list[Phone]:
    """Return the phones, or words, of a tier in any format that a manifest takes.

    Parameters
    ----------
    path : str or Path
        TextGrid, CTM, JSON, CSV, SRT, VTT or ELAN file.
    tier : str, optional
        Default: the only tier, or the one whose name begins with ``phone``.

    Raises
    ------
    StreamReadError
        If the file cannot be read.
    UsageError
        If there is no such tier, or several and none is named.
    """
    return [Phone(one.label, one.start_s, one.stop_s) for one in _read_tier(path, tier).intervals]


def align(
    audio: str | Path,
    text: str | Path,
    *,
    aligner: str = "auto",
    language: str = "en",
    is_phones: bool = False,
) -> AlignedSpeech:
    """Put a text in time, and judge the result against the audio.

    Parameters
    ----------
    audio : str or Path
        Sound file, or a video with sound.
    text : str or Path
        The text itself, or a ``.lab`` or ``.txt`` file.
    aligner : str
        ``auto``, ``pocketsphinx``, ``mfa`` or ``viter``.
    language : str
        Of the words.
    is_phones : bool
        Whether the text is phones with blanks between them (IPA or ARPAbet; ``|`` parts words).

    Raises
    ------
    AlignmentError
        If the text does not fit, or the result is not to be believed.
    MissingExtraError, UsageError
        If no such aligner is installed; it says how to install one.
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
    """Align many texts, each for itself: one start of an aligner serves all.

    Parameters as for `align`; what cannot be read or aligned is an error in its place.
    `aligner` may be what `syncaudit.pipeline.alignment.choose_aligners` returned.
    """
    from syncaudit.aligners import Utterance, phones_of_text, words_of_text
    from syncaudit.pipeline.alignment import align_and_judge, choose_aligners

    choice = (
        choose_aligners(aligner, language=language, is_phones=is_phones)
        if isinstance(aligner, str)
        else aligner
    )
    outcomes: list[AlignedSpeech | SyncAuditError] = []
    utterances: dict[int, Utterance] = {}
    for place, (audio, text) in enumerate(pairs):
        try:
            sound, written = _sound(audio), _text(text)
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


def measure(
    tier: str | Path | Sequence[tuple[str, float, float]],
    audio: str | Path,
    *,
    name: str | None = None,
    max_offset_s: float = 2.0,
) -> PairMeasurement:
    """Measure how far phones or words are off their audio: `offset_s` is what to add to them.

    Parameters
    ----------
    tier : str, Path or sequence of triples
        File, or ``[symbol, start, end]`` in seconds.
    audio : str or Path
        Sound file.
    name : str, optional
        Tier of the file, as for `read_phones`.
    max_offset_s : float
        Search range.

    Returns
    -------
    PairMeasurement
        Refused, with a reason, where the tier is too short or does not belong to the audio.
    """
    from syncaudit.pipeline.tiers import measure_tier

    found = _read_tier(tier, name) if isinstance(tier, str | Path) else _tier("phones", tier)
    return measure_tier(found, _sound(audio), max_offset_s=max_offset_s)


def classes(phones: Iterable[str | tuple[str, float, float]]) -> Classes:
    """Return the broad classes of phones written in IPA or ARPAbet.

    Parameters
    ----------
    phones : iterable of str or triples
        Symbols, all in the same alphabet.
    """
    from syncaudit.phonetics import alphabet_of, classes_of_phone

    symbols = [phone if isinstance(phone, str) else phone[0] for phone in phones]
    alphabet, _ = alphabet_of(symbols)
    found = [classes_of_phone(symbol, alphabet) for symbol in symbols]
    strange = (s for s, known in zip(symbols, found, strict=True) if known is None)
    return Classes(
        str(alphabet),
        tuple(tuple(str(each) for each in known or ()) for known in found),
        tuple(dict.fromkeys(strange)),
    )


def write(
    path: str | Path,
    phones: Sequence[tuple[str, float, float]],
    words: Sequence[tuple[str, float, float]] = (),
    *,
    duration_s: float | None = None,
) -> None:
    """Write phones and words; the ending picks the format.

    Parameters
    ----------
    path : str or Path
        ``.TextGrid`` (long), ``.ctm`` or ``.json``.
    phones, words : sequence of triples
        ``[symbol, start, end]`` in seconds, in order.
    duration_s : float, optional
        Length of the audio; default: the end of the last phone.

    Raises
    ------
    UsageError
        If the ending is unknown, or the format cannot hold the intervals. Nothing is written.
    """
    from syncaudit.tiers import TIER_WRITERS

    path = Path(path)
    writer = TIER_WRITERS.get(path.suffix.lower())
    if writer is None:
        raise UsageError(
            f"'{path.suffix}' is no ending that can be written",
            path=str(path),
            hint=f"Known: {', '.join(TIER_WRITERS)}.",
        )
    tiers = [_tier("words", words)] if words else []
    tiers.append(_tier("phones", phones))
    end_s = max((one[2] for one in (*phones, *words)), default=0.0)
    text = writer(
        tiers,
        duration_s=end_s if duration_s is None else duration_s,
        name=path.stem.replace(" ", "_"),
    )
    replace_text(path, text)


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


def _tier(name: str, triples: Sequence[tuple[str, float, float]]) -> Tier:
    from syncaudit.model import Interval, Tier

    intervals = (Interval(label=str(s), start_s=float(a), stop_s=float(b)) for s, a, b in triples)
    return Tier(name=name, intervals=tuple(intervals))


def _read_tier(path: str | Path, name: str | None) -> Tier:
    from syncaudit.model import TranscriptSpec, TranscriptStream
    from syncaudit.readers import read_source

    stream = read_source("tier", TranscriptSpec(audio="", uri=str(path)))
    tiers = (
        {tier.name: tier for tier in stream.tiers} if isinstance(stream, TranscriptStream) else {}
    )
    if name is None:
        phones = [each for each in tiers if each.lower().startswith("phone")]
        name = next(iter(tiers)) if len(tiers) == 1 else phones[0] if len(phones) == 1 else None
    if name is None or name not in tiers:
        raise UsageError(
            f"has no tier '{name}'" if name else f"has {len(tiers)} tiers and none is named",
            path=str(path),
            hint=nearest_name(name or "", tiers),
        )
    return tiers[name]


def _sound(path: str | Path) -> AudioStream:
    from syncaudit.model import AudioSpec, AudioStream
    from syncaudit.readers import read_source

    stream = read_source(Path(str(path)).name, AudioSpec(uri=str(path)))
    if not isinstance(stream, AudioStream):  # its reader returns nothing else
        raise TypeError(type(stream))
    return stream


def _text(text: str | Path) -> str:
    from syncaudit.readers.csv_table import decode_text
    from syncaudit.readers.uris import read_bytes, resolve

    if isinstance(text, str) and not text.lower().endswith(_TEXT_FILES):
        return text
    uri = resolve(str(text))
    return decode_text(uri, read_bytes(uri))
