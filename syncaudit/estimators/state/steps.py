"""Find a step of the delay inside an episode: frames that were lost while the stamps ran on.

Episodes are too short to measure pieces of them alone. So the mixing is shared by both sides of the
step, and all borders and pairs of delays are tried: with the moments of blocks each is one small
regression. A delay that changes steadily is no step: from each delay at the start to each at the
end a straight line is tried as well, and a step must describe the episode better by what its one
parameter more is worth (Schwarz, "Estimating the dimension of a model", Ann. Statist. 6, 1978,
doi:10.1214/aos/1176344136). A dozen seconds often leave it open: of drifts of 6,000 to 12,000 ppm 7
of 24 look like a step there, and 3 of 24 in 25 s.
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
        None where one delay describes the episode as well, or one that changes steadily.
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
    grams = np.array([turned[:, :, b] @ change[:, b] for b in blocks])
    crosses = np.array([turned[:, :, b] @ rows.values[b] for b in blocks])
    gram, cross = np.cumsum(grams, axis=0), np.cumsum(crosses, axis=0)
    energy = np.sum(rows.values**2, axis=0)
    n_rows = rows.values.shape[0]
    best: tuple[float, int, int, int] | None = None
    alone = -np.inf
    for split in range(MIN_BLOCKS, N_BLOCKS - MIN_BLOCKS + 1):
        both = gram[split - 1][:, None] + (gram[-1] - gram[split - 1])[None, :]
        seen = cross[split - 1][:, None] + (cross[-1] - cross[split - 1])[None, :]
        likelihood = _likelihood(both, seen, energy, n_rows)
        alone = max(alone, float(np.diag(likelihood).max()))
        most = int(np.argmax(likelihood))
        if best is None or likelihood.flat[most] > best[0]:
            best = (float(likelihood.flat[most]), split, *divmod(most, delays_s.size))
    if best is None or (best[0] - alone) * independent < MIN_GAIN:
        return None
    over_line = (best[0] - _line(grams, crosses, energy, n_rows)) * independent
    if over_line < 0.5 * math.log(max(1.0, independent * rows.values.size)):
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


def _likelihood(gram: Floats, cross: Floats, energy: Floats, n_rows: int) -> Floats:
    """Return the log-likelihood, shape (...), from moments (..., p, p) and (..., p, m)."""
    own = np.einsum("...pp->...p", gram)
    held = gram + (RIDGE * own + 1e-12)[..., None] * np.eye(gram.shape[-1])
    left = energy - np.sum(np.linalg.solve(held, cross) * cross, axis=-2)
    return np.asarray(-0.5 * n_rows * np.log(np.maximum(left, 1e-30)).sum(axis=-1))


def _line(grams: Floats, crosses: Floats, energy: Floats, n_rows: int) -> float:
    """Return the log-likelihood of the best delay that changes steadily.

    Parameters
    ----------
    grams, crosses : ndarray, shape (b, d, p, p) and (b, d, p, m)
        Moments of b blocks at d delays.
    energy : ndarray, shape (m,)
    n_rows : int
    """
    n_blocks, n_delays = grams.shape[:2]
    ends = np.arange(n_delays, dtype=np.float64)
    share = np.arange(n_blocks) / (n_blocks - 1.0)
    places = np.rint(
        ends[:, None] * (1.0 - share[:, None, None]) + ends[None, :] * share[:, None, None]
    ).astype(np.intp)
    # An array for each block: all blocks at once would be a dozen times the memory.
    gram = sum((own[place] for own, place in zip(grams, places, strict=True)), np.zeros(()))
    cross = sum((own[place] for own, place in zip(crosses, places, strict=True)), np.zeros(()))
    return float(_likelihood(np.asarray(gram), np.asarray(cross), energy, n_rows).max())
