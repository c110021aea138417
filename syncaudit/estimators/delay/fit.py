"""Refine a delay (and drift) to a fraction of a sample, with an honest standard error.

The increments of the source are modelled as ``y_k = R (Theta(b_k + tau_k) - Theta(a_k + tau_k)) +
slow terms + noise`` with ``tau_k = offset + drift * (t_k - anchor)``, a free mixing matrix R and
Theta the running integral of the target. Gauss-Newton on (offset, drift) with the linear part
projected out (variable projection; Golub & Pereyra, "The differentiation of pseudo-inverses and
nonlinear least squares problems whose variables separate", SIAM J. Numer. Anal. 10, 1973,
doi:10.1137/0710036) and Cauchy weights. Such steps alone come near by a constant factor each, and
swing for ever about some optima: each is mixed with the one before (Anderson, "Iterative
procedures for nonlinear integral equations", J. ACM 12, 1965, doi:10.1145/321296.321305). Fails
where the start lies further than half a lobe from the optimum.

A rolling shutter whose line delay is stated is corrected row by row. Where it is not stated, it
is fitted too (it shows in the skew of the image), and the offset is given for the mean row of
the tracked points: that is what the stamps mean as far as the manifest tells.
"""

from __future__ import annotations

import math

import numpy as np

from syncaudit.dsp.integral import RunningIntegral
from syncaudit.dsp.robust import cauchy_weights, median
from syncaudit.estimators.delay.errors import covariance_of
from syncaudit.estimators.delay.found import DelayFit
from syncaudit.estimators.delay.increments import Increments
from syncaudit.estimators.delay.model import DelayModel, Linearised
from syncaudit.estimators.delay.slope import followed_share, with_slope
from syncaudit.model.arrays import Floats

__all__ = ["DelayFit", "fit_delay"]

# Weights and delay settle within a dozen where all is well. Where residuals follow the motion they
# take longer; what then is left to go is in the error.
MAX_ITERATIONS = 60
# Steps below this, or below this share of the standard error, change nothing.
CONVERGED_S = 1e-7
CONVERGED_STD = 0.05
# The first step is without weights and the second the first with them: no two of a kind to mix.
N_UNMIXED = 2
# Determinant, at unit diagonal, of columns too nearly dependent to be told apart.
MIN_DETERMINANT = 1e-14
# A step is lengthened or turned back by up to so much of the one before.
MAX_MIXED = 3.0
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
# What a value that the fit follows is left of its residual's variance, at the least.
MIN_FREE = 0.2


def fit_delay(
    increments: Increments,
    driver: RunningIntegral,
    *,
    start_s: float,
    with_drift: bool = False,
    known: DelayFit | None = None,
) -> DelayFit | None:
    """Fit the delay near `start_s`.

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
        Of the same increments without drift: its weights and line delay are a start too.

    Returns
    -------
    DelayFit or None
        None where fewer than 20 increments overlap, nothing varies, or the fit runs away.
    """
    margin_s = 0.05
    covered = driver.covers(
        increments.start_s + start_s - margin_s, increments.stop_s + start_s + margin_s
    )
    if int(covered.sum()) < 20:
        return None
    rows = increments if covered.all() else increments.rows(covered)
    mid_s = rows.mid_s
    anchor_s = float(mid_s.mean())
    offset_s, drift = start_s, 0.0
    shutter = rows.shutter
    line_delay_s = 0.0 if shutter is None else (shutter.line_delay_s or 0.0)
    is_delay_free = shutter is not None and shutter.line_delay_s is None
    rolled = np.zeros_like(rows.values)
    bent = np.zeros_like(rows.values)
    blur, blur_std = 0.0, USUAL_BLUR_STD
    if shutter is not None:
        blur_std = min(blur_std, 0.5 * (CAMERA_FILTER_STD_S / median(rows.width_s)) ** 2)
    robust = np.ones_like(rows.values)
    found: Linearised | None = None
    n_unmixed = N_UNMIXED
    if known is not None and np.array_equal(known.mid_s, mid_s):
        model, robust, found, n_unmixed = known.model, known.robust, known.linear, 1
        line_delay_s = line_delay_s if known.line_delay_s is None else known.line_delay_s
        if shutter is not None:
            rolled = shutter.change_per_line_delay(found.bend, found.rate, found.mixing)
        bent, blur = rows.bent(found.fitted), known.blur
    else:
        model = DelayModel.of(rows, driver)
    since_s = mid_s - anchor_s
    largest = np.array(
        [
            MAX_STEP_S,
            *[MAX_DRIFT_STEP] * with_drift,
            *[MAX_LINE_STEP_S] * is_delay_free,
            blur_std,
        ]
    )
    columns = np.empty((*rows.values.shape, largest.size))
    last: tuple[Floats, Floats] | None = None
    left_s = 0.0
    for iteration in range(MAX_ITERATIONS):
        disturbed = rolled * line_delay_s + bent * blur
        found = model.at(offset_s + drift * since_s, robust, disturbed, found)
        if found is None:
            return None
        linear = found
        if shutter is not None:
            rolled = shutter.change_per_line_delay(linear.bend, linear.rate, linear.mixing)
        bent = rows.bent(linear.fitted)
        columns[..., 0] = linear.sensitivity
        if with_drift:
            columns[..., 1] = linear.project(linear.raw_sensitivity * since_s[:, None])
        if is_delay_free:
            columns[..., -2] = linear.project(rolled)
        columns[..., -1] = linear.project(bent)
        normal, scores = _equations(columns, linear)
        gradient = scores.sum(axis=(0, 1))
        if is_delay_free:
            # Points in one row cannot tell a line delay from an offset: lean on what is usual.
            normal[-2, -2] += USUAL_LINE_DELAY_STD_S**-2
            gradient[-2] += (USUAL_LINE_DELAY_S - line_delay_s) * USUAL_LINE_DELAY_STD_S**-2
        normal[-1, -1] += blur_std**-2
        gradient[-1] -= blur * blur_std**-2
        if not normal[0, 0] > 0.0 or (
            normal.size > 1
            and not np.linalg.det(normal) > MIN_DETERMINANT * normal.diagonal().prod()
        ):
            return None
        full = np.linalg.solve(normal, gradient)
        step = full if last is None or iteration < n_unmixed else _mixed(full, *last, normal)
        step = np.minimum(np.maximum(step, -largest), largest)
        offset_s += float(step[0])
        if with_drift:
            drift += float(step[1])
        if is_delay_free:
            line_delay_s += float(step[-2])
        blur += float(step[-1])
        if abs(offset_s - start_s) > 0.5:
            return None
        # Weights of the residuals that the step leaves: of those before it they would lag behind.
        robust = cauchy_weights((linear.residuals - columns @ step) / linear.scale)
        last, left_s = (full, step), abs(float(full[0]))
        if iteration > n_unmixed and (
            max(abs(full[0]), abs(step[0])) < CONVERGED_S
            or max(full @ normal @ full, step @ normal @ step) < CONVERGED_STD**2
        ):
            left_s = 0.0
            break
    share = followed_share(
        model,
        linear,
        lambda change_s: model.at(
            offset_s + drift * since_s + change_s,
            robust,
            rolled * line_delay_s + bent * blur,
            linear,
        ),
        [np.ones_like(since_s), *[since_s] * with_drift],
    )
    found_s = offset_s
    row_shift_s = 0.0
    if is_delay_free and shutter is not None:
        # Rows without a stated delay: the offset refers to the points' mean row (see module).
        columns[..., -2] -= shutter.mean_row_px * columns[..., 0]
        row_shift_s = shutter.mean_row_px * line_delay_s
        found_s += row_shift_s
    normal, _ = _equations(columns, linear)
    if is_delay_free:
        normal[-2, -2] += USUAL_LINE_DELAY_STD_S**-2
    normal[-1, -1] += blur_std**-2
    normal = with_slope(normal, share)
    if with_drift:
        # Move the anchor to where offset and drift are uncorrelated.
        inverse = np.linalg.inv(normal)
        shift_s = float(-inverse[0, 1] / inverse[1, 1])
        anchor_s += shift_s
        found_s += drift * shift_s
        turned = np.eye(largest.size)
        turned[0, 1] = -shift_s
        columns = columns @ turned
        normal = turned.T @ normal @ turned
    # Curvature of the Cauchy loss, not its weights: psi' = 2 w^2 - w (the sandwich of an
    # M-estimator; Huber, "Robust statistics", 1981). Weights alone claim errors a fifth too small.
    curvature = 2.0 * (robust**2).sum(axis=0) / robust.sum(axis=0) - 1.0
    normal *= min(max(float(curvature.mean()), 0.3), 1.0)
    leverage = linear.leverage() + np.einsum(
        "nmp,pq,nmq,nm->nm", columns, np.linalg.inv(normal), columns, linear.weights
    )
    root = np.sqrt(linear.weights)
    # A fit takes one part in the leverage off a residual's variance, not off its square root: those
    # of single values left out claim errors 8 to 18 % too large for a camera with 50 to 170 pairs,
    # beside Student's t (HC2; MacKinnon & White, "Some heteroskedasticity-consistent covariance
    # matrix estimators", J. Econometrics 29, 1985, doi:10.1016/0304-4076(85)90158-7).
    covariance, correlation_factor = covariance_of(
        root * linear.residuals / np.sqrt(np.maximum(1.0 - leverage, MIN_FREE)),
        root[..., None] * columns,
        normal,
    )
    std = np.sqrt(np.diag(covariance))
    return DelayFit(
        offset_s=found_s,
        offset_std_s=math.hypot(float(std[0]), left_s / float(share[0, 0])),
        drift_ppm=drift * 1e6 if with_drift else None,
        drift_std_ppm=float(std[1]) * 1e6 if with_drift else None,
        line_delay_s=line_delay_s if is_delay_free else None,
        line_delay_std_s=float(std[-2]) if is_delay_free else None,
        row_shift_s=row_shift_s,
        blur=blur,
        anchor_s=anchor_s,
        correlation_factor=correlation_factor,
        followed=float(share[0, 0]),
        n_rows=mid_s.size,
        span_s=float(np.ptp(mid_s)),
        mid_s=mid_s,
        robust=robust,
        model=model,
        linear=linear,
    )


def _mixed(full: Floats, last_full: Floats, last_step: Floats, normal: Floats) -> Floats:
    """Return the step to where this one and the one before say that no step is left.

    Parameters
    ----------
    full, last_full : ndarray, shape (p,)
        Steps that the equations ask for, here and before.
    last_step : ndarray, shape (p,)
        Step that was taken before.
    normal : ndarray, shape (p, p)
        What distances are measured by.
    """
    turned = full - last_full
    size = float(turned @ normal @ turned)
    if size <= 0.0:
        return full
    share = min(max(float(turned @ normal @ full) / size, -MAX_MIXED), MAX_MIXED)
    return full - share * (last_step + turned)


def _equations(columns: Floats, linear: Linearised) -> tuple[Floats, Floats]:
    """Return normal matrix, shape (p, p), and score of each value, shape (n, m, p)."""
    weighted = columns * linear.weights[..., None]
    flat = columns.reshape(-1, columns.shape[2])
    return weighted.reshape(flat.shape).T @ flat, weighted * linear.residuals[..., None]
