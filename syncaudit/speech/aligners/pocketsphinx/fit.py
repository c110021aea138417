"""Judge from pocketsphinx' own scores whether a text matches what was spoken.

Its scores are log ratios to the best of all sounds at the same instant (0 is best), so they hardly
depend on the recording's level. Two figures separate right texts from wrong ones: how well the
sounds of the text fit where they were placed, and how much of the clip fits badly, which is what
half a text leaves behind: speech under "silence", or one sound stretched over a sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from syncaudit.model.arrays import Floats

__all__ = ["Fit", "Placed", "fit_of"]

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
    """How well text and sound fit."""

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
    return Fit(
        score=float(ratio[is_spoken].mean()),
        unexplained=float(np.mean((_smooth(ratio, _WINDOW_FRAMES) < limit) | is_noise)),
    )


def _smooth(values: Floats, width: int) -> Floats:
    """Return the running mean, with the ends held."""
    width = min(width, values.size)
    held = np.pad(values, (width // 2, width - 1 - width // 2), mode="edge")
    total = np.cumsum(np.concatenate(([0.0], held)))
    smooth: Floats = (total[width:] - total[:-width]) / width
    return smooth
