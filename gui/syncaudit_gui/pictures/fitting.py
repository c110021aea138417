"""The size of a picture in a box."""

from __future__ import annotations

__all__ = ["fitted"]


def fitted(width_px: int, height_px: int, box_width_px: int, box_height_px: int) -> tuple[int, int]:
    """Return the largest size of the picture's shape in the box; at least a pixel."""
    if width_px <= 0 or height_px <= 0:
        return 1, 1
    scale = min(box_width_px / width_px, box_height_px / height_px)
    return max(1, round(width_px * scale)), max(1, round(height_px * scale))
