"""Select the clips to leave out, so that splits share nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from syncaudit.splits.duplicates import VideoPair
from syncaudit.splits.shared import SharedData
from syncaudit.splits.split_lists import Split

__all__ = ["leaked_clips"]


def leaked_clips(
    splits: Sequence[Split], shared: Iterable[SharedData], copies: Iterable[VideoPair]
) -> list[str]:
    """Return, in order, the clips of later splits that share something with an earlier one.

    A clip with the same id in both cannot be left out of only one, and is listed too.

    Parameters
    ----------
    splits : sequence of Split
        In the user's order: the first keeps all of its clips.
    shared, copies : iterable of SharedData, of VideoPair
        What was found, or must not be risked.
    """
    place = {split.name: k for k, split in enumerate(splits)}
    found: dict[str, None] = {}
    for one in shared:
        first = min(one.clips, key=place.__getitem__)
        for name, clips in one.clips.items():
            if name != first:
                found.update(dict.fromkeys(clips))
    for copy in copies:
        _, clip_id = max(zip(copy.splits, copy.clips, strict=True), key=lambda p: place[p[0]])
        found[clip_id] = None
    return list(found)
