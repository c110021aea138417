"""Draw which change is applied to which source, with sources, sizes and signs balanced."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from syncaudit.evaluation.change import Change

__all__ = ["Draw"]


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
