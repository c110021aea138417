"""Find the sources of a clip that can be moved against the others, and what moves with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from syncaudit.model import Clip, TranscriptSpec, clock_of

__all__ = ["Movable", "movable_sources"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Movable:
    """Movable and refused sources of a clip."""

    # Source that can be moved, to all sources whose timestamps move as they share its clock.
    moved: Mapping[str, tuple[str, ...]]
    refused: Mapping[str, str]  # why another requested source cannot be moved


def movable_sources(clip: Clip, patterns: Sequence[str]) -> Movable:
    """Return the requested sources that can be moved.

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
    return Movable(moved=moved, refused=refused)
