"""Time pulses that come so densely that no frame and hardly a row is ever dark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from syncaudit.detectors.flash.crowd_edges import CrowdedFrame, crowded_edges
from syncaudit.detectors.flash.edges import Edge
from syncaudit.detectors.flash.overlapping_pulses import (
    OverlappingPulses,
    find_stairs,
    first_unit,
    improve_stairs,
    stairs_light,
)
from syncaudit.detectors.flash.pool import BandProfile, half_light_std_px, pool_shape
from syncaudit.detectors.flash.shape import RampShape
from syncaudit.detectors.flash.still import (
    CellSums,
    StillPicture,
    first_light,
    fit_picture,
    row_light,
)
from syncaudit.dsp.robust import cauchy_weights, mad_std

__all__ = ["CrowdedLight"]

Singles = NDArray[np.float32]
Floats = NDArray[np.float64]

# Frames that are fitted together, and the fewest that tell a picture from its light.
N_TOGETHER = 64
MIN_TOGETHER = 16
# Share of the edges tried that must convince.
MIN_KEPT = 0.4
# Rows are averaged to about as many.
N_BINS = 160
MAX_BIN_ROWS = 4
# Rounds for the first frames, for later ones, and those in which steps are looked for anew.
MAX_ROUNDS = 24
N_LATER_ROUNDS = 4
ANEW = (0, 1, 2, 4, 7, 11)
ANEW_LATER = (0,)
# The light is found when its misfit falls by less than this share in a round.
SETTLED_SHARE = 0.01
# How much earlier frames count in the picture of later ones.
KEPT_SHARE = 0.75
# Rows whose light is off by more than this count less in the picture.
TRUST_SIGMAS = 2.0
# Frames from which the shape of the pulse is learnt.
N_LEARNT = 16


@dataclass(slots=True)
class CrowdedLight:
    """Time the edges of bands that overlap, in a picture at rest.

    Every cell is a straight line of the light on its row, ``level = dark + gain * light``, with one
    dark picture and one gain for many frames, and the light of a row is a sum of pulses: steps of
    one height and shape. Both are fitted in turn, beginning with the first principal component of
    each row (alternating least squares). No frame need be dark anywhere.

    Attributes
    ----------
    edges : list of Edge
        Found so far.
    n_tried : int
        Edges that were tried.
    shape : RampShape, optional
        Of the pulse.
    half_std_px : float, optional
        Error of its half-light row.
    """

    edges: list[Edge] = field(default_factory=list)
    n_tried: int = 0
    shape: RampShape | None = None
    half_std_px: float | None = None
    _picture: StillPicture | None = None
    _before: CellSums | None = None
    _indices: list[int] = field(default_factory=list)
    _levels: list[Singles] = field(default_factory=list)
    _clean: list[Singles] = field(default_factory=list)
    _height: int = 0
    _is_needless: bool = False

    @property
    def is_believed(self) -> bool:
        """Whether most of the edges tried convince."""
        return len(self.edges) > MIN_KEPT * self.n_tried

    def add(self, index: int, levels: Singles, is_clean: NDArray[np.bool_]) -> None:
        """Take a frame, and fit some when there are enough.

        Parameters
        ----------
        index : int
            Position in file order.
        levels, is_clean : ndarray, shape (h, b)
            Brightness of its rows in column blocks, and where it is not clipped.
        """
        if self._is_needless:
            return
        self._height = levels.shape[0]
        size = int(np.clip(self._height // N_BINS, 1, MAX_BIN_ROWS))
        n = self._height // size
        shape = (n, size, levels.shape[1])
        self._indices.append(index)
        binned = levels[: n * size].reshape(shape)
        self._levels.append(np.asarray(binned.mean(axis=1), dtype=np.float32))
        clean = is_clean[: n * size].reshape(shape).all(axis=1)
        self._clean.append(np.asarray(clean, dtype=np.float32))
        if len(self._indices) >= N_TOGETHER:
            self.finish()

    def finish(self) -> None:
        """Fit the frames taken since the last time."""
        indices, levels, clean = self._indices, self._levels, self._clean
        self._indices, self._levels, self._clean = [], [], []
        if len(indices) < MIN_TOGETHER or self._is_needless:
            return
        cells, used = np.stack(levels), np.stack(clean)
        n = cells.shape[1]
        size = self._height // n
        rows = 0.5 * (size - 1) + size * np.arange(n, dtype=np.float64)
        stairs, light, info = self._separate(cells, used, rows)
        if self._picture is None or self.shape is None:
            return
        for parts in zip(indices, cells, used, stairs, light, strict=True):
            frame = CrowdedFrame(*parts)
            self.n_tried += frame.stairs.x.size
            self.edges += crowded_edges(frame, self._picture, rows, self.shape)
        if self.half_std_px is None:
            profiles = _profiles(stairs, light, info, rows)
            self.half_std_px = half_light_std_px(profiles, self.shape)
        # A picture that moves, or light that is not of equal pulses.
        self._is_needless = not self.is_believed

    def _separate(
        self, levels: Singles, clean: Singles, rows: Floats
    ) -> tuple[list[OverlappingPulses], Floats, Floats]:
        """Fit picture and steps in turn; return steps, light and its inverse variance."""
        is_first = self._picture is None or self.shape is None
        if self._picture is None or self.shape is None:
            light = first_light(levels, clean).astype(np.float64)
            info = np.ones_like(light)
            every = max(1, len(light) // N_LEARNT)
            self.shape, unit = first_unit(light[::every], rows, self._height)
            light /= unit
        else:
            light, info = row_light(self._picture, levels, clean)
        stairs: list[OverlappingPulses] = []
        misfit = np.inf
        for k in range(MAX_ROUNDS if is_first else N_LATER_ROUNDS):
            if k in (ANEW if is_first else ANEW_LATER):
                stairs, _ = find_stairs(light, info, rows, self.shape)
            stairs = [
                improve_stairs(one, y, w, rows, self.shape)
                for one, y, w in zip(stairs, light, info, strict=True)
            ]
            if is_first and k > 0:
                profiles = _profiles(stairs, light, info, rows)
                self.shape = pool_shape(profiles, self.shape) if profiles else self.shape
            model = np.stack([stairs_light(one, rows, self.shape) for one in stairs])
            model += np.median(light - model, axis=1, keepdims=True)
            apart = light - model
            trust = cauchy_weights(apart / max(TRUST_SIGMAS * mad_std(apart), 1e-6))
            sums = CellSums.of(levels, clean, model, trust)
            self._picture = fit_picture(sums if self._before is None else sums + self._before)
            light, info = row_light(self._picture, levels, clean)
            before, misfit = misfit, float(np.sqrt(np.mean((light - model) ** 2)))
            if k > max(ANEW) and misfit > (1.0 - SETTLED_SHARE) * before:
                break
        self._before = (sums if self._before is None else sums + self._before).faded(KEPT_SHARE)
        return stairs, light, info


def _profiles(
    stairs: Sequence[OverlappingPulses], light: Floats, info: Floats, rows: Floats
) -> list[BandProfile]:
    """Return what the shape is pooled from: frames with some steps."""
    every = max(1, len(stairs) // N_LEARNT)
    return [
        BandProfile(rows, y, w, one.x, one.signs)
        for one, y, w in list(zip(stairs, light, info, strict=True))[::every]
        if one.x.size and w.sum() > 0.0
    ]
