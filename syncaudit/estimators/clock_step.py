"""Find a step of the clock inside a clip: the delay before and after is not the same."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syncaudit.dsp.integral import RunningIntegral
from syncaudit.dsp.medians import median
from syncaudit.estimators.delay_fit import DelayFit, fit_delay
from syncaudit.estimators.delay_search import search_delay
from syncaudit.estimators.increments import Increments

__all__ = ["ClockStep", "find_step", "is_uneven"]

Floats = NDArray[np.float64]

# Pieces shorter than this hold too little motion to be measured alone.
MIN_PIECE_S = 3.0
MIN_PIECE_ROWS = 36
MAX_PIECES = 6
# Pieces are searched this far around the delay of the whole clip.
REACH_S = 0.4
SEARCH_STEP_S = 0.01
MIN_STEP_S = 0.003
# Rows of a piece that is compared by its residuals alone.
MIN_COMPARED_ROWS = 8
# Chi-square of six pieces (chance: 22 once in a thousand clips), and ratio of residuals.
UNEVEN_CHI2 = 20.0
UNEVEN_SPREAD = 2.0
# With few rows the spread of a piece is told by chance too: it must also ask for another delay.
UNEVEN_CHI2_WITH_SPREAD = 8.0
# Improvement in chi-square of a step over a straight line (one parameter more) at the best of five
# places, over the scatter that is left. Where the pieces' errors are of unknown size, four degrees
# of freedom tell it, and chance gives as much once in 37 clips (F distribution, Bonferroni over the
# places); to be cut at all, clips must be uneven, as 5 of 2000 pairs without a step were (jitter up
# to 5 ms, noise, quantisation, filters of their own, rests). Together: one false alarm in 15,000
# clips; none was seen in those 2000.
MIN_CHI2_GAIN = 30.0
# A step is that many standard errors high.
MIN_STEP_Z = 5.0
# Increments on one side from which its mixing is learnt.
MIN_OWN = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockStep:
    """A delay that changes once.

    Parameters
    ----------
    at_s : float
        When, on the source's clock.
    before_s, after_s : float
        Delay before and after; their standard errors follow.
    before_std_s, after_std_s : float
        One sigma each.
    """

    at_s: float
    before_s: float
    before_std_s: float
    after_s: float
    after_std_s: float

    @property
    def step_s(self) -> float:
        """Change of the delay."""
        return self.after_s - self.before_s

    @property
    def step_std_s(self) -> float:
        """Standard error of the change."""
        return math.hypot(self.before_std_s, self.after_std_s)

    def longer_part(self, increments: Increments) -> Increments:
        """Return the increments on the side that holds more of them."""
        is_before = increments.mid_s < self.at_s
        is_longer = 2 * int(np.count_nonzero(is_before)) > is_before.size
        return increments.rows(is_before if is_longer else ~is_before)

    def offset_at(self, time_s: float) -> float:
        """Return the delay at an instant."""
        return self.before_s if time_s < self.at_s else self.after_s

    def offset_std_at(self, time_s: float) -> float:
        """Return the standard error of `offset_at`."""
        return self.before_std_s if time_s < self.at_s else self.after_std_s


def find_step(increments: Increments, driver: RunningIntegral, fit: DelayFit) -> ClockStep | None:
    """Look for one step of the clock.

    The clip is cut into up to six pieces, each measured alone near the delay of the whole; a step
    between two pieces must describe their delays far better than a straight line, the best of all
    places being tried (`MIN_CHI2_GAIN` bounds the false alarms). The instant is then the one that
    leaves the smallest residuals.

    Parameters
    ----------
    increments, driver
        As for `fit_delay`.
    fit : DelayFit
        Of the whole clip.

    Returns
    -------
    ClockStep or None
        None where the pieces agree, drift steadily, or cannot be measured.
    """
    mid_s = increments.mid_s
    n_pieces = min(
        MAX_PIECES, int(np.ptp(mid_s) / MIN_PIECE_S), increments.values.shape[0] // MIN_PIECE_ROWS
    )
    if n_pieces < 3:
        return None
    chi2, spread = _unevenness(fit, n_pieces)
    if chi2 <= UNEVEN_CHI2 and spread <= UNEVEN_SPREAD:
        return None
    pieces = [
        _measure_near(increments.rows(rows), driver, fit.offset_s)
        for rows in np.array_split(np.arange(mid_s.size), n_pieces)
    ]
    known = [piece for piece in pieces if piece is not None]
    if len(known) < 3:
        return None
    times = np.array([piece.anchor_s for piece in known])
    delays = np.array([piece.offset_s for piece in known])
    std = np.array([math.hypot(piece.offset_std_s, 2e-4) for piece in known])
    split = _best_split(times, delays, std)
    if split is None:
        return None
    border_s = 0.5 * (times[split - 1] + times[split])
    early_s = float(np.average(delays[:split], weights=std[:split] ** -2))
    late_s = float(np.average(delays[split:], weights=std[split:] ** -2))
    border_s = _locate(increments, driver, early_s, late_s, border_s, float(np.diff(times).max()))
    before = fit_delay(increments.rows(mid_s < border_s), driver, start_s=early_s)
    after = fit_delay(increments.rows(mid_s >= border_s), driver, start_s=late_s)
    if before is None or after is None:
        return None
    step = ClockStep(
        at_s=border_s,
        before_s=before.offset_s,
        before_std_s=before.offset_std_s,
        after_s=after.offset_s,
        after_std_s=after.offset_std_s,
    )
    if abs(step.step_s) < max(MIN_STEP_S, MIN_STEP_Z * step.step_std_s):
        return None
    return step


def is_uneven(fit: DelayFit) -> bool:
    """Tell whether some piece of a clip would like another delay, where too few to measure each."""
    n_pieces = min(MAX_PIECES, fit.n_rows // MIN_COMPARED_ROWS)
    if n_pieces < 2:
        return False
    chi2, spread = _unevenness(fit, n_pieces)
    return chi2 > UNEVEN_CHI2 or (spread > UNEVEN_SPREAD and chi2 > UNEVEN_CHI2_WITH_SPREAD)


def _unevenness(fit: DelayFit, n_pieces: int) -> tuple[float, float]:
    """Return how much the pieces of a clip would like other delays, and how much worse one fits.

    A cheap score test that lets clips of one delay skip the search piece by piece.

    Parameters
    ----------
    fit : DelayFit
        Of the whole clip.
    n_pieces : int
        Pieces of equal length to compare.
    """
    scores = np.sum(fit.weights * fit.sensitivity * fit.residuals, axis=1)
    information = np.sum(fit.weights * fit.sensitivity**2, axis=1)
    scaled = np.sqrt(fit.weights) * fit.residuals
    pieces = zip(*(np.array_split(x, n_pieces) for x in (scores, information, scaled)), strict=True)
    wishes, spread = np.array(
        [(s.sum() ** 2 / i.sum(), median(np.abs(r).ravel())) for s, i, r in pieces]
    ).T
    return float(wishes.sum()), float(spread.max() / max(median(spread), 1e-30))


def _measure_near(
    increments: Increments, driver: RunningIntegral, near_s: float
) -> DelayFit | None:
    curve = search_delay(
        increments,
        driver,
        lowest_s=near_s - REACH_S,
        highest_s=near_s + REACH_S,
        step_s=SEARCH_STEP_S,
    )
    if not np.isfinite(curve.log_likelihood).any():
        return None
    best = curve.best()
    if curve.is_at_edge(best):
        return None
    if curve.log_likelihood[best] - curve.runner_up(best) < 6.0:
        return None
    return fit_delay(increments, driver, start_s=float(curve.delays_s[best]))


def _best_split(times: Floats, delays: Floats, std: Floats) -> int | None:
    weights = 1.0 / std
    line = np.polyfit(times - times.mean(), delays, 1, w=weights)
    straight = float(np.sum(((delays - np.polyval(line, times - times.mean())) * weights) ** 2))
    best: tuple[float, int] | None = None
    for split in range(1, times.size):
        chi2 = 0.0
        for part in (slice(None, split), slice(split, None)):
            mean = np.average(delays[part], weights=weights[part] ** 2)
            chi2 += float(np.sum(((delays[part] - mean) * weights[part]) ** 2))
        if best is None or chi2 < best[0]:
            best = (chi2, split)
    if best is None:
        return None
    scatter = max(1.0, best[0] / max(1, times.size - 2))
    return best[1] if (straight - best[0]) / scatter > MIN_CHI2_GAIN else None


def _locate(
    increments: Increments,
    driver: RunningIntegral,
    early_s: float,
    late_s: float,
    near_s: float,
    reach_s: float,
) -> float:
    """Return the border that leaves the smallest residuals."""
    costs = []
    for delay_s in (early_s, late_s):
        change = driver.at(
            np.clip(increments.stop_s + delay_s, driver.start_s, driver.stop_s)
        ) - driver.at(np.clip(increments.start_s + delay_s, driver.start_s, driver.stop_s))
        mid_s = increments.mid_s
        own = (
            mid_s < near_s - 0.5 * reach_s if delay_s == early_s else mid_s > near_s + 0.5 * reach_s
        )
        if np.count_nonzero(own) < MIN_OWN:
            return near_s
        cost = np.zeros(mid_s.size)
        for column in range(increments.values.shape[1]):
            mixing, *_ = np.linalg.lstsq(change[own], increments.values[own, column], rcond=None)
            rest = increments.values[:, column] - change @ mixing
            scale = 1.4826 * float(np.median(np.abs(rest[own]))) + 1e-15
            cost += np.log1p((rest / scale) ** 2)
        costs.append(cost)
    mid_s = increments.mid_s
    near = np.flatnonzero(np.abs(mid_s - near_s) <= reach_s)
    if near.size < 2:
        return near_s
    total = np.cumsum(costs[0][near]) + np.sum(costs[1][near]) - np.cumsum(costs[1][near])
    best = int(near[int(np.argmin(total))])
    return float(0.5 * (mid_s[best] + mid_s[min(best + 1, mid_s.size - 1)]))
