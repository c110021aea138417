"""Convert both sides of a pair to increments, which can be compared directly.

A camera gives its rotation between two frames; a gyro, an accelerometer or a CAN signal gives the
change of its running integral between any two instants. Increments over the same interval are
equal (up to mounting and scale) when the clocks agree, whatever the sample rates: nothing is
resampled, and a lost frame is just a longer increment.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from syncaudit.dsp.integral import RunningIntegral
from syncaudit.model import RotationIncrements
from syncaudit.model.arrays import Bools, Floats

# Neighbouring increments count as evenly spaced if they differ by less than this part.
EVEN_SHARE = 0.25


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RollingShutter:
    """Effect of the rows of tracked points on a camera's increments.

    To first order in the row times, points read out ``row * T`` after the middle row see the
    rotation at that instant: the increment changes by ``T (M R dw + V R w)`` with the row moments
    M, the moved rows V, the mounting R, the angular rate w and its change dw over the increment.
    """

    # shape (n, 3, 3): M and V of `RotationIncrements`
    moments_px: Floats
    moves_px: Floats
    line_delay_s: float | None  # t where stated; None: it is estimated along with the delay
    mean_row_px: float  # plain mean row of the points, to which the delay refers if T is not stated

    def rows(self, keep: Bools | NDArray[np.intp]) -> RollingShutter:
        """Return the shutter terms of the selected increments."""
        return replace(self, moments_px=self.moments_px[keep], moves_px=self.moves_px[keep])

    def change_per_line_delay(self, bend: Floats, rate: Floats, mixing: Floats) -> Floats:
        """Return the derivative of the increments with respect to T, shape (n, 3).

        Parameters
        ----------
        bend, rate : ndarray, shape (n, k)
            Change and mean of the driving rate over each increment.
        mixing : ndarray, shape (3, k)
            Fitted mounting and scale.
        """
        change: Floats = np.einsum("nij,nj->ni", self.moments_px, bend @ mixing.T)
        change += np.einsum("nij,nj->ni", self.moves_px, rate @ mixing.T)
        return change


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Increments:
    """Changes of a signal over intervals of its source's clock."""

    # shape (n,): interval of each increment
    start_s: Floats
    stop_s: Floats
    values: Floats  # shape (n, m): increments
    weights: Floats  # shape (n, m): relative weights (inverse variance up to a factor per column)
    shutter: RollingShutter | None = None  # row times of a camera's increments
    # Sample period of the signal they were integrated from; zero: angles at single instants.
    period_s: float = 0.0
    # Whether errors are as large at rest as in motion (see `noise_of_motion`).
    is_noise_even: bool = False

    @property
    def mid_s(self) -> Floats:
        """Middle of each increment, shape (n,)."""
        return 0.5 * (self.start_s + self.stop_s)

    @property
    def width_s(self) -> Floats:
        """Length of each increment, shape (n,)."""
        return self.stop_s - self.start_s

    def bent(self, changes: Floats) -> Floats:
        """Return the second differences of values of these increments, shape (n, m).

        To first order, that is the effect of a wider filter on a signal: a variance of v adds
        ``v / 2`` times the second derivative. Zero where the neighbours are unevenly spaced.
        """
        bent = np.zeros_like(changes)
        if changes.shape[0] > 2:
            apart, width = np.diff(self.mid_s), self.width_s
            is_even = np.abs(np.diff(apart)) < EVEN_SHARE * apart[1:]
            is_even &= np.abs(width[2:] - width[1:-1]) < EVEN_SHARE * width[1:-1]
            is_even &= np.abs(width[:-2] - width[1:-1]) < EVEN_SHARE * width[1:-1]
            bent[1:-1] = np.diff(changes, 2, axis=0) * is_even[:, None]
        return bent

    def turned(self, axes: Floats) -> Increments:
        """Return the increments about other axes: the columns of `axes`, orthogonal, (m, m)."""
        shutter = self.shutter
        if shutter is not None:
            shutter = replace(
                shutter,
                moments_px=axes.T @ shutter.moments_px @ axes,
                moves_px=axes.T @ shutter.moves_px @ axes,
            )
        return replace(
            self,
            values=self.values @ axes,
            weights=1.0 / ((1.0 / np.maximum(self.weights, 1e-12)) @ axes**2),
            shutter=shutter,
        )

    def rows(self, keep: Bools | NDArray[np.intp]) -> Increments:
        """Return the increments selected by `keep`."""
        return replace(
            self,
            start_s=self.start_s[keep],
            stop_s=self.stop_s[keep],
            values=self.values[keep],
            weights=self.weights[keep],
            shutter=None if self.shutter is None else self.shutter.rows(keep),
        )


def from_integral(
    signal: RunningIntegral, *, width_s: float, stride_s: float | None = None
) -> Increments:
    """Cut a running integral into increments of equal width, those that touch no gap.

    Parameters
    ----------
    signal : RunningIntegral
        Signal of m channels.
    width_s : float
        Width of one increment; several sample periods, so that interpolation noise does not
        depend on the sub-sample phase.
    stride_s : float, optional
        Distance of neighbouring increments; by default they adjoin. Overlapping increments even out
        the steps of coarsely quantised signals, but their errors are correlated.
    """
    stride_s = width_s if stride_s is None else stride_s
    n = max(0, math.floor((signal.stop_s - signal.start_s - width_s) / stride_s) + 1)
    begin: Floats = signal.start_s + stride_s * np.arange(n, dtype=np.float64)
    end: Floats = np.minimum(begin + width_s, signal.stop_s)
    values: Floats = signal.at(end) - signal.at(begin)
    increments = Increments(
        start_s=begin,
        stop_s=end,
        values=values,
        weights=np.ones_like(values),
        period_s=signal.period_s,
    )
    return increments.rows(signal.covers(begin, end))


def from_rotation(rotation: RotationIncrements) -> Increments:
    """Weight a camera's rotation increments by their stated errors.

    Errors far below the typical one are an accident of few points: the weights are limited to four
    times the median weight of the axis.
    """
    variance = rotation.std_rad**2
    typical = np.median(variance, axis=0, keepdims=True)
    weights = np.minimum(1.0 / np.maximum(variance, 1e-16), 4.0 / np.maximum(typical, 1e-16))
    return Increments(
        start_s=rotation.start_s,
        stop_s=rotation.stop_s,
        values=rotation.angles_rad,
        weights=weights * np.maximum(typical, 1e-16),
        shutter=RollingShutter(
            moments_px=rotation.row_moments_px,
            moves_px=rotation.row_moves_px,
            line_delay_s=rotation.line_delay_s,
            mean_row_px=rotation.mean_row_px,
        ),
    )
