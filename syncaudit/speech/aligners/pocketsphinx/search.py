"""Find where pocketsphinx places pronunciations in a sound, and judge whether they fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.ndimage import uniform_filter1d

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
RATE_HZ = 16_000  # the sampling rate of the training data
FRAME_S = 0.010
_WIDTH = 2  # bytes per sample
_FRAME_BYTES = round(FRAME_S * RATE_HZ) * _WIDTH
# The default beams lose utterances.
_BEAMS = {"beam": 1e-200, "pbeam": 1e-200, "wbeam": 1e-150}
# Longer audio is refined in segments, cut at pauses if there are any.
_LONG_S = 60.0
_PAUSE_S = 0.2
_MAX_VARIANTS = 4


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
Entry = tuple[str, list[Placed]]


class PocketsphinxSearch:
    """The English model of pocketsphinx, with words defined on demand."""

    def variants(self, word: str) -> tuple[str, ...]:
        """Return the pronunciations of a lower-case word; empty if the dictionary lacks it."""
        names = (word, *(f"{word}({k})" for k in range(2, _MAX_VARIANTS + 1)))
        found = (self._decoder.lookup_word(name) for name in names)
        return tuple(phones for phones in found if phones)

    def place(self, sound: bytes, spoken: Sequence[tuple[str, ...]]) -> list[Entry] | None:
        """Return the spoken words and the fillers between them, in order; None if there is no path.

        `sound`: 16-bit samples at `RATE_HZ`. `spoken`: pronunciations of each word, as CMU phones
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
    ) -> list[Entry] | None:
        """Return pseudo-words and fillers in order; None if there is no path."""
        try:
            self._decoder.set_align_text(" ".join(names))
            self._listen(sound)
            if self._decoder.hyp() is None:
                return None
            if not is_piece and len(sound) > _LONG_S * RATE_HZ * _WIDTH:
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

    def _search_pieces(self, sound: bytes, segments: Sequence[Placed]) -> list[Entry] | None:
        """Refine long audio segment by segment: memory grows with the square of the length."""
        entries: list[Entry] = []
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
        length_s += segment.length * FRAME_S
        is_pause = not segment.phone and segment.length * FRAME_S >= _PAUSE_S
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
