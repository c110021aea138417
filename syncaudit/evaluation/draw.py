"""Draw which change is applied to which source that can be moved, all of them balanced."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fnmatch import fnmatchcase

import numpy as np

from syncaudit.evaluation.change import Change
from syncaudit.model import Clip, TranscriptSpec, clock_of


class Draw:
    """Deals changes to sources, cycling through all changes for each source.

    Sources moved least in this clip come first, then those moved least in all clips, so that the
    errors of a source are spread over many clips.

    The changes are all distinct; `rng` determines the order.
    """

    def __init__(self, changes: Sequence[Change], rng: np.random.Generator) -> None:
        self._changes = list(changes)
        self._rng = rng
        self._moved: Counter[str] = Counter()
        self._decks: dict[str, list[Change]] = {}

    def of_clip(self, sources: Sequence[str], n_variants: int) -> list[tuple[str, Change]]:
        """Return source and change of the variants of one clip, all different."""
        found: list[tuple[str, Change]] = []
        for _ in range(min(n_variants, len(sources) * len(self._changes))):
            lots = dict(zip(sources, self._rng.random(len(sources)).tolist(), strict=True))
            done = Counter(source for source, _ in found)
            source = min(  # ties broken at random
                (name for name in sources if done[name] < len(self._changes)),
                key=lambda name: (done[name], self._moved[name], lots[name]),
            )
            self._moved[source] += 1
            taken = {change for name, change in found if name == source}
            found.append((source, self._next(source, taken)))
        return found

    def _next(self, source: str, taken: set[Change]) -> Change:
        """Return the next change in a source's deck that this clip does not have yet."""
        deck = self._decks.setdefault(source, [])
        if not set(deck) - taken:
            order = self._rng.permutation(len(self._changes))
            deck += [self._changes[k] for k in order]
        place = next(k for k, change in enumerate(deck) if change not in taken)
        return deck.pop(place)


def movable_sources(
    clip: Clip, patterns: Sequence[str]
) -> tuple[dict[str, tuple[str, ...]], dict[str, str]]:
    """Return the sources that can be moved, each with all that share its clock, and why not others.

    Patterns are kinds, or names with wildcards; without any, all sources are requested.
    """
    moved: dict[str, tuple[str, ...]] = {}
    refused: dict[str, str] = {}
    for name, spec in clip.sources.items():
        if patterns and not any(x == spec.kind or fnmatchcase(name, x) for x in patterns):
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
    return moved, refused
