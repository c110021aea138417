"""Draw what is done to which source: movable sources, sizes and signs as evenly as they go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np

from syncaudit.formatting import word_direction, word_duration
from syncaudit.model import Clip, TranscriptSpec, clock_of

__all__ = ["Change", "Draw", "Movable", "all_changes", "movable_sources"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What is done to a clock, as the correction that undoes it: an offset, or a drift.

    Parameters
    ----------
    offset_s : float
        Positive: stamps become too early.
    drift_ppm : float
        Positive: the clock becomes too slow, from its first stamp on.
    """

    offset_s: float = 0.0
    drift_ppm: float = 0.0

    @property
    def name(self) -> str:
        """What was done, as a part of an id: ``20ms_early``, ``50ppm_slow``."""
        if self.drift_ppm:
            return f"{abs(self.drift_ppm):g}ppm_{'slow' if self.drift_ppm > 0.0 else 'fast'}"
        size = word_duration(abs(self.offset_s)).replace(" ", "")
        return f"{size}_{word_direction(self.offset_s)}"


def all_changes(offsets_s: Sequence[float], drifts_ppm: Sequence[float]) -> list[Change]:
    """Return every size, with either sign."""
    signs = (1.0, -1.0)
    offsets = [Change(offset_s=sign * abs(size)) for size in offsets_s for sign in signs]
    return offsets + [Change(drift_ppm=sign * abs(size)) for size in drifts_ppm for sign in signs]


class Draw:
    """Deals changes to sources, of each all changes in turn.

    First come sources that were moved least in this clip, then those moved least in all clips: the
    errors of a source are spread over many clips.

    Parameters
    ----------
    changes : sequence of Change
        What may be done, all distinct.
    rng : Generator
        Decides the order.
    """

    def __init__(self, changes: Sequence[Change], rng: np.random.Generator) -> None:
        self._changes = list(changes)
        self._rng = rng
        self._moved: Counter[str] = Counter()
        self._decks: dict[str, list[Change]] = {}

    def of_clip(self, sources: Sequence[str], n_variants: int) -> list[tuple[str, Change]]:
        """Return source and change of the variants of one clip; no two are alike."""
        found: list[tuple[str, Change]] = []
        for _ in range(min(n_variants, len(sources) * len(self._changes))):
            lots = dict(zip(sources, self._rng.random(len(sources)).tolist(), strict=True))
            done = Counter(source for source, _ in found)
            source = min(  # ties by lot
                (name for name in sources if done[name] < len(self._changes)),
                key=lambda name: (done[name], self._moved[name], lots[name]),
            )
            self._moved[source] += 1
            taken = {change for name, change in found if name == source}
            found.append((source, self._next(source, taken)))
        return found

    def _next(self, source: str, taken: set[Change]) -> Change:
        """Return the next change of a source's deck that this clip does not have."""
        deck = self._decks.setdefault(source, [])
        if not set(deck) - taken:
            order = self._rng.permutation(len(self._changes))
            deck += [self._changes[k] for k in order]
        place = next(k for k, change in enumerate(deck) if change not in taken)
        return deck.pop(place)


@dataclass(frozen=True, slots=True, kw_only=True)
class Movable:
    """Sources of a clip.

    Parameters
    ----------
    moved : mapping of str to tuple of str
        Source that can be moved, to all whose stamps move as they share its clock.
    refused : mapping of str to str
        Why another that was asked for cannot be.
    """

    moved: Mapping[str, tuple[str, ...]]
    refused: Mapping[str, str]


def movable_sources(clip: Clip, patterns: Sequence[str]) -> Movable:
    """Return which of the sources that were asked for can be moved.

    `patterns` are kinds, or names with wildcards; none: all sources.
    """
    moved: dict[str, tuple[str, ...]] = {}
    refused: dict[str, str] = {}
    for name, spec in clip.sources.items():
        if patterns and not any(p == spec.kind or fnmatchcase(name, p) for p in patterns):
            continue
        clock = clock_of(name, spec)
        mates = [other for other in clip.sources if clock_of(other, clip.sources[other]) == clock]
        followers = {
            other
            for other, its in clip.sources.items()
            if isinstance(its, TranscriptSpec) and its.audio in mates
        }
        if isinstance(spec, TranscriptSpec) and spec.uri is None:
            refused[name] = "it is text without times"
        elif clip.sources.keys() <= {*mates, *followers}:
            refused[name] = "nothing else in the clip has another clock"
        else:
            moved[name] = tuple(mates)
    return Movable(moved=moved, refused=refused)
