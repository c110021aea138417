"""Judge by pocketsphinx' own scores whether a text is what was said.

Its scores are log ratios to the best of all sounds at the same instant (0 is best), so they ask
little of the recording's level. Two figures part right from wrong: how well the sounds of the text
fit where they were put, and how much of the clip fits badly, which is what half a text leaves
behind: speech under "silence", or one sound that is stretched over a sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from syncaudit.model.arrays import Floats

__all__ = ["Fit", "Placed", "fit_of"]

# Measured (benchmarks/aligners.py): right texts -6 to -23 in clean and to -32 in 10 dB of noise,
# texts of other recordings -35 and less.
_LEAST_SCORE = -33.0
# Right texts leave up to 0.24 unexplained, halves of a text 0.34 and more.
_MOST_UNEXPLAINED = 0.28
# Right sounds of other languages and of synthetic voices reach -26 to -52 and 0.37.
_LEAST_FOREIGN_SCORE = -60.0
_MOST_FOREIGN_UNEXPLAINED = 0.40
# Unexplained is what fits this much worse than the median sound, and badly by itself.
_WORSE = 10.0
_BAD = -25.0
_WINDOW_FRAMES = (
    30  # sounds that do not fit come alone in right texts, one after the other in wrong
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A sound and the frames that it was put in.

    Parameters
    ----------
    start, length : int
        In frames of 10 ms.
    phone : str
        CMU phone; empty for silence and noises.
    score : float
        Log ratio, summed over its frames.
    is_noise : bool
        Whether a model of noise (breath, babble) took it.
    """

    start: int
    length: int
    phone: str
    score: float
    is_noise: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """How well text and sound fit.

    Parameters
    ----------
    score : float
        Mean log ratio over the frames of speech; 0 is best.
    unexplained : float
        Share of the clip that fits badly.
    """

    score: float
    unexplained: float

    def may_be_foreign(self) -> bool:
        """Return whether it fits as the right sounds of another language would."""
        return self.score > _LEAST_FOREIGN_SCORE and self.unexplained < _MOST_FOREIGN_UNEXPLAINED

    def refusal(self) -> str | None:
        """Return why the text is not to be believed, or None."""
        if self.score < _LEAST_SCORE:
            return (
                f"its sounds do not fit the audio (score {self.score:.0f}, {_LEAST_SCORE:.0f} is "
                "the least): another text, another language, or too much noise"
            )
        if self.unexplained > _MOST_UNEXPLAINED:
            return (
                f"{self.unexplained:.0%} of the audio is left unexplained, at most "
                f"{_MOST_UNEXPLAINED:.0%} may be: words are missing in the text, or there is too "
                "much noise"
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
