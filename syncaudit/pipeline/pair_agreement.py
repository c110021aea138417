"""What recordings agree on of the offset between two clocks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from syncaudit.dsp.random_effects import RandomEffects, fit_random_effects

__all__ = ["MIN_RECORDINGS", "Agreement", "PairOffsets", "agreement"]

# A majority of fewer recordings may be chance.
MIN_RECORDINGS = 4


@dataclass(slots=True)
class PairOffsets:
    """What clips, by their numbers, say of two clocks: offsets from the first to the second."""

    clips: list[int] = field(default_factory=list)
    offsets_s: list[float] = field(default_factory=list)
    stds_s: list[float] = field(default_factory=list)
    systematic_s: list[float] = field(default_factory=list)

    def add(self, clip: int, offset_s: float, std_s: float, systematic_s: float) -> None:
        """Take what one more clip says."""
        self.clips.append(clip)
        self.offsets_s.append(offset_s)
        self.stds_s.append(std_s)
        self.systematic_s.append(systematic_s)


@dataclass(frozen=True, slots=True)
class Agreement:
    """What recordings agree on.

    Parameters
    ----------
    effects : RandomEffects
        Of the recordings.
    systematic_s : float
        Typical systematic part of an error.
    share : dict of int to float
        By clip: probability of sharing what is common.
    offset_s : dict of int to float
        By clip: what it measured.
    """

    effects: RandomEffects
    systematic_s: float
    share: dict[int, float]
    offset_s: dict[int, float]


def agreement(pair: PairOffsets, recordings: Sequence[str], *, width_s: float) -> Agreement | None:
    """Return what recordings agree on; None where too few do, or no majority.

    Errors count in full here: whether a systematic part is the same in all recordings is not
    known, so that it must neither be told as scatter between them nor averaged away by whoever
    uses the mean.

    Parameters
    ----------
    pair : PairOffsets
        Of at least one clip.
    recordings : sequence of str
        Recording of every clip.
    width_s : float
        Of the range in which offsets may lie.
    """
    offsets_s, stds_s = np.array(pair.offsets_s), np.array(pair.stds_s)
    places: defaultdict[str, list[int]] = defaultdict(list)
    for place, clip in enumerate(pair.clips):
        places[recordings[clip]].append(place)
    if len(places) < MIN_RECORDINGS:
        return None
    means_s, mean_stds_s = np.empty(len(places)), np.empty(len(places))
    for k, own in enumerate(places.values()):
        if len(own) == 1:  # most data sets have nothing else, and many of them
            means_s[k], mean_stds_s[k] = offsets_s[own[0]], stds_s[own[0]]
        else:
            fit = fit_random_effects(offsets_s[own], stds_s[own], width=width_s)
            means_s[k], mean_stds_s[k] = fit.mean, fit.std
    effects = fit_random_effects(means_s, mean_stds_s, width=width_s)
    if 2.0 * float(effects.share.sum()) <= len(places):
        return None
    share = effects.share_of(offsets_s, stds_s)
    return Agreement(
        effects=effects,
        systematic_s=float(np.sqrt(np.mean(np.square(pair.systematic_s)))),
        share=dict(zip(pair.clips, share.tolist(), strict=True)),
        offset_s=dict(zip(pair.clips, pair.offsets_s, strict=True)),
    )
