"""What a fit of a delay solves for beside the mixing matrix, and what is known of it beforehand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from syncaudit.dsp.robust import median
from syncaudit.estimators.delay.increments import Increments
from syncaudit.estimators.delay.model import Linearised
from syncaudit.model.arrays import Floats

__all__ = ["Unknowns"]

MAX_STEP_S = 0.02
MAX_DRIFT_STEP = 2e-3
MAX_LINE_STEP_S = 3e-5
# Read-outs of 5 to 30 ms over 480 to 1080 rows.
USUAL_LINE_DELAY_S = 2e-5
USUAL_LINE_DELAY_STD_S = 3e-5
# One side's filter may be wider than the other's by about an increment: the variance that it
# adds, over twice the square of the increments' distance.
USUAL_BLUR_STD = 0.5
# A frame is exposed for up to 30 ms, and a gyroscope's filter passes 20 Hz and more: what either
# does to a camera's motion is as wide, whatever the distance of its frames.
CAMERA_FILTER_STD_S = 0.02


@dataclass(slots=True, kw_only=True, eq=False)
class Unknowns:
    """Offset, drift (if asked for), line delay (of a shutter that does not state it) and blur.

    Parameters
    ----------
    rows : Increments
        Of the source, n rows of m columns.
    anchor_s : float
        Where the offset holds.
    since_s : ndarray, shape (n,)
        Time of each increment after it.
    with_drift : bool
        Whether drift is solved for.
    values : ndarray, shape (p,)
        In this order.
    usual, usual_std : ndarray, shape (p,)
        What they are as a rule, and how far from that (inf: nothing is known).
    largest : ndarray, shape (p,)
        Largest steps.
    rolled, bent : ndarray, shape (n, m)
        Derivatives of the increments by line delay and by blur.
    """

    rows: Increments
    anchor_s: float
    since_s: Floats
    with_drift: bool
    values: Floats
    usual: Floats
    usual_std: Floats
    largest: Floats
    rolled: Floats
    bent: Floats

    @classmethod
    def of(cls, rows: Increments, start_s: float, *, with_drift: bool) -> Unknowns:
        """Return them at a delay, with nothing else known."""
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
        """Return the time between rows, solved for or stated; zero of what has no rows."""
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
        delays: Floats = self.offset_s + self.drift * self.since_s
        return delays

    @property
    def disturbed(self) -> Floats:
        """Return what line delay and blur make of the increments, shape (n, m)."""
        disturbed: Floats = self.rolled * self.line_delay_s + self.bent * self.blur
        return disturbed

    def follow(self, linear: Linearised) -> None:
        """Take the derivatives from the model at the delays."""
        shutter = self.rows.shutter
        if shutter is not None:
            self.rolled = shutter.change_per_line_delay(linear.bend, linear.rate, linear.mixing)
        self.bent = self.rows.bent(linear.fitted)

    def columns(self, linear: Linearised) -> Floats:
        """Return the derivatives by all of them with the linear parts projected out, (n, m, p)."""
        columns = np.empty((*self.rows.values.shape, self.values.size))
        columns[..., 0] = linear.sensitivity
        if self.with_drift:
            columns[..., 1] = linear.project(linear.raw_sensitivity * self.since_s[:, None])
        if self.is_line_free:
            columns[..., -2] = linear.project(self.rolled)
        columns[..., -1] = linear.project(self.bent)
        return columns

    def equations(self, columns: Floats, linear: Linearised) -> tuple[Floats, Floats]:
        """Return normal matrix, shape (p, p), and gradient, shape (p,), with what is usual.

        Points in one row cannot tell a line delay from an offset: they lean on that.
        """
        weighted = columns * linear.weights[..., None]
        flat = columns.reshape(-1, columns.shape[2])
        normal = weighted.reshape(flat.shape).T @ flat
        gradient = (weighted * linear.residuals[..., None]).sum(axis=(0, 1))
        normal[np.diag_indices_from(normal)] += self.usual_std**-2
        gradient += (self.usual - self.values) * self.usual_std**-2
        return normal, gradient
