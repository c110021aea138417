"""The course of a pulse's light, as the rows of a rolling shutter draw it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize

__all__ = ["EdgeProfile", "PulseShape", "half_light_std_px", "pool_shape"]

Floats = NDArray[np.float64]

# Shortest ramp: the encoder's block filters leave no edge sharper.
MIN_RAMP_PX = 1.0
# Groups of edges whose scatter gives the error of the half-light time.
N_GROUPS = 6


@dataclass(frozen=True)
class PulseShape:
    """A box of light that dies away exponentially, in rows.

    The box is the shape of LEDs and screens, a short box with a long tail that of xenon tubes.
    The light that has arrived x rows after the onset, as a share of all, is::

        F(x) = (G(x) - G(x - ramp)) / ramp,   G(u) = u - tail * (1 - exp(-u / tail)) for u > 0

    Parameters
    ----------
    ramp_px : float
        Length of the box.
    tail_px : float
        Decay constant of the tail.
    """

    ramp_px: float
    tail_px: float = 0.0

    @cached_property
    def half_px(self) -> float:
        """Rows from the onset to half of the light."""
        if self.tail_px <= 0.0:
            return 0.5 * self.ramp_px
        end = self.ramp_px + 2.0 * self.tail_px
        return float(brentq(lambda x: float(self._arrived(np.array(x))) - 0.5, 0.0, end))

    @property
    def reach_px(self) -> float:
        """Rows from the half-light row to where all but a twentieth has arrived."""
        return self.ramp_px - self.half_px + 3.0 * self.tail_px

    def cdf(self, x: Floats) -> Floats:
        """Return the share of light that has arrived x rows after the half-light row."""
        return self._arrived(x + self.half_px)

    def slope(self, x: Floats) -> Floats:
        """Return the derivative of `cdf`, smoothed over half a row."""
        arrived = self._arrived(np.stack((x + 0.25, x - 0.25)) + self.half_px)
        slope: Floats = 2.0 * (arrived[0] - arrived[1])
        return slope

    def _arrived(self, x: Floats) -> Floats:
        ramp, tail = max(self.ramp_px, MIN_RAMP_PX), self.tail_px
        if tail <= 0.0:
            return np.clip(x / ramp, 0.0, 1.0)
        u = np.maximum(np.stack((x, x - ramp)), 0.0)
        grown = u + tail * np.expm1(-u / tail)
        arrived: Floats = (grown[0] - grown[1]) / ramp
        return arrived


@dataclass(frozen=True, slots=True, eq=False)
class EdgeProfile:
    """One edge, averaged over the column blocks and scaled to its step.

    Parameters
    ----------
    offsets_px : ndarray, shape (n,)
        Rows below the edge.
    light : ndarray, shape (n,)
        Near 0 before and near 1 after a pulse's light has arrived.
    weights : ndarray, shape (n,)
        Inverse variances.
    """

    offsets_px: Floats
    light: Floats
    weights: Floats


def pool_shape(edges: Sequence[EdgeProfile], start: PulseShape) -> PulseShape:
    """Return the shape that all edges share.

    Weighted least squares over ramp and tail; each edge keeps a shift (linearised), a level and a
    step of its own.

    Parameters
    ----------
    edges : sequence of EdgeProfile
        At least one.
    start : PulseShape
        First guess.
    """
    return _fit(_padded(edges), start)


def half_light_std_px(edges: Sequence[EdgeProfile], shape: PulseShape) -> float | None:
    """Return the one-sigma error of the half-light row of a pooled shape.

    The scatter of disjoint groups of edges; None below four edges.
    """
    n_groups = min(N_GROUPS, len(edges) // 2)
    if n_groups < 2:
        return None
    table = _padded(edges)
    halves = [
        _fit(tuple(part[group::n_groups] for part in table), shape).half_px
        for group in range(n_groups)
    ]
    return float(np.std(halves, ddof=1) / np.sqrt(n_groups))


_Table = tuple[Floats, ...]


def _padded(edges: Sequence[EdgeProfile]) -> _Table:
    """Stack offsets, light and weights to shape (edges, longest); padding has weight 0."""
    longest = max(edge.light.size for edge in edges)

    def stacked(columns: list[Floats]) -> Floats:
        return np.stack([np.pad(column, (0, longest - column.size)) for column in columns])

    return (
        stacked([edge.offsets_px for edge in edges]),
        stacked([edge.light for edge in edges]),
        stacked([edge.weights / np.sum(edge.weights) for edge in edges]),
    )


def _fit(table: _Table, start: PulseShape) -> PulseShape:
    def shape_of(x: Floats) -> PulseShape:
        return PulseShape(max(float(np.exp(x[0])), MIN_RAMP_PX), abs(float(x[1])) * start.half_px)

    def loss(x: Floats) -> float:
        return _misfit(table, shape_of(x))

    tail = start.tail_px / start.half_px
    simplex = np.array([[0.0, tail], [0.3, tail], [-0.3, tail + 0.4]])
    simplex[:, 0] += np.log(start.ramp_px)
    found = minimize(
        loss,
        simplex[0],
        method="Nelder-Mead",
        options={"initial_simplex": simplex, "xatol": 1e-3, "fatol": 1e-12, "maxfev": 80},
    )
    return shape_of(found.x)


def _misfit(table: _Table, shape: PulseShape) -> float:
    offsets, light, weights = table
    columns = np.stack((np.ones_like(offsets), shape.cdf(offsets), shape.slope(offsets)), axis=-1)
    weighted = columns * weights[..., None]
    normal = np.einsum("eni,enj->eij", weighted, columns) + 1e-12 * np.eye(3)
    right = np.einsum("eni,en->ei", weighted, light)
    fitted = np.einsum("eni,ei->en", columns, np.linalg.solve(normal, right[..., None])[..., 0])
    return float(np.sum(weights * (light - fitted) ** 2))
