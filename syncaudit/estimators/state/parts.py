"""Test whether parts of the evidence agree on one delay: pieces of the clip, halves of the view.

The covariance of a fit accounts for noise. It does not account for the mixing of joints into
images, which is fitted to the same clip and is only nearly a constant plus a linear function of the
pose: its error is the same for all frames of one move and different for the next. Leaving out a
fifth of the clip, and fitting everything anew to the rest, accounts for both (the delete-group
jackknife; Kott, "The delete-a-group jackknife", J. Official Statistics 17, 2001).
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from syncaudit.dsp.integral import RunningIntegral
from syncaudit.estimators.delay.fit import DelayFit, fit_delay
from syncaudit.estimators.delay.increments import Increments
from syncaudit.estimators.delay.measure import MIN_ROWS
from syncaudit.estimators.delay.refusals import why_no_clock
from syncaudit.estimators.state.search import fit_mixtures, search_state

# Pieces of the clip and halves of the view may differ by this many standard errors. Where the arm
# is near or far the mixing differs slightly, which shifts each by a share of a period.
N_PARTS = 5
MAX_PART_Z = 4.0
PART_STD_PERIODS = 0.15
N_LEFT_OUT = 5
# Error assumed where no delay is found nearby without one part (`fit_delay` gives up there): the
# delay then depends on that part alone.
LOST_S = 0.5


def why_no_line(parts: list[DelayFit], slower_s: float, *, most_ppm: float) -> str | None:
    """Return why parts that disagree are not a drifting clock, or None where they are."""
    at_s, delays_s, stds_s = (
        np.array([getattr(part, name) for part in parts])
        for name in ("anchor_s", "offset_s", "offset_std_s")
    )
    stds_s = np.hypot(stds_s, PART_STD_PERIODS * slower_s)
    at_s = at_s - np.average(at_s, weights=stds_s**-2.0)
    slope_std = float(np.sum((at_s / stds_s) ** 2)) ** -0.5
    slope = slope_std**2 * float(np.sum(at_s * delays_s / stds_s**2))
    straight = [
        replace(part, offset_s=part.offset_s - slope * float(since_s))
        for part, since_s in zip(parts, at_s, strict=True)
    ]
    why = why_apart(straight, slower_s, "parts of the clip")
    if why is not None:
        return why
    drift = {"drift_ppm": 1e6 * slope, "drift_std_ppm": 1e6 * slope_std}
    return why_no_clock(drift, most_ppm=most_ppm)


def delays_of_parts(
    increments: Increments, reduced: RunningIntegral, fit: DelayFit
) -> list[DelayFit]:
    """Return the delays of pieces of the clip, with the mixing of the whole."""
    n = increments.values.shape[0]
    pieces = [
        fit_delay(increments.rows(rows), reduced, start_s=fit.offset_s)
        for rows in np.array_split(np.arange(n), min(N_PARTS, n // MIN_ROWS))
    ]
    return [piece for piece in pieces if piece is not None]


def delays_of_halves(
    increments: Increments, driver: RunningIntegral, fit: DelayFit
) -> list[DelayFit]:
    """Return the delays of two halves of the mixtures."""
    if increments.values.shape[1] < 2:
        return []
    halves = [
        fit_delay(
            replace(
                increments, values=increments.values[:, k::2], weights=increments.weights[:, k::2]
            ),
            driver,
            start_s=fit.offset_s,
        )
        for k in range(2)
    ]
    return [half for half in halves if half is not None]


def why_apart(parts: list[DelayFit], slower_s: float, noun: str) -> str | None:
    """Return which parts of the evidence have another delay, or None."""
    own_s = PART_STD_PERIODS * slower_s
    for k, part in enumerate(parts):
        for other in parts[:k]:
            apart_s = abs(part.offset_s - other.offset_s)
            std_s = math.hypot(
                math.hypot(part.offset_std_s, own_s), math.hypot(other.offset_std_s, own_s)
            )
            if apart_s > MAX_PART_Z * std_s:
                return (
                    f"{noun} disagree by {1e3 * apart_s:.0f} ± {1e3 * std_s:.0f} ms: something "
                    "else moves, or the delay changes"
                )
    return None


def leave_out_std(increments: Increments, driver: RunningIntegral, fit: DelayFit) -> float:
    """Return the jackknife error of a delay in seconds, from the observed columns, not mixtures."""
    n = increments.values.shape[0]
    off_s = []
    for part in np.array_split(np.arange(n), N_LEFT_OUT):
        rest = increments.rows(np.setdiff1d(np.arange(n), part))
        predicted = search_state(rest, driver, np.array([fit.offset_s]))
        again = None
        if predicted is not None:
            _, _, again = fit_mixtures(rest, driver, predicted, start_s=fit.offset_s)
        off_s.append(LOST_S if again is None else again.offset_s - fit.offset_s)
    return math.sqrt((N_LEFT_OUT - 1) * float(np.var(off_s)))


def weighing_std(increments: Increments, driver: RunningIntegral, fit: DelayFit) -> float:
    """Return the error of a delay, in seconds, due to the choice of the mixtures' weights.

    Mixtures are weighted by the noise left in each, which is right for noise. Errors of the mixing,
    or of a joint that is read late, are not noise: the smallest motion, where few of them remain,
    would dominate, and recoding a video, which adds noise there and shifts nothing, would change
    the answer. Weights by the size of the motion alone give another delay, and either may be right:
    the error is half of the difference.
    """
    at_s = np.array([fit.offset_s])
    predicted = search_state(increments, driver, at_s, is_by_size=True)
    again = None
    if predicted is not None:
        _, _, again = fit_mixtures(increments, driver, predicted, start_s=fit.offset_s)
    return 0.5 * (LOST_S if again is None else abs(again.offset_s - fit.offset_s))
