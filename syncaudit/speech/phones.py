"""Handle phones and words as triples: read, classify, measure against audio, write."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from syncaudit.errors import UsageError, nearest_name
from syncaudit.writing import replace_text

if TYPE_CHECKING:
    from syncaudit.model import AudioStream, PairMeasurement, Tier


class Phone(NamedTuple):
    """A phone, or a word: ``[symbol, start, end]``, in seconds after the start of its audio."""

    symbol: str
    start_s: float
    end_s: float


class Classes(NamedTuple):
    """Broad classes of phones, and the unknown symbols."""

    alphabet: str  # ``IPA`` or ``ARPAbet``
    # for each phone in order: a plosive is a closure and a burst; empty if unknown
    classes: tuple[tuple[str, ...], ...]
    unknown: tuple[str, ...]  # symbols that are not in the alphabet


def read_phones(path: str | Path, tier: str | None = None) -> list[Phone]:
    """Return the phones, or words, of a tier in any format that a manifest accepts.

    TextGrid, CTM, JSON, CSV, SRT, VTT or ELAN. The default `tier` is the only one, or the one whose
    name begins with ``phone``. StreamReadError if the file cannot be read; UsageError if there is
    no such tier, or there are several and none is named.
    """
    return [Phone(one.label, one.start_s, one.stop_s) for one in _read_tier(path, tier).intervals]


def measure(
    tier: str | Path | Sequence[tuple[str, float, float]],
    audio: str | Path,
    *,
    name: str | None = None,
    max_offset_s: float = 2.0,
) -> PairMeasurement:
    """Measure the offset of phones or words: `offset_s` is what to add to match their audio.

    `tier` is a file or triples ``[symbol, start, end]`` in seconds, `name` the tier of the file, as
    for `read_phones`; offsets up to `max_offset_s` are searched. Rejected, with a reason, if the
    tier is too short or does not belong to the audio.
    """
    from syncaudit.pipeline.alignment import measure_tier

    found = _read_tier(tier, name) if isinstance(tier, str | Path) else _tier("phones", tier)
    return measure_tier(found, read_sound(audio), max_offset_s=max_offset_s)


def classes(phones: Iterable[str | tuple[str, float, float]]) -> Classes:
    """Return the broad classes of phones written in IPA or ARPAbet, all in the same alphabet."""
    from syncaudit.speech.phonetics import alphabet_of, classes_of_phone

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
    """Write phones and words, triples ``[symbol, start, end]`` in seconds and in order.

    The file extension selects the format: ``.TextGrid`` (long), ``.ctm`` or ``.json``. The default
    `duration_s`, the length of the audio, is the end of the last phone. UsageError if the extension
    is unknown, or the format cannot hold the intervals; nothing is written then.
    """
    from syncaudit.speech.tiers.writing import TIER_WRITERS

    path = Path(path)
    writer = TIER_WRITERS.get(path.suffix.lower())
    if writer is None:
        raise UsageError(
            f"'{path.suffix}' is not a file suffix that can be written",
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


def read_sound(path: str | Path) -> AudioStream:
    """Return the sound of an audio file or a video."""
    from syncaudit.model import AudioSpec, AudioStream
    from syncaudit.readers import read_source

    stream = read_source(Path(str(path)).name, AudioSpec(uri=str(path)))
    if not isinstance(stream, AudioStream):  # its reader returns nothing else
        raise TypeError(type(stream))
    return stream


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
            f"has no tier '{name}'" if name else f"has {len(tiers)} tiers and none is selected",
            path=str(path),
            hint=nearest_name(name or "", tiers),
        )
    return tiers[name]
