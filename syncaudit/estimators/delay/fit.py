"""Refine a delay (and drift) to a fraction of a sample, with a realistic standard error.

The increments of the source are modelled as ``y_k = R (Theta(b_k + tau_k) - Theta(a_k + tau_k)) +
slow terms + noise`` with ``tau_k = offset + drift * (t_k - anchor)``, a free mixing matrix R and
Theta the running integral of the target. Gauss-Newton on (offset, drift) with the linear part
projected out (variable projection; Golub & Pereyra, "The differentiation of pseudo-inverses and
nonlinear least squares problems whose variables separate", SIAM J. Numer. Anal. 10, 1973,
doi:10.1137/0710036) and Cauchy weights. Such steps alone converge linearly, and oscillate forever
about some optima, so each is mixed with the one before (Anderson, "Iterative procedures for
nonlinear integral equations", J. ACM 12, 1965, doi:10.1145/321296.321305). The fit fails where the
start lies further than half a lobe from the optimum.

A rolling shutter whose line delay is stated is corrected row by row. Where it is not stated, it is
fitted too (it shows in the skew of the image), and the offset refers to the mean row of the tracked
points, since the manifest does not state which row the timestamps refer to.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from syncaudit.dsp.integral import RunningIntegral
from syncaudit.dsp.robust import cauchy_weights, median
from syncaudit.estimators.delay.increments import Increments
from syncaudit.estimators.delay.model import DelayModel, Linearised, covariance_of, with_slope
from syncaudit.model.arrays import Floats

# Weights and delay normally converge within a dozen. Where residuals follow the motion they take
# longer; the distance left after the last iteration is included in the error.
MAX_ITERATIONS = 60
# Steps below this, or below this share of the standard error, change nothing.
CONVERGED_S = 1e-7
CONVERGED_STD = 0.05
# The first step has no robust weights and the second is the first with them, so the two cannot be
# mixed.
N_UNMIXED = 2
# Determinant, at unit diagonal, of columns too nearly dependent to be separated.
MIN_DETERMINANT = 1e-14
# Mixing lengthens or reverses a step by at most this multiple of the one before.
MAX_MIXED = 3.0
# A fit that moves further from its start has found another lobe.
MAX_AWAY_S = 0.5
# Smallest share of its residual's variance that a value followed by the fit may keep.
MIN_FREE = 0.2

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


@dataclass(frozen=True, kw_only=True, eq=False)  # no slots: rarely used properties are cached
class DelayFit:
    """Result of `fit_delay`."""

    # Delay at `anchor_s` and its random standard error.
    offset_s: float
    offset_std_s: float
    # Change of the delay, where it was fitted.
    drift_ppm: float | None
    drift_std_ppm: float | None
    # Time between rows, where it was not stated and therefore fitted.
    line_delay_s: float | None
    line_delay_std_s: float | None
    # Part of the offset due to rows: if the line delay is not stated, the offset refers to the
    # points' mean row, which is this much later than the middle row.
    row_shift_s: float
    blur: float  # how much wider the source's filter is than the target's (see `Increments.bent`)
    anchor_s: float  # instant on the source's clock at which offset and drift are uncorrelated
    correlation_factor: float  # variance of the delay over that of independent residuals (>= 1)
    # Share of the nominal information on the delay that the score shows (see
    # `DelayModel.followed_share`).
    followed: float
    n_rows: int  # increments used
    span_s: float  # time from the first to the last
    mid_s: Floats  # shape (n,): times
    robust: Floats  # shape (n, m): robust weights of the residuals
    model: DelayModel  # the fitted model
    linear: Linearised  # the model at the delay, used by further tests and fits

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


def fit_delay(
    increments: Increments,
    driver: RunningIntegral,
    *,
    start_s: float,
    with_drift: bool = False,
    known: DelayFit | None = None,
) -> DelayFit | None:
    """Fit the delay near `start_s`.

    None where fewer than 20 increments overlap, nothing varies, or the fit runs away.

    Parameters
    ----------
    increments : Increments
        Of the source, n rows.
    driver : RunningIntegral
        Of the target.
    start_s : float
        Delay found by the search.
    with_drift : bool
        Whether to fit drift as well.
    known : DelayFit, optional
        Of the same increments without drift: its weights and line delay are starting values too.
    """
    margin_s = 0.05
    covered = driver.covers(
        increments.start_s + start_s - margin_s, increments.stop_s + start_s + margin_s
    )
    if int(covered.sum()) < 20:
        return None
    rows = increments if covered.all() else increments.rows(covered)
    unknowns = Unknowns.of(rows, start_s, with_drift=with_drift)
    if known is None or not np.array_equal(known.mid_s, rows.mid_s):
        settled = _settled(unknowns, DelayModel.of(rows, driver), np.ones_like(rows.values))
    else:
        unknowns.follow(known.linear)
        unknowns.values[-1] = known.blur
        if known.line_delay_s is not None:
            unknowns.values[-2] = known.line_delay_s
        settled = _settled(unknowns, known.model, known.robust, known.linear)
    return None if settled is None else _found(unknowns, settled)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Settled:
    """The converged model, its robust weights, and the step that remains."""

    model: DelayModel
    linear: Linearised
    columns: Floats
    robust: Floats
    left_s: float


def _settled(
    unknowns: Unknowns, model: DelayModel, robust: Floats, before: Linearised | None = None
) -> _Settled | None:
    """Iterate until convergence; `before` is the model to which the weights `robust` belong."""
    start_s = unknowns.offset_s
    n_unmixed = N_UNMIXED if before is None else 1
    last: tuple[Floats, Floats] | None = None
    settled: _Settled | None = None
    for iteration in range(MAX_ITERATIONS):
        linear = model.at(unknowns.delays_s, robust, unknowns.disturbed, before)
        if linear is None:
            return None
        before = linear
        unknowns.follow(linear)
        columns = unknowns.columns(linear)
        normal, gradient = unknowns.equations(columns, linear)
        if not normal[0, 0] > 0.0 or (
            normal.size > 1
            and not np.linalg.det(normal) > MIN_DETERMINANT * normal.diagonal().prod()
        ):
            return None
        full: Floats = np.asarray(np.linalg.solve(normal, gradient), dtype=np.float64)
        step: Floats = (
            full if last is None or iteration < n_unmixed else _mixed(full, *last, normal)
        )
        step = np.asarray(np.clip(step, -unknowns.largest, unknowns.largest))
        unknowns.values += step
        if abs(unknowns.offset_s - start_s) > MAX_AWAY_S:
            return None
        # Weights from the residuals after the step: those before it would lag behind.
        robust = cauchy_weights((linear.residuals - columns @ step) / linear.scale)
        last = full, step
        left_s = abs(float(full[0]))
        settled = _Settled(
            model=model, linear=linear, columns=columns, robust=robust, left_s=left_s
        )
        if iteration > n_unmixed and (
            max(abs(full[0]), abs(step[0])) < CONVERGED_S
            or max(full @ normal @ full, step @ normal @ step) < CONVERGED_STD**2
        ):
            return replace(settled, left_s=0.0)
    return settled


def _found(unknowns: Unknowns, settled: _Settled) -> DelayFit:
    """Return the delay with its standard error."""
    model, linear, columns = settled.model, settled.linear, settled.columns
    robust, shutter, since_s = settled.robust, unknowns.rows.shutter, unknowns.since_s
    with_drift, is_line_free = unknowns.with_drift, unknowns.is_line_free
    terms = np.stack([np.ones_like(since_s), *[since_s] * with_drift])
    share = model.followed_share(linear, unknowns.delays_s, robust, unknowns.disturbed, terms)
    found_s, anchor_s = unknowns.offset_s, unknowns.anchor_s
    row_shift_s = 0.0
    if is_line_free and shutter is not None:
        # Without a stated line delay, the offset refers to the points' mean row (see module).
        columns[..., -2] -= shutter.mean_row_px * columns[..., 0]
        row_shift_s = shutter.mean_row_px * unknowns.line_delay_s
        found_s += row_shift_s
    normal, _ = unknowns.equations(columns, linear)
    normal = with_slope(normal, share)
    # Move the anchor to where offset and drift are uncorrelated, whether drift is fitted or not.
    if not with_drift:
        information = linear.weights * columns[..., 0] ** 2
        anchor_s += float(np.average(since_s, weights=information.sum(axis=1)))
    else:
        inverse = np.linalg.inv(normal)
        shift_s = float(-inverse[0, 1] / inverse[1, 1])
        anchor_s += shift_s
        found_s += unknowns.drift * shift_s
        turned = np.eye(unknowns.values.size)
        turned[0, 1] = -shift_s
        columns = columns @ turned
        normal = turned.T @ normal @ turned
    covariance, correlation_factor = _covariance(columns, normal, linear, robust)
    std = np.sqrt(np.diag(covariance))
    return DelayFit(
        offset_s=found_s,
        offset_std_s=math.hypot(float(std[0]), settled.left_s / float(share[0, 0])),
        drift_ppm=unknowns.drift * 1e6 if with_drift else None,
        drift_std_ppm=float(std[1]) * 1e6 if with_drift else None,
        line_delay_s=unknowns.line_delay_s if is_line_free else None,
        line_delay_std_s=float(std[-2]) if is_line_free else None,
        row_shift_s=row_shift_s,
        blur=unknowns.blur,
        anchor_s=anchor_s,
        correlation_factor=correlation_factor,
        followed=float(share[0, 0]),
        n_rows=since_s.size,
        span_s=float(np.ptp(unknowns.rows.mid_s)),
        mid_s=unknowns.rows.mid_s,
        robust=robust,
        model=model,
        linear=linear,
    )


def _covariance(
    columns: Floats, normal: Floats, linear: Linearised, robust: Floats
) -> tuple[Floats, float]:
    """Return the covariance of all unknowns, shape (p, p), and how correlated residuals are.

    Uses the curvature of the Cauchy loss, not its weights: psi' = 2 w^2 - w (the sandwich of an
    M-estimator; Huber, "Robust statistics", 1981). The weights alone give errors a fifth too small.

    A fit reduces a residual's variance, not its square root, by the leverage (HC2; MacKinnon &
    White, "Some heteroskedasticity-consistent covariance matrix estimators", J. Econometrics 29,
    1985, doi:10.1016/0304-4076(85)90158-7). Leave-one-out residuals would give errors 8 to 18 % too
    large for a camera with 50 to 170 pairs, on top of Student's t.
    """
    curvature = 2.0 * (robust**2).sum(axis=0) / robust.sum(axis=0) - 1.0
    normal = normal * min(max(float(curvature.mean()), 0.3), 1.0)
    leverage = linear.leverage() + np.einsum(
        "nmp,pq,nmq,nm->nm", columns, np.linalg.inv(normal), columns, linear.weights
    )
    root = np.sqrt(linear.weights)
    return covariance_of(
        root * linear.residuals / np.sqrt(np.maximum(1.0 - leverage, MIN_FREE)),
        root[..., None] * columns,
        normal,
    )


def _mixed(full: Floats, last_full: Floats, last_step: Floats, normal: Floats) -> Floats:
    """Return the step to where, by this step and the last, no further step is needed.

    Parameters
    ----------
    full, last_full : ndarray, shape (p,)
        Full Gauss-Newton steps, here and before.
    last_step : ndarray, shape (p,)
        Step that was actually taken before.
    normal : ndarray, shape (p, p)
        Metric of the distances.
    """
    turned = full - last_full
    size = float(turned @ normal @ turned)
    if size <= 0.0:
        return full
    share = min(max(float(turned @ normal @ full) / size, -MAX_MIXED), MAX_MIXED)
    return full - share * (last_step + turned)


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
