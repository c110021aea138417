"""Tell a camera that is slower than its file from one that froze: its repeats keep time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from syncaudit.detectors.frames.frozen import Shown

__all__ = ["cadence"]

# Pictures that are shown for longer than so many times the usual, and one frame, are frozen.
LONG = 2.5
# Fewer repeats make no rate.
MIN_REPEATS = 8
# Every fourth frame or more is no accident; fewer are where so many come at one distance or its
# multiples. (Of accidental ones, multiples of two frames are one half, of three one third.)
MANY_SHARE = 0.25
REGULAR_SHARE = 0.75
# Where more of the pictures are unproven than this, their places tell nothing.
MOST_UNPROVEN = 0.4


def cadence(shown: Sequence[Shown]) -> tuple[float, int] | None:
    """Return the share of frames that show a new picture, and the longest usual repetition.

    Parameters
    ----------
    shown : sequence of Shown
        Different pictures; only those within motion count, whose repeats would be seen.

    Returns
    -------
    tuple of float and int, or None
        Share, and frames up to which a picture is repeated by the rate alone; None where frames
        are new, or repeats come singly.
    """
    seen = [one for one in shown if one.is_within_motion]
    if not seen:
        return None
    lengths = np.array([1 + one.n_repeats for one in seen])
    longest = int(LONG * np.median(lengths)) + 1
    repeated = [one for one in seen if 1 <= one.n_repeats < longest]
    if len(repeated) < MIN_REPEATS:
        return None
    # Some repeats are not seen, and leave multiples of the distance.
    gaps = np.diff([one.first for one in repeated])
    gap = int(np.quantile(gaps, 0.25, method="nearest"))
    if np.mean(gaps % gap == 0) >= REGULAR_SHARE:
        gap //= _n_hidden(shown, [one.first for one in repeated], gap)
        return 1.0 - float(np.median([one.n_repeats for one in repeated])) / gap, longest - 1
    usual = lengths[lengths <= longest]
    share = usual.size / float(usual.sum())
    return (share, longest - 1) if share <= 1.0 - MANY_SHARE else None


def _n_hidden(shown: Sequence[Shown], repeated: Sequence[int], gap: int) -> int:
    """Return into how many equal parts pictures that nothing proves cut the distance of repeats.

    Where every second frame is a key frame, so may every second repeat be: coded anew, it is no
    proven one, but neither is it motion, always in the same places.
    """
    unproven = {one.first for one in shown if not one.is_within_motion}
    if len(unproven) > MOST_UNPROVEN * len(shown):
        return 1
    for n_parts in (3, 2):
        if gap % n_parts == 0 and gap > 2 * n_parts:
            places = [at + gap // n_parts * k for at in repeated[:-1] for k in range(1, n_parts)]
            if np.mean([place in unproven for place in places]) >= REGULAR_SHARE:
                return n_parts
    return 1
