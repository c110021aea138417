"""Find where pocketsphinx places a sequence of pronunciations in a sound."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from syncaudit.speech.aligners.pocketsphinx.fit import Placed

__all__ = ["FRAME_S", "RATE_HZ", "Entry", "PocketsphinxSearch"]

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
