"""Define the input and output of aligners, what all have in common, and their table."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from syncaudit.errors import AlignmentError, SyncAuditError
from syncaudit.model import Interval, Tier
from syncaudit.plugins import made_on_demand
from syncaudit.speech.phonetics import is_silence

# Apostrophes belong to words (don't), all other punctuation separates them.
_APOSTROPHES = str.maketrans({"’": "'", "‘": "'", "`": "'", "´": "'"})
_WORD = re.compile(r"[\w']+(?:[.,]\d+)*")
# Kaldi recipes substitute this for a word that the dictionary lacks.
_SPOKEN_NOISE = "spn"
# Aligners round times; touching intervals may overlap by less than this.
_ROUNDING_S = 1e-4
# Features of sound need a few frames; viter panics without any.
_MIN_S = 0.2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Utterance:
    """Sound and what is spoken in it."""

    name: str  # for messages
    samples: NDArray[np.float32]  # shape (n,); one channel, full scale 1
    rate_hz: float
    words: tuple[str, ...] = ()  # in order, without punctuation; empty if only phones are known
    # given pronunciation, in IPA or ARPAbet: one entry per word, or per phone if there are no
    # words. Empty: the aligner finds the pronunciation itself.
    phones: tuple[tuple[str, ...], ...] = ()
    language: str = "en"  # language of the words: ``en``, ``de``

    @property
    def duration_s(self) -> float:
        """Length of the sound."""
        return len(self.samples) / self.rate_hz


@dataclass(frozen=True, slots=True, kw_only=True)
class Alignment:
    """When each word and phone was spoken, according to an aligner."""

    aligner: str  # name and version
    # intervals in order, in seconds of the sound, without silences. `words` is empty if the
    # utterance has none.
    words: Tier
    phones: Tier
    guessed: tuple[str, ...] = ()  # words whose pronunciation was guessed from their letters
    remarks: tuple[str, ...] = ()  # remarks for the user, as sentences
    # whether the aligner itself has checked how well text and sound fit
    has_own_score: bool = False


class Aligner(Protocol):
    """Forced aligner: assigns times to text."""

    name: str

    def unavailable_reason(self, language: str, *, is_phones: bool) -> SyncAuditError | None:
        """Return why it is unavailable for such a text, with a remedy; None if it is available.

        `language`: that of the text. `is_phones`: whether the text is given as phones.
        """

    def align(self, utterances: Sequence[Utterance]) -> list[Alignment | AlignmentError]:
        """Align utterances independently; what cannot be aligned becomes its error.

        All are in a language and kind of text that is available (`unavailable_reason`).
        """


# In the order in which they are tried: those that need no set-up come first.
ALIGNERS: Mapping[str, Callable[[], Aligner]] = {
    "pocketsphinx": made_on_demand("syncaudit.speech.aligners.pocketsphinx", "PocketsphinxAligner"),
    "mfa": made_on_demand("syncaudit.speech.aligners.mfa", "MfaAligner"),
    "viter": made_on_demand("syncaudit.speech.aligners.viter", "ViterAligner"),
}


def align_each(
    align_one: Callable[[Utterance], Alignment], utterances: Sequence[Utterance]
) -> list[Alignment | AlignmentError]:
    """Align utterances one after the other; what cannot be aligned becomes its error."""
    found: list[Alignment | AlignmentError] = []
    for utterance in utterances:
        try:
            found.append(align_one(utterance))
        except AlignmentError as error:
            found.append(error)
    return found


def refuse_unusable(utterance: Utterance) -> None:
    """Raise AlignmentError for sound that no aligner can use."""
    if not utterance.rate_hz > 0 or utterance.duration_s < _MIN_S:
        raise AlignmentError(f"{utterance.name}: the audio is shorter than {_MIN_S:g} s")
    if not np.isfinite(utterance.samples).all():
        raise AlignmentError(f"{utterance.name}: the audio holds NaN or infinite samples")


def aligned_tiers(
    name: str, words: Sequence[Interval], phones: Sequence[Interval]
) -> tuple[Tier, Tier]:
    """Return words and phones without silences.

    AlignmentError if nothing is left, or the times are out of order.
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
    """Return the remark about words that the dictionary lacks.

    AlignmentError if it lacks them all: their times are then meaningless.
    """
    unknown = [one.label for one in words.intervals if _is_unknown(one, phones)]
    if len(unknown) == len(words.intervals):
        raise AlignmentError(
            f"{name}: the dictionary has none of the words, so their times mean nothing",
            hint="Check the language, or give a dictionary that has them.",
        )
    if not unknown:
        return ()
    listed = ", ".join(dict.fromkeys(unknown))
    return (f"the dictionary lacks {listed}: their positions are approximate",)


def _is_unknown(word: Interval, phones: Tier) -> bool:
    inside = [
        one.label
        for one in phones.intervals
        if word.start_s <= (one.start_s + one.stop_s) / 2 < word.stop_s
    ]
    return not inside or all(label.lower() == _SPOKEN_NOISE for label in inside)


def words_of_text(text: str) -> tuple[str, ...]:
    """Return the words of a text in order, as written but without punctuation.

    Text in brackets or angle brackets (``[laughs]``, ``<unk>``) is a remark, not a word.

    Any script that separates words by blanks is supported.
    """
    plain = unicodedata.normalize("NFC", text).translate(_APOSTROPHES)
    plain = re.sub(r"\[[^\]]*\]|<[^>]*>|\{[^}]*\}", " ", plain).replace("_", " ")
    found = (word.strip("'") for word in _WORD.findall(plain))
    return tuple(word for word in found if any(letter.isalnum() for letter in word))


def phones_of_text(text: str) -> tuple[tuple[str, ...], ...]:
    """Return the phones of a transcription, grouped by word if ``|`` separates words.

    Phones are separated by blanks: ``dh ih s | ih z`` or ``ð ɪ s | ɪ z``. Without a bar, words are
    unknown, and each phone stands alone.
    """
    if "|" not in text:
        return tuple((phone,) for phone in text.split())
    return tuple(tuple(word.split()) for word in text.split("|") if word.split())
