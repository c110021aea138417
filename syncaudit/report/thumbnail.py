"""A small image of a camera, for people to look at."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Thumbnail"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Thumbnail:
    """One frame, reduced and compressed.

    Parameters
    ----------
    source : str
        Camera.
    jpeg : bytes
        The image.
    width_px, height_px : int
        Its size.
    words : str
        Which frame it is.
    """

    source: str
    jpeg: bytes
    width_px: int
    height_px: int
    words: str
