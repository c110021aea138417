"""What a video looks like: all there is to compare where nothing moves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syncaudit.splits.fingerprint import CROPS, Fingerprint, cropping, nearest

__all__ = ["Looks", "likeness"]

# Scenes are looked at so often.
_LOOK_S = 0.25

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class Looks:
    """What a video looks like, each with no margin and with several cut off.

    Parameters
    ----------
    often : ndarray, shape (c, n, 96)
        Every `_LOOK_S`; every row of norm 1 and mean 0.
    once : ndarray, shape (c, 96)
        In the middle.
    """

    often: Floats
    once: Floats

    @classmethod
    def of(cls, video: Fingerprint) -> Looks:
        """Return the looks of a video."""
        at = nearest(video.times_s, np.arange(0.0, video.times_s[-1] + _LOOK_S, _LOOK_S))
        cells = video.cells.astype(np.float32)

        def looks(cells: Floats) -> Floats:
            found = np.stack([cells @ cropping(crop).T for crop in CROPS])
            found -= found.mean(axis=-1, keepdims=True)
            size = np.linalg.norm(found, axis=-1, keepdims=True)
            return np.asarray(found / np.maximum(size, 1e-9), dtype=np.float32)

        return cls(looks(cells[at]), looks(cells[len(cells) // 2]))


def likeness(one: Looks, other: Looks) -> float:
    """Return the correlation of two videos of a scene at the instants when they are most alike."""
    return max(
        float(max(np.max(often.often @ once.once[0]), np.max(often.often[0] @ once.once.T)))
        for once, often in ((one, other), (other, one))
    )
