"""Describe a delay that changes once, besides a steady drift, and locate the change."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from syncaudit.dsp.robust import cauchy_weights
from syncaudit.estimators.delay.fit import DelayFit
from syncaudit.estimators.delay.increments import Increments
from syncaudit.estimators.delay.model import Linearised
from syncaudit.model.arrays import Floats

# Weights converge to a few percent within this many rounds.
N_WEIGHTINGS = 5
# Log-likelihood by which the true place of a change is below the best in 95 % of cases, at most:
# -ln(1 - 0.95^(1/2)). It is more than for a fitted parameter, because the best of many places is
# not a typical one (Siegmund, "Confidence sets in change-point problems", Int. Stat. Review 56,
# 1988, doi:10.2307/1403360).
LIKELY_INSTANT = 3.68


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockStep:
    """A delay that changes once, besides a steady drift."""

    at_s: float  # instant of the step on the source's clock
    # Delay before and after, each with its standard error.
    before_s: float
    before_std_s: float
    after_s: float
    after_std_s: float
    # Instants to which the two refer, where the delay drifts.
    before_at_s: float = 0.0
    after_at_s: float = 0.0
    # Drift on both sides, as it was removed, and its standard error.
    drift_ppm: float = 0.0
    drift_std_ppm: float = 0.0
    at_std_s: float = 0.0  # standard error of `at_s`

    @property
    def step_s(self) -> float:
        """Change of the delay."""
        apart_s = self.after_at_s - self.before_at_s
        return self.after_s - self.before_s - 1e-6 * self.drift_ppm * apart_s

    @property
    def step_std_s(self) -> float:
        """Standard error of the change."""
        apart_s = self.after_at_s - self.before_at_s
        own_s = math.hypot(self.before_std_s, self.after_std_s)
        return math.hypot(own_s, 1e-6 * self.drift_std_ppm * apart_s)

    def widened(self, by: float) -> ClockStep:
        """Return the same step with the errors of both sides multiplied."""
        return replace(self, before_std_s=by * self.before_std_s, after_std_s=by * self.after_std_s)

    def longer_part(self, increments: Increments) -> Increments:
        """Return the increments on the side that holds more of them."""
        n_before = int(np.count_nonzero(increments.mid_s < self.at_s))
        return self.part(increments, is_before=2 * n_before > increments.mid_s.size)

    def part(self, increments: Increments, *, is_before: bool) -> Increments:
        """Return the increments on one side."""
        return increments.rows((increments.mid_s < self.at_s) == is_before)

    def anchor_near(self, time_s: float) -> float:
        """Return the instant on the same side of the step at which the delay is known best."""
        if not self.drift_std_ppm:
            return time_s
        return self.before_at_s if time_s < self.at_s else self.after_at_s

    def offset_at(self, time_s: float) -> float:
        """Return the delay at an instant."""
        return float(self.offsets_at(np.array(time_s)))

    def sides_at(self, times_s: Floats) -> tuple[Floats, Floats]:
        """Return the delays of both sides at instants, shape (n,) each, wherever the step is."""
        before_s = self.before_s + 1e-6 * self.drift_ppm * (times_s - self.before_at_s)
        after_s = self.after_s + 1e-6 * self.drift_ppm * (times_s - self.after_at_s)
        return before_s, after_s

    def offsets_at(self, times_s: Floats) -> Floats:
        """Return the delays at instants, shape (n,)."""
        before_s, after_s = self.sides_at(times_s)
        return np.where(times_s < self.at_s, before_s, after_s)

    def offset_std_at(self, time_s: float) -> float:
        """Return the standard error of `offset_at`."""
        is_before = time_s < self.at_s
        std_s, at_s = (
            (self.before_std_s, self.before_at_s)
            if is_before
            else (self.after_std_s, self.after_at_s)
        )
        return math.hypot(std_s, 1e-6 * self.drift_std_ppm * (time_s - at_s))


def fit_at(fit: DelayFit, delays_s: Floats) -> Linearised | None:
    """Return the model of a fit at other delays, shape (n,), with weights computed there."""
    rows, linear, robust = fit.model.rows, fit.linear, fit.robust
    shutter = rows.shutter
    line_delay_s = fit.line_delay_s or (shutter and shutter.line_delay_s) or 0.0
    for _ in range(N_WEIGHTINGS):
        known = rows.bent(linear.fitted) * fit.blur
        if shutter is not None:
            rolled = shutter.change_per_line_delay(linear.bend, linear.rate, linear.mixing)
            known += rolled * line_delay_s
        found = fit.model.at(delays_s - fit.row_shift_s, robust, known, linear)
        if found is None:
            return None
        linear, robust = found, cauchy_weights(found.residuals / found.scale)
    return linear


def locate_step(
    fit: DelayFit, step: ClockStep, reach_s: float, correlation_factor: float
) -> tuple[float, float]:
    """Return the instant of a step, near a first guess, by the smallest residuals; and its error.

    While nothing moves, all instants are equally good: any that leaves hardly more than the
    smallest residuals is possible (correlated residuals count for less: the factor is that by which
    they increase the variance of the sides' delays). Both sides share one mixing matrix: separate
    ones would affect the few rows near the step more than the delays do.
    """
    rows, driver = fit.model.rows, fit.model.driver
    mid_s = rows.mid_s
    near = np.flatnonzero(np.abs(mid_s - step.at_s) <= reach_s)
    linear = fit_at(fit, step.offsets_at(mid_s)) if near.size > 1 else None
    if linear is None:
        return step.at_s, reach_s
    costs = []
    for side_s in step.sides_at(mid_s):
        delays_s = side_s - fit.row_shift_s
        begin_s, end_s = (
            np.clip(t + delays_s, driver.start_s, driver.stop_s)
            for t in (rows.start_s, rows.stop_s)
        )
        change = driver.at(end_s) - driver.at(begin_s)
        rest = linear.residuals + linear.fitted - change @ linear.mixing.T
        costs.append(np.log1p((rest / linear.scale) ** 2).sum(axis=1)[near])
    total = np.cumsum(costs[0]) + costs[1].sum() - np.cumsum(costs[1])
    best = int(near[int(np.argmin(total))])
    best_s = 0.5 * float(mid_s[best] + mid_s[min(best + 1, mid_s.size - 1)])
    likely = near[total - total.min() <= LIKELY_INSTANT * correlation_factor]
    apart_s = mid_s[likely] - best_s
    return best_s, float(np.sqrt(np.mean(apart_s**2)))
