"""A small image of a camera, for people to look at."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Thumbnail"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Thumbnail:
    """One frame, reduced and compressed."""

    source: str  # camera
    jpeg: bytes
    width_px: int  # its size
    height_px: int
    words: str  # which frame it is
