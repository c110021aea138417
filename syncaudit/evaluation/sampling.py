"""Draw clips for a person to look at: as many of every verdict as there are, in random order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from syncaudit.model import Verdict

__all__ = ["balanced_sample", "quotas"]


def quotas(counts: Mapping[Verdict, int], number: int) -> dict[Verdict, int]:
    """Return how many clips of every verdict to draw: alike, and what one lacks from the others.

    Parameters
    ----------
    counts : mapping of Verdict to int
        Clips there are.
    number : int
        Clips to draw in all; fewer where there are fewer.
    """
    left = number
    found: dict[Verdict, int] = {}
    present = sorted((verdict for verdict in counts if counts[verdict]), key=counts.__getitem__)
    for k, verdict in enumerate(present):
        found[verdict] = min(counts[verdict], left // (len(present) - k))
        left -= found[verdict]
    return found


def balanced_sample(
    verdicts: Mapping[str, Verdict], number: int, rng: np.random.Generator
) -> Sequence[str]:
    """Return clip ids, balanced over the verdicts, in an order that tells nothing.

    Parameters
    ----------
    verdicts : mapping of str to Verdict
        The run, by clip.
    number : int
        Clips to draw.
    rng : Generator
        Decides.
    """
    by_verdict: dict[Verdict, list[str]] = {verdict: [] for verdict in Verdict}
    for clip_id, verdict in verdicts.items():
        by_verdict[verdict].append(clip_id)
    wanted = quotas({verdict: len(ids) for verdict, ids in by_verdict.items()}, number)
    drawn = [
        by_verdict[verdict][k]
        for verdict, n in wanted.items()
        for k in rng.choice(len(by_verdict[verdict]), n, replace=False).tolist()
    ]
    return [drawn[k] for k in rng.permutation(len(drawn)).tolist()]
