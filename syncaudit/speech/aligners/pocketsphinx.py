"""Align with pocketsphinx: offline, with the English model of its wheel (extra ``speech``).

Every word is added as a pseudo-word with its own phones, so no word is out of vocabulary; sounds of
other languages are mapped to the nearest English ones. Boundaries are accurate to about 20 ms (mean
absolute error against hand labels).

Whether pronunciations fit the sound where they are placed is judged as well.
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
from scipy.ndimage import uniform_filter1d

from syncaudit.errors import AlignmentError, MissingExtraError, SyncAuditError, UsageError
from syncaudit.model import Interval, Tier
from syncaudit.model.arrays import Floats
from syncaudit.speech.aligners.alignment import Alignment, Utterance, align_each, refuse_unusable
from syncaudit.speech.aligners.pronunciation import cmu_of_phones, pronounce

# Boundaries of this model are this much early on hand-labelled speech.
_BIAS_S = 0.009
# For other languages: margin by which a sequence must beat itself in another order. Measured
# (benchmarks/aligners.py): right sequences gain at least 23, those of other texts at most 16.
_N_SHUFFLES = 3
_LEAST_GAIN = 20.0

# Measured (benchmarks/aligners.py): right texts score -6 to -23 in clean audio and down to -32 at
# 10 dB SNR, texts of other recordings -35 and below.
_LEAST_SCORE = -33.0
# Right texts leave up to 0.24 unexplained, halves of a text at least 0.34.
_MOST_UNEXPLAINED = 0.28
# Right sounds of other languages and of synthetic voices reach -26 to -52 and 0.37.
_LEAST_FOREIGN_SCORE = -60.0
_MOST_FOREIGN_UNEXPLAINED = 0.40
# Unexplained means fitting this much worse than the median sound, and badly in absolute terms.
_WORSE = 10.0
_BAD = -25.0
_WINDOW_FRAMES = 30  # sounds that do not fit are isolated in right texts, consecutive in wrong ones
_RATE_HZ = 16_000  # the sampling rate of the training data
_FRAME_S = 0.010
_WIDTH = 2  # bytes per sample
_FRAME_BYTES = round(_FRAME_S * _RATE_HZ) * _WIDTH
# The default beams lose utterances.
_BEAMS = {"beam": 1e-200, "pbeam": 1e-200, "wbeam": 1e-150}
# Longer audio is refined in segments, cut at pauses if there are any.
_LONG_S = 60.0
_PAUSE_S = 0.2
_MAX_VARIANTS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class _Spoken:
    """A word, or a phone, for the decoder to find."""

    label: str
    variants: tuple[str, ...]
    symbols: tuple[tuple[str, int], ...] = ()  # label of each given phone, and its CMU phones


class PocketsphinxAligner:
    """Align with pocketsphinx; see `syncaudit.speech.aligners.alignment.Aligner`."""

    name = "pocketsphinx"

    def unavailable_reason(self, language: str, *, is_phones: bool) -> SyncAuditError | None:
        """Return why it is unavailable: not installed, or words in another language."""
        if importlib.util.find_spec("pocketsphinx") is None:
            return MissingExtraError("pocketsphinx", extra="speech", purpose="Alignment")
        if not is_phones and language.lower().partition("-")[0] != "en":
            return UsageError(
                f"pocketsphinx has English words only, not those of '{language}'",
                hint="Give phones instead of words, or use the Montreal Forced Aligner.",
            )
        return None

    def align(self, utterances: Sequence[Utterance]) -> list[Alignment | AlignmentError]:
        """Align utterances one after the other."""
        return align_each(self._align, utterances)

    def _align(self, utterance: Utterance) -> Alignment:
        sound = _sound_for_model(utterance)
        spoken, guessed = self._spoken(utterance)
        if not spoken:
            raise AlignmentError(f"{utterance.name}: the text holds no spoken words")
        entries = self._search.place(sound, [one.variants for one in spoken])
        if entries is None:
            raise AlignmentError(
                f"{utterance.name}: the text cannot be aligned to the audio at all",
                hint="It is too long, or of another recording.",
            )
        fit = fit_of([placed for _, parts in entries for placed in parts])
        refusal = fit.refusal()
        remarks: tuple[str, ...] = ()
        if refusal is not None:
            if not (
                utterance.phones
                and fit.may_be_foreign()
                and self._beats_shuffles(sound, spoken, fit)
            ):
                raise AlignmentError(f"{utterance.name}: the text does not fit: {refusal}")
            remarks = (
                f"the sounds fit the English model poorly (score {fit.score:.0f}), but in another "
                "order they fit far worse",
            )
        words, phones = _tiers(entries, spoken, utterance.duration_s)
        return Alignment(
            aligner=f"pocketsphinx {metadata.version('pocketsphinx')}",
            words=Tier(name="words", intervals=words if utterance.words else ()),
            phones=Tier(name="phones", intervals=phones),
            guessed=guessed,
            remarks=remarks,
            has_own_score=True,
        )

    @cached_property
    def _search(self) -> _PocketsphinxSearch:
        return _PocketsphinxSearch()

    def _beats_shuffles(self, sound: bytes, spoken: Sequence[_Spoken], fit: Fit) -> bool:
        """Return whether these sounds fit far better than the same sounds in any other order.

        This avoids a limit for the score of a foreign sound in the English model.
        """
        phones = [phone for one in spoken for phone in one.variants[0].split()]
        rng = np.random.default_rng(0)  # the same audio gets the same result
        for _ in range(_N_SHUFFLES):
            shuffled = [(phone,) for phone in rng.permutation(phones).tolist()]
            entries = self._search.place(sound, shuffled)
            if entries is None:  # fits so badly that there is no path
                continue
            other = fit_of([placed for _, parts in entries for placed in parts])
            if fit.score - other.score < _LEAST_GAIN:
                return False
        return True

    def _spoken(self, utterance: Utterance) -> tuple[list[_Spoken], tuple[str, ...]]:
        if utterance.phones:
            return list(_given(utterance)), ()
        spoken: list[_Spoken] = []
        guessed: dict[str, None] = {}
        for word in utterance.words:
            found = pronounce(word, self._search.variants)
            if not any(found.variants):
                raise AlignmentError(
                    f"{utterance.name}: '{word}' cannot be read as English",
                    hint="Give phones instead of words, or use the Montreal Forced Aligner.",
                )
            if found.is_guessed:
                guessed[word] = None
            spoken.append(_Spoken(label=word, variants=found.variants))
        return spoken, tuple(guessed)


def _given(utterance: Utterance) -> Iterator[_Spoken]:
    """Yield the given phones as CMU phones, word by word."""
    flat = [symbol for word in utterance.phones for symbol in word]
    known = cmu_of_phones(flat)
    strange = sorted({s for s, cmu in zip(flat, known, strict=True) if cmu is None})
    if strange:
        raise AlignmentError(
            f"{utterance.name}: unknown phones: {', '.join(strange)}",
            hint="Expected IPA or ARPAbet with spaces between the phones.",
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
    """Return 16-bit samples at the model's rate, scaled to use their range."""
    refuse_unusable(utterance)
    samples: Floats = np.asarray(utterance.samples, dtype=np.float64)
    rate_hz = round(utterance.rate_hz)
    if rate_hz != _RATE_HZ:
        from scipy.signal import resample_poly

        common = gcd(rate_hz, _RATE_HZ)
        samples = resample_poly(samples, _RATE_HZ // common, rate_hz // common)
    peak = float(np.abs(samples).max())
    if not peak > 0.0:
        raise AlignmentError(f"{utterance.name}: the audio is silent")
    return (samples * (0.7 * 32767.0 / peak)).astype("<i2").tobytes()


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A sound and the frames in which it was placed."""

    # in frames of 10 ms
    start: int
    length: int
    phone: str  # CMU phone; empty for silence and noises
    score: float  # log ratio, summed over its frames
    is_noise: bool = False  # whether a noise model (breath, babble) matched it


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """How well text and sound fit, by pocketsphinx' own scores.

    They are log ratios to the best of all sounds at the same instant (0 is best), so they hardly
    depend on the recording's level. Two figures separate right texts from wrong ones: how well the
    sounds of the text fit where they were placed, and how much of the clip fits badly, which is
    what half a text leaves behind: speech under "silence", or one sound stretched over a sentence.
    """

    score: float  # mean log ratio over the frames of speech; 0 is best
    unexplained: float  # share of the clip that fits badly

    def may_be_foreign(self) -> bool:
        """Return whether it fits as well as the right sounds of another language would."""
        return self.score > _LEAST_FOREIGN_SCORE and self.unexplained < _MOST_FOREIGN_UNEXPLAINED

    def refusal(self) -> str | None:
        """Return why the text is rejected, or None."""
        if self.score < _LEAST_SCORE:
            return (
                f"its sounds do not fit the audio (score {self.score:.0f}, at least "
                f"{_LEAST_SCORE:.0f} is needed): another text, another language, or too much "
                "noise"
            )
        if self.unexplained > _MOST_UNEXPLAINED:
            return (
                f"{self.unexplained:.0%} of the audio is unexplained, at most "
                f"{_MOST_UNEXPLAINED:.0%} is allowed: words are missing in the text, or the "
                "audio is too noisy"
            )
        return None


def fit_of(placed: Sequence[Placed]) -> Fit:
    """Return how well a text fits.

    `placed`: all sounds of a clip in order, silences too; at least one of them spoken.
    """
    n_frames = placed[-1].start + placed[-1].length
    ratio = np.zeros(n_frames)
    is_spoken, is_noise = np.zeros((2, n_frames), dtype=np.bool_)
    for one in placed:
        frames = slice(one.start, one.start + one.length)
        ratio[frames] = one.score / max(one.length, 1)
        is_spoken[frames] = bool(one.phone)
        is_noise[frames] = one.is_noise  # a noise model fits speech well enough to hide it
    typical = float(np.median([one.score / max(one.length, 1) for one in placed if one.phone]))
    limit = min(_BAD, typical - _WORSE)
    smooth = uniform_filter1d(ratio, min(_WINDOW_FRAMES, n_frames), mode="nearest")
    return Fit(
        score=float(ratio[is_spoken].mean()),
        unexplained=float(np.mean((smooth < limit) | is_noise)),
    )


# A pronunciation, or "" for a filler, and its phones.
_Entry = tuple[str, list[Placed]]


class _PocketsphinxSearch:
    """The English model of pocketsphinx, with words defined on demand."""

    def variants(self, word: str) -> tuple[str, ...]:
        """Return the pronunciations of a lower-case word; empty if the dictionary lacks it."""
        names = (word, *(f"{word}({k})" for k in range(2, _MAX_VARIANTS + 1)))
        found = (self._decoder.lookup_word(name) for name in names)
        return tuple(phones for phones in found if phones)

    def place(self, sound: bytes, spoken: Sequence[tuple[str, ...]]) -> list[_Entry] | None:
        """Return the spoken words and the fillers between them, in order; None if there is no path.

        `sound`: 16-bit samples at `_RATE_HZ`. `spoken`: pronunciations of each word, as CMU phones
        separated by blanks.
        """
        self._learn(spoken)
        return self._search(sound, [self._names[variants] for variants in spoken])

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
        """Pseudo-word of each set of pronunciations that the decoder already knows."""
        return {}

    def _learn(self, spoken: Sequence[tuple[str, ...]]) -> None:
        """Add pseudo-words; the last one makes the decoder load them all."""
        new = list(dict.fromkeys(one for one in spoken if one not in self._names))
        for variants in new:
            name = self._names[variants] = f"_{len(self._names)}"
            for k, phones in enumerate(variants, start=1):
                is_last = variants is new[-1] and k == len(variants)
                self._decoder.add_word(name if k == 1 else f"{name}({k})", phones, is_last)

    def _search(
        self, sound: bytes, names: Sequence[str], *, is_piece: bool = False
    ) -> list[_Entry] | None:
        """Return pseudo-words and fillers in order; None if there is no path."""
        try:
            self._decoder.set_align_text(" ".join(names))
            self._listen(sound)
            if self._decoder.hyp() is None:
                return None
            if not is_piece and len(sound) > _LONG_S * _RATE_HZ * _WIDTH:
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
        """Refine long audio segment by segment: memory grows with the square of the length."""
        entries: list[_Entry] = []
        for piece in _pieces(segments):
            start, stop = piece[0].start, piece[-1].start + piece[-1].length
            names = [one.phone for one in piece if one.phone]
            span = slice(start * _FRAME_BYTES, stop * _FRAME_BYTES)
            found = self._search(sound[span], names, is_piece=True) if names else None
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
    """Return a word of the first pass, with its pseudo-word in place of a phone."""
    name = segment.word.partition("(")[0]
    return Placed(
        start=segment.start_frame,
        length=segment.end_frame - segment.start_frame + 1,
        phone=name if name.startswith("_") else "",
        score=float(segment.ascore),
    )


def _pieces(segments: Sequence[Placed]) -> Iterator[list[Placed]]:
    """Cut at pauses, or anywhere between words if there is no pause."""
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
    is_ours = word.startswith("_")  # fillers are words of the model itself
    return Placed(
        start=part.start,
        length=part.duration,
        phone=part.name if is_ours else "",
        score=float(part.score),
        is_noise=not is_ours and part.name != "SIL",
    )
