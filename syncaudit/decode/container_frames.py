"""What a container lists of the frames of a video."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["ContainerFrames"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ContainerFrames:
    """Frames of one video stream as its container lists them.

    Parameters
    ----------
    n_frames : int
        Packets with data that are meant to be shown.
    pts : ndarray of int64, shape (n_frames,), optional
        Presentation times in units of `time_base`, sorted; None if a frame has none.
    time_base : Fraction
        Seconds per unit.
    width_px, height_px : int
        Picture size; 0 where the header does not say.
    damage : str, optional
        Why listing stopped early, where it did.
    n_bytes : int, optional
        Size of the file, where that was looked at.
    """

    n_frames: int
    pts: NDArray[np.int64] | None
    time_base: Fraction
    width_px: int
    height_px: int
    damage: str | None = None
    n_bytes: int | None = None

    def pts_ns(self) -> NDArray[Any] | None:
        """Return the presentation times in whole nanoseconds, rounded to nearest.

        Returns
        -------
        ndarray of int64, shape (n_frames,), or None
            Of Python's integers (dtype object) where int64 would overflow on the way.
        """
        if self.pts is None:
            return None
        up, down = 2 * self.time_base.numerator * 10**9, 2 * self.time_base.denominator
        reach = max(-int(self.pts[0]), int(self.pts[-1])) * up + down
        pts = self.pts if reach < 2**63 else self.pts.astype(object)
        return (pts * up + down // 2) // down
