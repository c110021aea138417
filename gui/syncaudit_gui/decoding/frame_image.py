"""Request for a frame, and the resulting image."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameRequest:
    """Request for one frame at a size."""

    index: int
    width_px: int  # largest size wanted; the image keeps its aspect ratio
    height_px: int
    # Whether a nearby key frame may be shown until the frame itself is decoded.
    is_hasty: bool = False
    n_ahead: int = 0  # frames to decode next while there is no other request


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FrameImage:
    """One frame, ready to draw."""

    index: int  # the requested frame
    # shape (height, width, 4): blue, green, red, 255. None if it is not available.
    pixels: NDArray[np.uint8] | None
    shown_index: int  # the frame that `pixels` show: a different one if `is_coarse`
    error: str = ""  # why it is not available

    @property
    def is_coarse(self) -> bool:
        """Whether it is a stand-in until the frame itself is decoded."""
        return self.shown_index != self.index


def fitted(width_px: int, height_px: int, box_width_px: int, box_height_px: int) -> tuple[int, int]:
    """Return the largest size with an image's aspect ratio within a box; at least a pixel."""
    if width_px <= 0 or height_px <= 0:
        return 1, 1
    scale = min(box_width_px / width_px, box_height_px / height_px)
    return max(1, round(width_px * scale)), max(1, round(height_px * scale))
