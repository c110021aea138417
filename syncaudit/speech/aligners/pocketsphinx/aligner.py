"""Align with pocketsphinx: offline, with the English model of its wheel (extra ``speech``).

Every word is added as a pseudo-word with its own phones, so no word is out of vocabulary; sounds of
other languages are mapped to the nearest English ones. Boundaries are accurate to about 20 ms (mean
absolute error against hand labels).
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import metadata
from math import gcd

import numpy as np

from syncaudit.errors import AlignmentError, MissingExtraError, SyncAuditError, UsageError
from syncaudit.model import Interval, Tier
from syncaudit.model.arrays import Floats
from syncaudit.speech.aligners.alignment import Alignment, Utterance, align_each, refuse_unusable
from syncaudit.speech.aligners.pocketsphinx.cmu_phones import cmu_of_phones
from syncaudit.speech.aligners.pocketsphinx.pronunciation import pronounce
from syncaudit.speech.aligners.pocketsphinx.search import (
    FRAME_S,
    RATE_HZ,
    Entry,
    Fit,
    PocketsphinxSearch,
    fit_of,
)

# Boundaries of this model are this much early on hand-labelled speech.
_BIAS_S = 0.009
# For other languages: margin by which a sequence must beat itself in another order. Measured
# (benchmarks/aligners.py): right sequences gain at least 23, those of other texts at most 16.
_N_SHUFFLES = 3
_LEAST_GAIN = 20.0


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
    def _search(self) -> PocketsphinxSearch:
        return PocketsphinxSearch()

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
    entries: Sequence[Entry], spoken: Sequence[_Spoken], duration_s: float
) -> tuple[tuple[Interval, ...], tuple[Interval, ...]]:
    """Return words and phones in seconds."""

    def seconds(frame: int) -> float:
        return min(frame * FRAME_S + _BIAS_S, duration_s) if frame else 0.0

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
    if rate_hz != RATE_HZ:
        from scipy.signal import resample_poly

        common = gcd(rate_hz, RATE_HZ)
        samples = resample_poly(samples, RATE_HZ // common, rate_hz // common)
    peak = float(np.abs(samples).max())
    if not peak > 0.0:
        raise AlignmentError(f"{utterance.name}: the audio is silent")
    return (samples * (0.7 * 32767.0 / peak)).astype("<i2").tobytes()
