"""Align with pocketsphinx: offline, its English model is in the wheel (extra ``speech``).

Every word goes in as a pseudo-word with its own phones, so no word is out of vocabulary; sounds of
other languages are said with the nearest English ones. Boundaries are good to about 20 ms (mean
absolute error to hand labels).
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import metadata
from math import gcd
from typing import Any

import numpy as np
from numpy.typing import NDArray

from syncaudit.aligners.alignment import Alignment, Utterance
from syncaudit.aligners.cmu_phones import cmu_of_phones
from syncaudit.aligners.pocketsphinx_fit import Placed, fit_of
from syncaudit.aligners.pronunciation import pronounce
from syncaudit.errors import AlignmentError, MissingExtraError, SyncAuditError, UsageError
from syncaudit.model import Interval, Tier

__all__ = ["PocketsphinxAligner"]

_RATE_HZ = 16_000  # what the model was trained on
_FRAME_S = 0.010
# Boundaries of this model lie this much early, on hand-labelled speech.
_BIAS_S = 0.009
# The default beams lose utterances.
_BEAMS = {"beam": 1e-200, "pbeam": 1e-200, "wbeam": 1e-150}
_MIN_S = 0.2
_WIDTH = 2  # bytes a sample
_FRAME_BYTES = round(_FRAME_S * _RATE_HZ) * _WIDTH
# Longer audio is refined in pieces, cut in pauses where there are some.
_LONG_S = 60.0
_PAUSE_S = 0.2
_MAX_VARIANTS = 4


_Entry = tuple[str, list[Placed]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Spoken:
    """A word, or a phone, as the decoder is to find it."""

    label: str
    variants: tuple[str, ...]
    symbols: tuple[tuple[str, int], ...] = ()  # label of each given phone, and its CMU phones


class PocketsphinxAligner:
    """Align with pocketsphinx; see `syncaudit.aligners.alignment.Aligner`."""

    name = "pocketsphinx"

    def obstacle(self, language: str, *, is_phones: bool) -> SyncAuditError | None:
        """Return why it cannot be used: not installed, or words in another language."""
        if importlib.util.find_spec("pocketsphinx") is None:
            return MissingExtraError("pocketsphinx", extra="speech", purpose="Alignment")
        if not is_phones and language.lower().partition("-")[0] != "en":
            return UsageError(
                f"pocketsphinx knows English words only, not those of '{language}'",
                hint="Give phones instead of words, or use the Montreal Forced Aligner.",
            )
        return None

    def align(self, utterances: Sequence[Utterance]) -> list[Alignment | AlignmentError]:
        """Align utterances one after the other."""
        found: list[Alignment | AlignmentError] = []
        for utterance in utterances:
            try:
                found.append(self._align(utterance))
            except AlignmentError as error:
                found.append(error)
        return found

    @cached_property
    def _decoder(self) -> Any:
        import pocketsphinx

        return pocketsphinx.Decoder(
            hmm=pocketsphinx.get_model_path("en-us/en-us"),
            dict=pocketsphinx.get_model_path("en-us/cmudict-en-us.dict"),
            lm=None,
            loglevel="FATAL",
            bestpath=False,
            **_BEAMS,
        )

    @cached_property
    def _names(self) -> dict[tuple[str, ...], str]:
        """Pseudo-word of each set of pronunciations that the decoder knows by now."""
        return {}

    def _align(self, utterance: Utterance) -> Alignment:
        sound = _sound_for_model(utterance)
        spoken, guessed = self._spoken(utterance)
        if not spoken:
            raise AlignmentError(f"{utterance.name}: the text holds nothing that is spoken")
        self._learn(spoken)
        entries = self._search(sound, [self._names[one.variants] for one in spoken])
        if entries is None:
            raise AlignmentError(
                f"{utterance.name}: the text cannot be laid over the audio at all",
                hint="It is too long for it, or another one.",
            )
        refusal = fit_of([placed for _, parts in entries for placed in parts]).refusal()
        if refusal is not None:
            raise AlignmentError(f"{utterance.name}: the text does not fit: {refusal}")
        words, phones = _tiers(entries, spoken, utterance.duration_s)
        return Alignment(
            aligner=f"pocketsphinx {metadata.version('pocketsphinx')}",
            words=Tier(name="words", intervals=words if utterance.words else ()),
            phones=Tier(name="phones", intervals=phones),
            guessed=guessed,
            has_own_score=True,
        )

    def _spoken(self, utterance: Utterance) -> tuple[list[_Spoken], tuple[str, ...]]:
        if utterance.phones:
            return list(_given(utterance)), ()
        spoken: list[_Spoken] = []
        guessed: dict[str, None] = {}
        for word in utterance.words:
            found = pronounce(word, self._variants)
            if not any(found.variants):
                raise AlignmentError(
                    f"{utterance.name}: '{word}' cannot be read as English",
                    hint="Give phones instead of words, or use the Montreal Forced Aligner.",
                )
            if found.is_guessed:
                guessed[word] = None
            spoken.append(_Spoken(label=word, variants=found.variants))
        return spoken, tuple(guessed)

    def _variants(self, word: str) -> tuple[str, ...]:
        names = (word, *(f"{word}({k})" for k in range(2, _MAX_VARIANTS + 1)))
        found = (self._decoder.lookup_word(name) for name in names)
        return tuple(phones for phones in found if phones)

    def _learn(self, spoken: Sequence[_Spoken]) -> None:
        """Add pseudo-words; the last one makes the decoder take them all in."""
        new = list(dict.fromkeys(one.variants for one in spoken if one.variants not in self._names))
        for variants in new:
            name = self._names[variants] = f"_{len(self._names)}"
            for k, phones in enumerate(variants, start=1):
                is_last = variants is new[-1] and k == len(variants)
                self._decoder.add_word(name if k == 1 else f"{name}({k})", phones, is_last)

    def _search(self, sound: bytes, names: Sequence[str]) -> list[_Entry] | None:
        """Return pseudo-words and fillers in order; None where no path leads through."""
        try:
            self._decoder.set_align_text(" ".join(names))
            self._listen(sound)
            if self._decoder.hyp() is None:
                return None
            if len(sound) > _LONG_S * _RATE_HZ * _WIDTH:
                return self._search_pieces(sound, [_segment(each) for each in self._decoder.seg()])
            self._decoder.set_alignment()
            self._listen(sound)
            alignment = self._decoder.get_alignment()
        except RuntimeError:
            return None
        if alignment is None:
            return None
        return [
            (word.name.partition("(")[0], [_placed(part, word.name) for part in word])
            for word in alignment
        ]

    def _search_pieces(self, sound: bytes, segments: Sequence[Placed]) -> list[_Entry] | None:
        """Refine long audio piece by piece: the memory grows with the square of the length."""
        entries: list[_Entry] = []
        for piece in _pieces(segments):
            start, stop = piece[0].start, piece[-1].start + piece[-1].length
            names = [one.phone for one in piece if one.phone]
            span = slice(start * _FRAME_BYTES, stop * _FRAME_BYTES)
            found = self._search(sound[span], names) if names else None
            if found is None:
                if names:
                    return None
                found = [("", [replace(one, start=one.start - start) for one in piece])]
            entries += [
                (name, [replace(part, start=part.start + start) for part in parts])
                for name, parts in found
            ]
        return entries

    def _listen(self, sound: bytes) -> None:
        self._decoder.start_utt()
        try:
            self._decoder.process_raw(sound, full_utt=True)
        finally:
            self._decoder.end_utt()


def _segment(segment: Any) -> Placed:
    """Return a word of the first pass, its pseudo-word in place of a phone."""
    name = segment.word.partition("(")[0]
    return Placed(
        start=segment.start_frame,
        length=segment.end_frame - segment.start_frame + 1,
        phone=name if name.startswith("_") else "",
        score=float(segment.ascore),
    )


def _pieces(segments: Sequence[Placed]) -> Iterator[list[Placed]]:
    """Cut at pauses, or anywhere between words where no pause comes."""
    piece: list[Placed] = []
    length_s = 0.0
    for segment in segments:
        piece.append(segment)
        length_s += segment.length * _FRAME_S
        is_pause = not segment.phone and segment.length * _FRAME_S >= _PAUSE_S
        if length_s > _LONG_S / 2 or (is_pause and length_s > _LONG_S / 4):
            yield piece
            piece, length_s = [], 0.0
    if piece:
        yield piece


def _placed(part: Any, word: str) -> Placed:
    # Fillers (<sil>, [NOISE]) are words of the model's own.
    return Placed(
        start=part.start,
        length=part.duration,
        phone=part.name if word.startswith("_") else "",
        score=float(part.score),
    )


def _given(utterance: Utterance) -> Iterator[_Spoken]:
    """Yield the given phones in CMU phones, word by word."""
    flat = [symbol for word in utterance.phones for symbol in word]
    known = cmu_of_phones(flat)
    strange = sorted({s for s, cmu in zip(flat, known, strict=True) if cmu is None})
    if strange:
        raise AlignmentError(
            f"{utterance.name}: no phone is known as {', '.join(strange)}",
            hint="Expected IPA or ARPAbet with blanks between the phones.",
        )
    rest = iter([phones or () for phones in known])
    labels = utterance.words or ("",) * len(utterance.phones)
    for label, word in zip(labels, utterance.phones, strict=True):
        said = [next(rest) for _ in word]
        yield _Spoken(
            label=label,
            variants=(" ".join(phone for phones in said for phone in phones),),
            symbols=tuple((symbol, len(phones)) for symbol, phones in zip(word, said, strict=True)),
        )


def _tiers(
    entries: Sequence[_Entry], spoken: Sequence[_Spoken], duration_s: float
) -> tuple[tuple[Interval, ...], tuple[Interval, ...]]:
    """Return words and phones in seconds."""

    def seconds(frame: int) -> float:
        return min(frame * _FRAME_S + _BIAS_S, duration_s) if frame else 0.0

    words: list[Interval] = []
    phones: list[Interval] = []
    rest = iter(spoken)
    for name, parts in entries:
        if not name.startswith("_"):
            continue
        word = next(rest)
        edges = [seconds(part.start) for part in parts]
        edges.append(seconds(parts[-1].start + parts[-1].length))
        words.append(Interval(start_s=edges[0], stop_s=edges[-1], label=word.label))
        place = 0
        for symbol, n_parts in word.symbols or [(part.phone, 1) for part in parts]:
            span = (edges[place], edges[place + n_parts])
            phones.append(Interval(start_s=span[0], stop_s=span[1], label=symbol))
            place += n_parts
    return tuple(words), tuple(phones)


def _sound_for_model(utterance: Utterance) -> bytes:
    """Return 16-bit samples at the model's rate, at a level that uses their range."""
    samples: NDArray[np.float64] = np.asarray(utterance.samples, dtype=np.float64)
    if not utterance.rate_hz > 0 or utterance.duration_s < _MIN_S:
        raise AlignmentError(f"{utterance.name}: the audio is shorter than {_MIN_S:g} s")
    if not np.isfinite(samples).all():
        raise AlignmentError(f"{utterance.name}: the audio holds NaN or infinite samples")
    rate_hz = round(utterance.rate_hz)
    if rate_hz != _RATE_HZ:
        from scipy.signal import resample_poly

        common = gcd(rate_hz, _RATE_HZ)
        samples = resample_poly(samples, _RATE_HZ // common, rate_hz // common)
    peak = float(np.abs(samples).max())
    if not peak > 0.0:
        raise AlignmentError(f"{utterance.name}: the audio is silent")
    return (samples * (0.7 * 32767.0 / peak)).astype("<i2").tobytes()
