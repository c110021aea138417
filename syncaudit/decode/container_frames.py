"""Hold the list of frames that a container gives for a video."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ContainerFrames:
    """Frames of one video stream as listed by its container."""

    n_frames: int  # packets with data that are meant to be shown
    # shape (n_frames,), in units of `time_base`, sorted; None if a frame has none
    pts: NDArray[np.int64] | None
    time_base: Fraction  # seconds per unit
    width_px: int  # 0 if the header does not state it
    height_px: int
    # shape (n_keys,), of the frames that can be decoded without others
    key_pts: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    damage: str | None = None  # why listing stopped early, if it did
    n_bytes: int | None = None  # of the file, if that was checked

    def pts_ns(self) -> NDArray[Any] | None:
        """Return the presentation times in whole nanoseconds, rounded, shape (n_frames,).

        They are Python integers (dtype object) if int64 would overflow on the way.
        """
        if self.pts is None:
            return None
        up, down = 2 * self.time_base.numerator * 10**9, 2 * self.time_base.denominator
        reach = max(-int(self.pts[0]), int(self.pts[-1])) * up + down
        pts = self.pts if reach < 2**63 else self.pts.astype(object)
        return (pts * up + down // 2) // down
