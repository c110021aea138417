"""Hold a drift of more than quartz makes against a step of the clock.

A step inside a short clip looks much like a drift, and such a drift is no likelier than a step to
begin with: where the increments do not tell the two apart, neither is an answer. Drifts of quartz
are far likelier than steps and need no such test.
"""

from __future__ import annotations

import math

import numpy as np

from syncaudit.dsp.integral import RunningIntegral
from syncaudit.estimators.delay.clock_step import (
    USUAL_DRIFT_PPM,
    ClockStep,
    best_step,
    is_significant,
)
from syncaudit.estimators.delay.fit import DelayFit, fit_delay
from syncaudit.estimators.delay.increments import Increments
from syncaudit.estimators.delay.refusals import DRIFT_Z, MIN_LIKELIHOOD_GAP
from syncaudit.estimators.delay.stepped import fit_at

__all__ = ["is_unlike_quartz", "step_for_drift", "step_over_drift", "why_either"]


def is_unlike_quartz(figures: dict[str, float]) -> bool:
    """Tell whether the delay drifts more than quartz does, significantly.

    Parameters
    ----------
    figures : dict of str to float
        With ``drift_ppm`` and ``drift_std_ppm`` where a drift was fitted.
    """
    std_ppm = figures.get("drift_std_ppm", 0.0)
    return abs(figures.get("drift_ppm", 0.0)) > DRIFT_Z * max(USUAL_DRIFT_PPM, std_ppm)


def step_for_drift(
    increments: Increments, driver: RunningIntegral, fit: DelayFit, figures: dict[str, float]
) -> tuple[ClockStep | None, str | None]:
    """Return the step that is likelier than a drift, or why neither can be believed.

    Parameters
    ----------
    increments, driver
        As for `fit_delay`.
    fit : DelayFit
        One delay for the whole clip.
    figures : dict of str to float
        With the drift, which a step takes off.

    Returns
    -------
    ClockStep or None
        The step that is likelier.
    str or None
        Why neither is an answer. None of both: the drift is.
    """
    start_s = fit.offset_s - fit.row_shift_s
    drifting = fit_delay(increments, driver, start_s=start_s, with_drift=True, known=fit)
    step = best_step(increments, driver, fit)
    if drifting is None or step is None:  # nothing to hold the drift against
        return None, why_either(figures["drift_ppm"], fit.span_s)
    gain = step_over_drift(fit, step, drifting)
    figures["step_over_drift"] = gain
    is_likelier = gain >= MIN_LIKELIHOOD_GAP
    if is_likelier and is_significant(step):
        del figures["drift_ppm"], figures["drift_std_ppm"]
        return step, None
    drifts_anyhow = abs(step.drift_ppm) > DRIFT_Z * step.drift_std_ppm
    if gain <= -MIN_LIKELIHOOD_GAP or (drifts_anyhow and not is_likelier):
        return None, None
    return None, why_either(figures["drift_ppm"], fit.span_s)


def why_either(drift_ppm: float, span_s: float) -> str:
    """Say that a step explains as well what a drift does."""
    return (
        f"the delay changes by {1e-3 * drift_ppm * span_s:+.0f} ms through the clip, which a step "
        f"explains as well as a drift of {drift_ppm:+.0f} ppm, more than quartz makes; a longer "
        "recording, or more motion, tells"
    )


def step_over_drift(fit: DelayFit, step: ClockStep, drifting: DelayFit) -> float:
    """Return by how much the log-likelihood of a step exceeds that of a drift.

    Both are given the same increments, those of the fit of one delay, one mount each, and weights
    of their own. Residuals that hang together count for less.
    """
    mid_s = fit.model.rows.mid_s
    drift_s = 1e-6 * (drifting.drift_ppm or 0.0) * (mid_s - drifting.anchor_s)
    stepped = fit_at(fit, step.offsets_at(mid_s))
    drifted = fit_at(fit, drifting.offset_s + drift_s)
    if stepped is None or drifted is None:
        return -math.inf
    scale = np.minimum(stepped.scale, drifted.scale)
    costs = [np.log1p((found.residuals / scale) ** 2).sum() for found in (drifted, stepped)]
    return float(costs[0] - costs[1]) / min(fit.correlation_factor, drifting.correlation_factor)
