"""Tracks between pairs of frames, stacked for the fits that take many at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from syncaudit.detectors.rotation.lens import Lens
from syncaudit.detectors.rotation.point_tracks import PointTracks

__all__ = ["FramePair", "PairStack"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, eq=False)  # no slots: the turn is found when asked
class FramePair:
    """Tracks between two frames that wait for their fit.

    Parameters
    ----------
    previous, index : int
        The two frames.
    tracks : PointTracks
        In pixels of the tracked picture.
    shape, full_shape : tuple of int
        Height and width of the tracked picture and of the whole one.
    """

    previous: int
    index: int
    tracks: PointTracks
    shape: tuple[int, ...]
    full_shape: tuple[int, ...]

    @cached_property
    def turn_px(self) -> float:
        """How far the points move together: turning to a side does that, and travel ahead not."""
        return float(np.hypot(*np.mean(self.tracks.after - self.tracks.before, axis=0)))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairStack:
    """Points of m pairs of frames of one size, up to n each.

    Parameters
    ----------
    frames : ndarray of int, shape (m, 2)
        The two frames of each pair.
    places_px : ndarray, shape (2, m, n, 2)
        Before and after, from the middle of the tracked picture.
    is_point : ndarray of bool, shape (m, n)
        False where a pair has fewer points than n.
    corner_rows_px : ndarray, shape (m,)
        Mean row of the corners, from the middle of the whole picture.
    row_scale : float
        Rows of the whole picture in one of the tracked picture.
    focal_px : float
        Focal length in pixels of the tracked picture.
    """

    frames: NDArray[np.intp]
    places_px: Floats
    is_point: Bools
    corner_rows_px: Floats
    row_scale: float
    focal_px: float

    @classmethod
    def of(cls, pairs: Sequence[FramePair], full_focal_px: float) -> PairStack:
        """Stack pairs of frames of one size, given the focal length of the whole picture."""
        (height, width), full_shape = pairs[0].shape, pairs[0].full_shape
        n_most = max(len(pair.tracks.before) for pair in pairs)
        places = np.zeros((2, len(pairs), n_most, 2))
        is_point = np.zeros((len(pairs), n_most), dtype=np.bool_)
        for k, pair in enumerate(pairs):
            n = len(pair.tracks.before)
            places[0, k, :n], places[1, k, :n] = pair.tracks.before, pair.tracks.after
            is_point[k, :n] = True
        places -= np.array([(width - 1) / 2.0, (height - 1) / 2.0])
        row_scale = full_shape[0] / height
        corners_px = np.array([pair.tracks.mean_corner_row_px for pair in pairs])
        return cls(
            frames=np.array([(pair.previous, pair.index) for pair in pairs]),
            places_px=places,
            is_point=is_point,
            corner_rows_px=(corners_px - 0.5 * (height - 1)) * row_scale,
            row_scale=row_scale,
            focal_px=full_focal_px * width / full_shape[1],
        )

    def rows_px(self, pairs: NDArray[np.intp]) -> Floats:
        """Return the rows of some pairs' points in the whole picture, shape (2, k, n)."""
        return np.asarray(self.row_scale * self.places_px[..., 1][:, pairs])

    def seen_through(self, lens: Lens | None) -> tuple[Floats, Floats, Bools, Floats | None]:
        """Return places before and after, which are points, and the scale, as of `fit_rotations`.

        Parameters
        ----------
        lens : Lens, optional
            None: a pinhole.
        """
        bent = self.places_px / self.focal_px
        if lens is None:
            return bent[0], bent[1], self.is_point, None
        sight = lens.sight(bent)
        is_point = self.is_point & sight.is_seen[0] & sight.is_seen[1]
        scale = np.sqrt(sight.scale[0] * sight.scale[1])
        return sight.places[0], sight.places[1], is_point, scale
