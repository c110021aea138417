"""How a camera turns from frame to frame."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syncaudit.model import arrays

__all__ = ["RotationIncrements"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RotationIncrements:
    """Rotation of a camera between pairs of frames, in its optical axes.

    Parameters
    ----------
    source : str
        Camera.
    epoch_ns : int
        Zero of the times on the camera's clock.
    start_s, stop_s : ndarray, shape (n,)
        When the middle rows of the two frames were exposed.
    angles_rad : ndarray, shape (n, 3)
        Rotation vector of the increment about x (right), y (down), z (forward).
    std_rad : ndarray, shape (n, 3)
        One-sigma error of each angle.
    row_moments_px, row_moves_px : ndarray, shape (n, 3, 3)
        Mean distance of the tracked points from the middle row, and mean number of rows they
        moved, each weighted by how much the points contribute: entry (i, j) tells what a rotation
        about axis j at the points' own rows does to the angle about axis i. With the line delay
        they turn frame times into row times.
    mean_row_px : float
        Plain mean distance of the picture's corners from the middle row (negative: above it).
    height_px : int
        Rows of the picture.
    line_delay_s : float, optional
        Time between rows, where stated.
    has_focal : bool
        Whether the focal length was stated (else angles about x and y carry an unknown factor).
    stamp_std_s : float
        Systematic uncertainty of the frame times (exposure or read-out not stated).
    regular_start_s, regular_stop_s : ndarray, shape (n,), optional
        The same instants by an even clock, where the stamps jitter around one.
    """

    source: str
    epoch_ns: int
    start_s: NDArray[np.float64]
    stop_s: NDArray[np.float64]
    angles_rad: NDArray[np.float64]
    std_rad: NDArray[np.float64]
    row_moments_px: NDArray[np.float64]
    row_moves_px: NDArray[np.float64]
    height_px: int
    mean_row_px: float = 0.0
    line_delay_s: float | None = None
    has_focal: bool = False
    stamp_std_s: float = 0.0
    regular_start_s: NDArray[np.float64] | None = None
    regular_stop_s: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        """Check and freeze the arrays."""
        n = np.asarray(self.angles_rad).shape[0]
        for name in ("regular_start_s", "regular_stop_s"):
            if getattr(self, name) is not None:
                column = arrays.finite_column(name, getattr(self, name), n=n)
                object.__setattr__(self, name, column)
        for name in ("start_s", "stop_s"):
            object.__setattr__(self, name, arrays.finite_column(name, getattr(self, name), n=n))
        for name in ("angles_rad", "std_rad"):
            object.__setattr__(
                self, name, arrays.finite_matrix(name, getattr(self, name), n=n, width=3)
            )
        for name in ("row_moments_px", "row_moves_px"):
            flat = np.asarray(getattr(self, name)).reshape(n, 9)
            checked = arrays.finite_matrix(name, flat, n=n, width=9).reshape(n, 3, 3)
            checked.flags.writeable = False
            object.__setattr__(self, name, checked)
