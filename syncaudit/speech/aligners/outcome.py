"""Read what aligners with a dictionary give back: silences dropped, unknown words told."""

from __future__ import annotations

from collections.abc import Sequence

from syncaudit.errors import AlignmentError
from syncaudit.model import Interval, Tier
from syncaudit.speech.phonetics import is_silence

__all__ = ["aligned_tiers", "remarks_on_unknown"]

# What Kaldi's recipes put in place of a word that the dictionary lacks.
_SPOKEN_NOISE = "spn"
# Aligners round times; touching intervals may overlap by less than this.
_ROUNDING_S = 1e-4


def aligned_tiers(
    name: str, words: Sequence[Interval], phones: Sequence[Interval]
) -> tuple[Tier, Tier]:
    """Return words and phones without silences.

    Raises
    ------
    AlignmentError
        If nothing is left, or the times are out of order.
    """
    tiers = []
    for what, intervals in (("words", words), ("phones", phones)):
        spoken = [one for one in intervals if not is_silence(one.label)]
        if not spoken:
            raise AlignmentError(f"{name}: the aligner placed no {what}")
        kept: list[Interval] = []
        reached_s = 0.0
        for one in spoken:
            if one.start_s < reached_s - _ROUNDING_S or one.stop_s <= one.start_s:
                raise AlignmentError(
                    f"{name}: the aligner's {what} are out of order at {one.start_s:.3f} s"
                )
            start_s = max(one.start_s, reached_s)
            reached_s = one.stop_s
            kept.append(Interval(start_s=start_s, stop_s=one.stop_s, label=one.label))
        tiers.append(Tier(name=what, intervals=tuple(kept)))
    return tiers[0], tiers[1]


def remarks_on_unknown(name: str, words: Tier, phones: Tier) -> tuple[str, ...]:
    """Return the sentence about words that the dictionary lacks.

    Raises
    ------
    AlignmentError
        If it lacks them all: their times then say nothing.
    """
    unknown = [one.label for one in words.intervals if _is_unknown(one, phones)]
    if len(unknown) == len(words.intervals):
        raise AlignmentError(
            f"{name}: the dictionary knows none of the words, so their times say nothing",
            hint="Check the language, or give a dictionary that has them.",
        )
    if not unknown:
        return ()
    listed = ", ".join(dict.fromkeys(unknown))
    return (f"the dictionary lacks {listed}: their places are rough",)


def _is_unknown(word: Interval, phones: Tier) -> bool:
    inside = [
        one.label
        for one in phones.intervals
        if word.start_s <= (one.start_s + one.stop_s) / 2 < word.stop_s
    ]
    return not inside or all(label.lower() == _SPOKEN_NOISE for label in inside)
