"""Unknowns of a delay fit besides the mixing matrix, with their priors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from syncaudit.dsp.robust import median
from syncaudit.estimators.delay.increments import Increments
from syncaudit.estimators.delay.model import Linearised
from syncaudit.model.arrays import Floats

MAX_STEP_S = 0.02
MAX_DRIFT_STEP = 2e-3
MAX_LINE_STEP_S = 3e-5
# Readouts of 5 to 30 ms over 480 to 1080 rows.
USUAL_LINE_DELAY_S = 2e-5
USUAL_LINE_DELAY_STD_S = 3e-5
# One side's filter may be wider than the other's by about an increment. Blur is the added variance
# over twice the square of the increments' distance.
USUAL_BLUR_STD = 0.5
# A frame is exposed for up to 30 ms, and a gyroscope's filter passes at least 20 Hz: the width of
# either filter does not depend on the frame period.
CAMERA_FILTER_STD_S = 0.02


@dataclass(slots=True, kw_only=True, eq=False)
class Unknowns:
    """Offset, drift (if requested), line delay (of a shutter where not stated) and blur."""

    rows: Increments  # of the source, n rows of m columns
    anchor_s: float  # instant at which the offset holds
    since_s: Floats  # shape (n,): time of each increment after the anchor
    with_drift: bool  # whether drift is solved for
    values: Floats  # shape (p,): values of the unknowns, in the above order
    # shape (p,): means and standard deviations of their priors (inf: nothing is known)
    usual: Floats
    usual_std: Floats
    largest: Floats  # shape (p,): largest steps
    # shape (n, m): derivatives of the increments with respect to line delay and blur
    rolled: Floats
    bent: Floats

    @classmethod
    def of(cls, rows: Increments, start_s: float, *, with_drift: bool) -> Unknowns:
        """Return the unknowns at a delay, with nothing else known."""
        shutter = rows.shutter
        blur_std = USUAL_BLUR_STD
        if shutter is not None:
            blur_std = min(blur_std, 0.5 * (CAMERA_FILTER_STD_S / median(rows.width_s)) ** 2)
        is_line_free = shutter is not None and shutter.line_delay_s is None
        line, drift = slice(None, int(is_line_free)), slice(None, int(with_drift))
        anchor_s = float(rows.mid_s.mean())
        return cls(
            rows=rows,
            anchor_s=anchor_s,
            since_s=rows.mid_s - anchor_s,
            with_drift=with_drift,
            values=np.array([start_s, *[0.0][drift], *[0.0][line], 0.0]),
            usual=np.array([0.0, *[0.0][drift], *[USUAL_LINE_DELAY_S][line], 0.0]),
            usual_std=np.array(
                [np.inf, *[np.inf][drift], *[USUAL_LINE_DELAY_STD_S][line], blur_std]
            ),
            largest=np.array(
                [MAX_STEP_S, *[MAX_DRIFT_STEP][drift], *[MAX_LINE_STEP_S][line], blur_std]
            ),
            rolled=np.zeros_like(rows.values),
            bent=np.zeros_like(rows.values),
        )

    @property
    def is_line_free(self) -> bool:
        """Return whether the line delay is solved for."""
        return self.values.size - self.with_drift == 3

    @property
    def offset_s(self) -> float:
        """Return the delay at the anchor."""
        return float(self.values[0])

    @property
    def drift(self) -> float:
        """Return the change of the delay per second."""
        return float(self.values[1]) if self.with_drift else 0.0

    @property
    def line_delay_s(self) -> float:
        """Return the line delay, solved for or stated; zero for sources without rows."""
        if self.is_line_free:
            return float(self.values[-2])
        return 0.0 if self.rows.shutter is None else (self.rows.shutter.line_delay_s or 0.0)

    @property
    def blur(self) -> float:
        """Return how much wider the source's filter is (see `Increments.bent`)."""
        return float(self.values[-1])

    @property
    def delays_s(self) -> Floats:
        """Return the delay of each increment, shape (n,)."""
        return self.offset_s + self.drift * self.since_s

    @property
    def disturbed(self) -> Floats:
        """Return the effect of line delay and blur on the increments, shape (n, m)."""
        return self.rolled * self.line_delay_s + self.bent * self.blur

    def follow(self, linear: Linearised) -> None:
        """Update the derivatives from the model at the delays."""
        shutter = self.rows.shutter
        if shutter is not None:
            self.rolled = shutter.change_per_line_delay(linear.bend, linear.rate, linear.mixing)
        self.bent = self.rows.bent(linear.fitted)

    def columns(self, linear: Linearised) -> Floats:
        """Return the derivatives, with the linear parts projected out, shape (n, m, p)."""
        columns = np.empty((*self.rows.values.shape, self.values.size))
        columns[..., 0] = linear.sensitivity
        if self.with_drift:
            columns[..., 1] = linear.project(linear.raw_sensitivity * self.since_s[:, None])
        if self.is_line_free:
            columns[..., -2] = linear.project(self.rolled)
        columns[..., -1] = linear.project(self.bent)
        return columns

    def equations(self, columns: Floats, linear: Linearised) -> tuple[Floats, Floats]:
        """Return the normal matrix, shape (p, p), and gradient, shape (p,), with the priors.

        Points in one row cannot separate a line delay from an offset: there the prior decides.
        """
        weighted = columns * linear.weights[..., None]
        flat = columns.reshape(-1, columns.shape[2])
        normal = weighted.reshape(flat.shape).T @ flat
        gradient = (weighted * linear.residuals[..., None]).sum(axis=(0, 1))
        normal[np.diag_indices_from(normal)] += self.usual_std**-2
        gradient += (self.usual - self.values) * self.usual_std**-2
        return normal, gradient
