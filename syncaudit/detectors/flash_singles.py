"""Time bands of light one by one, by a shape that is learnt from the first of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from syncaudit.detectors.flash_background import LitFrame
from syncaudit.detectors.flash_coarse import first_shape
from syncaudit.detectors.flash_edges import BandEdge, fit_edges
from syncaudit.detectors.flash_pool import BandProfile, half_light_std_px, is_halved, pool_shape
from syncaudit.detectors.flash_shape import PulseShape

__all__ = ["SingleBands"]

N_ROUNDS = 6
N_PER_ROUND = 16
# The shape is found when ramp and tail change by less than this share of its half-light row.
SETTLED_SHARE = 0.02


@dataclass(slots=True)
class SingleBands:
    """Fit the edges of bands that have unlit rows between them.

    Attributes
    ----------
    edges : list of BandEdge
        Found so far.
    n_tried : int
        Edges that were tried.
    shape : PulseShape, optional
        Of the pulse, once it is learnt.
    half_std_px : float, optional
        Error of its half-light row.
    """

    edges: list[BandEdge] = field(default_factory=list)
    n_tried: int = 0
    shape: PulseShape | None = None
    half_std_px: float | None = None
    _length: int = 0

    def add(self, lits: Sequence[LitFrame]) -> None:
        """Fit the edges of some lit frames; the first time, learn the shape of the pulse."""
        if lits and self.shape is None:
            self._learn(lits)
        if lits and self.shape is not None:
            edges, n_tried = fit_edges(lits, self.shape, self._length)
            self.edges += edges
            self.n_tried += n_tried

    def _learn(self, lits: Sequence[LitFrame]) -> None:
        some = lits[:: max(1, len(lits) // N_PER_ROUND)]
        shape, self._length = first_shape(some[::2])
        profiles = self._settle(some, shape)
        if self.shape is not None and is_halved(profiles, self.shape):
            shape = PulseShape(2.0 * self.shape.ramp_px, 2.0 * self.shape.tail_px)
            self._length = max(self._length, round(shape.half_px))
            profiles = self._settle(some, shape)
        if self.shape is not None:
            self.half_std_px = half_light_std_px(profiles, self.shape)

    def _settle(self, lits: Sequence[LitFrame], shape: PulseShape) -> list[BandProfile]:
        """Fit edges and shape in turn; return the light that the shape was pooled from."""
        profiles: list[BandProfile] = []
        for _ in range(N_ROUNDS):
            edges, _ = fit_edges(lits, shape, self._length, is_rough=True)
            if not edges:
                return profiles
            profiles = list({id(edge.fit.profile): edge.fit.profile for edge in edges}.values())
            before, shape = shape, pool_shape(profiles, shape)
            change = abs(shape.ramp_px - before.ramp_px) + abs(shape.tail_px - before.tail_px)
            if change < SETTLED_SHARE * shape.half_px:
                break
        self.shape = shape
        return profiles
