"""Find lost buffers between two microphones: stretches with an offset of their own."""

from __future__ import annotations

import numpy as np

from syncaudit.estimators.sound.blocks import (
    MIN_BLOCKS,
    TRACK_DRIFT,
    TRACK_S,
    Blocks,
    fitting_offset,
    measure_blocks,
)
from syncaudit.estimators.sound.pair import Refusal, SoundPair
from syncaudit.estimators.sound.search import search_coarsely
from syncaudit.model.arrays import Bools, Floats

__all__ = ["locate_step", "with_outliers"]

# Silent agreement is no news: only stretches this long without a measured block are looked into.
MIN_STRETCH_S = 3.0
MAX_STRETCHES = 6
# Length of the pieces that narrow a step down, and how close it is narrowed.
PIECE_S = 0.5
MAX_HALVINGS = 8


def with_outliers(pair: SoundPair, blocks: Blocks) -> tuple[Blocks, float]:
    """Return the blocks with those of stretches that follow another offset.

    Where a microphone loses a buffer, everything after it leaves the track of what came before.
    Stretches with sound in both but without a measured block are searched anew over all offsets.

    Parameters
    ----------
    pair : SoundPair
    blocks : Blocks
        Measured along one track.

    Returns
    -------
    blocks : Blocks
        All that could be measured.
    unclear_s : float
        Length of the stretches that share a sound at no single offset.
    """
    seen: set[float] = set()
    unclear_s = 0.0
    for _ in range(MAX_STRETCHES):
        stretch = next((run for run in _stretches(blocks) if run[0] not in seen), None)
        if stretch is None:
            break
        seen.add(stretch[0])
        part = pair.part(*stretch)
        coarse = search_coarsely(part)
        best_s = coarse.figures.get("coarse_offset_s")
        if best_s is None or _is_on_track(blocks, 0.5 * sum(stretch), best_s):
            continue  # nothing in common there, or too faint for blocks of its own
        if isinstance(coarse, Refusal):
            unclear_s += (stretch[1] - stretch[0]) * bool(coarse.figures.get("is_ambiguous"))
            continue
        own = measure_blocks(part, coarse)
        if isinstance(own, Blocks):
            blocks = blocks.joined(own)
        else:
            unclear_s += stretch[1] - stretch[0]
    return blocks, unclear_s


def locate_step(
    pair: SoundPair, early_s: float, late_s: float, offsets_s: tuple[float, float]
) -> float:
    """Return when the offset changes, by halving the time between two blocks.

    Parameters
    ----------
    pair : SoundPair
    early_s, late_s : float
        Middles of the last block before and the first after.
    offsets_s : tuple of float
        Offset before and after.
    """
    for _ in range(MAX_HALVINGS):
        if late_s - early_s <= PIECE_S:
            break
        middle = 0.5 * (early_s + late_s)
        side = fitting_offset(pair, middle, offsets_s, PIECE_S)
        if side is None:
            break
        if side == 0:
            early_s = middle
        else:
            late_s = middle
    return 0.5 * (early_s + late_s)


def _stretches(blocks: Blocks) -> list[tuple[float, float]]:
    """Return the longest runs of tried blocks of which none was measured."""
    tried = blocks.tried_s
    pitch = float(np.median(np.diff(tried))) if tried.size > 1 else 1.0
    is_empty = ~_any_near(tried, blocks.times_s, 0.75 * pitch)
    edges = np.flatnonzero(np.diff(np.concatenate(([0], is_empty.astype(np.int8), [0]))))
    runs = [
        (float(tried[first]) - 0.5, float(tried[stop - 1]) + 0.5)
        for first, stop in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)
        if stop - first >= MIN_BLOCKS
    ]
    runs = [run for run in runs if run[1] - run[0] >= MIN_STRETCH_S]
    return sorted(runs, key=lambda run: run[0] - run[1])


def _is_on_track(blocks: Blocks, at_s: float, offset_s: float) -> bool:
    """Tell whether an offset is that of the nearest block, within what drifts and blurs."""
    nearest = int(np.argmin(np.abs(blocks.times_s - at_s)))
    reach = TRACK_S + TRACK_DRIFT * abs(float(blocks.times_s[nearest]) - at_s)
    return abs(offset_s - float(blocks.offsets_s[nearest])) < reach


def _any_near(times: Floats, others: Floats, reach: float) -> Bools:
    if not others.size:
        return np.zeros(times.size, dtype=np.bool_)
    place = np.searchsorted(others, times)
    left = np.abs(times - others[np.maximum(place - 1, 0)])
    right = np.abs(times - others[np.minimum(place, others.size - 1)])
    return np.asarray(np.minimum(left, right) <= reach)
