"""Hold the result of a delay fit."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from syncaudit.estimators.delay.model import DelayModel, Linearised
from syncaudit.model.arrays import Floats

__all__ = ["DelayFit"]


@dataclass(frozen=True, kw_only=True, eq=False)  # no slots: rarely used properties are cached
class DelayFit:
    """Result of `fit.fit_delay`.

    Parameters
    ----------
    offset_s, offset_std_s : float
        Delay at `anchor_s` and its random standard error.
    drift_ppm, drift_std_ppm : float, optional
        Change of the delay, where it was fitted.
    line_delay_s, line_delay_std_s : float, optional
        Time between rows, where it was not stated and therefore fitted.
    row_shift_s : float
        Part of the offset due to rows: if the line delay is not stated, the offset refers to the
        points' mean row, which is this much later than the middle row.
    blur : float
        How much wider the source's filter is than the target's (see `Increments.bent`).
    anchor_s : float
        Instant on the source's clock at which offset and drift are uncorrelated.
    correlation_factor : float
        Variance of the delay over that of independent residuals (>= 1).
    followed : float
        Share of the nominal information on the delay that the score shows (see `slope`).
    n_rows : int
        Increments used.
    span_s : float
        Time from the first to the last.
    mid_s : ndarray, shape (n,)
        Times.
    robust : ndarray, shape (n, m)
        Robust weights of the residuals.
    model : DelayModel
        The fitted model.
    linear : Linearised
        The model at the delay, used by further tests and fits.
    """

    offset_s: float
    offset_std_s: float
    drift_ppm: float | None
    drift_std_ppm: float | None
    line_delay_s: float | None
    line_delay_std_s: float | None
    row_shift_s: float
    blur: float
    anchor_s: float
    correlation_factor: float
    followed: float
    n_rows: int
    span_s: float
    mid_s: Floats
    robust: Floats
    model: DelayModel
    linear: Linearised

    @cached_property
    def _strength(self) -> tuple[float, float]:
        return self.model.strength(self.linear)

    @property
    def gain(self) -> float:
        """Size of the fitted signal over that of the driver (see `DelayModel.strength`)."""
        return self._strength[0]

    @property
    def explained(self) -> float:
        """Share of the (robustly weighted) variance that the driver explains."""
        return self._strength[1]

    @property
    def information_kept(self) -> float:
        """Share of the information on the delay that the robust weights leave."""
        information = self.weights * self.sensitivity**2
        return float(information.sum() / np.sum(information / self.robust))

    @property
    def residuals(self) -> Floats:
        """Residuals, shape (n, m)."""
        return self.linear.residuals

    @property
    def sensitivity(self) -> Floats:
        """Derivative with respect to the delay, shape (n, m)."""
        return self.linear.sensitivity

    @property
    def weights(self) -> Floats:
        """Weights in units of inverse variance, shape (n, m)."""
        return self.linear.weights
