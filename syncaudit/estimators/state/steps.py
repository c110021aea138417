"""Find a step of the delay inside an episode: frames that were lost while the stamps ran on.

Episodes are too short to measure pieces of them alone. So the mixing is shared by both sides of the
step, and all borders and pairs of delays are tried: with the moments of blocks each is one small
regression.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from syncaudit.dsp.integral import RunningIntegral
from syncaudit.estimators.clock_step import ClockStep
from syncaudit.estimators.delay_fit import DelayFit, fit_delay
from syncaudit.estimators.increments import Increments

__all__ = ["find_shared_step"]

Floats = NDArray[np.float64]

N_BLOCKS = 12
# Blocks that either side needs, delays tried around the common one, and their distance.
MIN_BLOCKS = 2
REACH_PERIODS = 8
STEPS_PER_PERIOD = 2
RIDGE = 1e-3
# Log-likelihood, in units of independent values, that a step must gain: three parameters.
MIN_GAIN = 12.0
# A step is this many standard errors, with what the mixing does to either side.
MIN_Z = 4.0


def find_shared_step(
    increments: Increments,
    driver: RunningIntegral,
    fit: DelayFit,
    *,
    period_s: float,
    side_std_s: float,
    independent: float,
) -> ClockStep | None:
    """Look for one step of the delay.

    Parameters
    ----------
    increments : Increments
        n rows of what is seen.
    driver : RunningIntegral
        p channels.
    fit : DelayFit
        One delay for all.
    period_s : float
        Of the frames.
    side_std_s : float
        Systematic error of the delay on either side.
    independent : float
        Independent values over values.

    Returns
    -------
    ClockStep or None
        None where one delay describes the episode as well.
    """
    n_side = REACH_PERIODS * STEPS_PER_PERIOD
    delays_s = fit.offset_s + period_s / STEPS_PER_PERIOD * np.arange(-n_side, n_side + 1)
    low, high = delays_s[0], delays_s[-1]
    kept = driver.covers(increments.start_s + low, increments.stop_s + high)
    if int(kept.sum()) < 3 * N_BLOCKS:
        return None
    rows = increments.rows(kept)
    blocks = np.array_split(np.arange(rows.values.shape[0]), N_BLOCKS)
    change = np.stack([driver.at(rows.stop_s + d) - driver.at(rows.start_s + d) for d in delays_s])
    turned = np.swapaxes(change, 1, 2)
    gram = np.cumsum([turned[:, :, b] @ change[:, b] for b in blocks], axis=0)
    cross = np.cumsum([turned[:, :, b] @ rows.values[b] for b in blocks], axis=0)
    energy = np.sum(rows.values**2, axis=0)
    best: tuple[float, int, int, int] | None = None
    alone = -np.inf
    for split in range(MIN_BLOCKS, N_BLOCKS - MIN_BLOCKS + 1):
        both = gram[split - 1][:, None] + (gram[-1] - gram[split - 1])[None, :]
        seen = cross[split - 1][:, None] + (cross[-1] - cross[split - 1])[None, :]
        own = np.einsum("...pp->...p", both)
        both = both + (RIDGE * own + 1e-12)[..., None] * np.eye(both.shape[-1])
        left = energy - np.sum(np.linalg.solve(both, seen) * seen, axis=2)
        likelihood = -0.5 * rows.values.shape[0] * np.log(np.maximum(left, 1e-30)).sum(axis=2)
        alone = max(alone, float(np.diag(likelihood).max()))
        most = int(np.argmax(likelihood))
        if best is None or likelihood.flat[most] > best[0]:
            best = (float(likelihood.flat[most]), split, *divmod(most, delays_s.size))
    if best is None or (best[0] - alone) * independent < MIN_GAIN:
        return None
    _, split, before, after = best
    border_s = float(rows.start_s[blocks[split][0]])
    # The step may lie anywhere in the blocks beside the border: half of each is left out.
    spare_s = 0.5 * float(np.ptp(rows.mid_s)) / N_BLOCKS
    sides = []
    for delay_s, own in (
        (delays_s[before], increments.mid_s < border_s - spare_s),
        (delays_s[after], increments.mid_s >= border_s + spare_s),
    ):
        side = fit_delay(increments.rows(own), driver, start_s=float(delay_s))
        if side is None:
            return None
        sides.append((side.offset_s, math.hypot(side.offset_std_s, side_std_s)))
    (before_s, before_std_s), (after_s, after_std_s) = sides
    step = ClockStep(
        at_s=border_s,
        before_s=before_s,
        before_std_s=before_std_s,
        after_s=after_s,
        after_std_s=after_std_s,
    )
    return step if abs(step.step_s) >= MIN_Z * step.step_std_s else None
