"""How the parts of a picture move from frame to frame."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syncaudit.model import arrays

__all__ = ["PictureMotion"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PictureMotion:
    """Mean displacement of every cell of a picture between pairs of frames.

    Parameters
    ----------
    source : str
        Camera.
    epoch_ns : int
        Zero of the times on the camera's clock.
    start_s, stop_s : ndarray, shape (n,)
        When the middle rows of the two frames were exposed.
    moves : ndarray, shape (n, m)
        Displacements, in parts of the picture's width: right and down of every cell in turn.
    stamp_std_s : float
        Systematic uncertainty of the frame times (exposure or read-out not stated).
    coded_width_px : int, optional
        Width of a video whose frames are told from those before them. None: images of their own.
    """

    source: str
    epoch_ns: int
    start_s: NDArray[np.float64]
    stop_s: NDArray[np.float64]
    moves: NDArray[np.float64]
    stamp_std_s: float = 0.0
    coded_width_px: int | None = None

    def __post_init__(self) -> None:
        """Check and freeze the arrays."""
        moves = arrays.finite_matrix("moves", self.moves)
        object.__setattr__(self, "moves", moves)
        for name in ("start_s", "stop_s"):
            column = arrays.finite_column(name, getattr(self, name), n=moves.shape[0])
            object.__setattr__(self, name, column)
