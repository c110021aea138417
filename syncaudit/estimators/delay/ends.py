"""Find whether the start or the end of a clip has another delay than the rest of it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from syncaudit.estimators.delay.fit import DelayFit
from syncaudit.model.arrays import Floats

# Other delays that are tried: up to this far off, in steps that resolve the fastest motion. What is
# nearer is seen by the pieces of a clip, or is a drift.
REACH_S = 0.4
STEP_S = 0.01
MIN_APART_S = 0.015
# Probability of taking one delay for two: beyond doubt, and where all frames are worth tracking.
MAX_CHANCE, DOUBTED_CHANCE = 1e-3, 0.5
# An end must deviate this many times as much as any run of rows in the rest. Where errors other
# than noise make the sums a random walk, its largest rise varies by a quarter.
BEYOND_REST = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviantEnd:
    """An end of a clip that another delay describes far better."""

    border_s: float  # where it begins or ends, on the source's clock
    span_s: float  # how long it is
    apart_s: float  # its delay relative to that of the whole
    is_start: bool  # whether it is the start of the clip
    is_certain: bool  # whether this is beyond doubt; otherwise more increments may tell

    @property
    def words(self) -> str:
        """Describe the end."""
        where = "first" if self.is_start else "last"
        return (
            f"its {where} {self.span_s:.1f} s fit {1e3 * self.apart_s:+.0f} ms more than the rest "
            "of it: lost frames, or a step of a clock too near the end to be measured"
        )


def find_deviant_end(fit: DelayFit, delays_s: Floats | None = None) -> DeviantEnd | None:
    """Return the end of a clip that has, or may have, another delay; None if neither does.

    Robust weights hide it: rows that follow another delay count for nothing. Its log-likelihood
    ratio to the delay of the whole, with the Cauchy distribution of the fit, grows with every row
    at that end. Were there one delay, the largest of these sums for any number of rows would exceed
    c with a probability of at most exp(-c) (Ville, "Étude critique de la notion de collectif",
    1939), for each end and each of the delays tried. Correlated residuals count for less.
    The bound holds if the noise is that of the fit; noise of the driver, or flexing, add to the
    sums. What they may add is seen in the rest of the clip, in any run of rows.

    `delays_s`, shape (n,): delay of the whole clip at each increment; None: that of the fit.
    """
    rows, driver, linear = fit.model.rows, fit.model.driver, fit.linear
    mid_s, n = rows.mid_s, rows.mid_s.size
    if delays_s is None:
        delays_s = np.full(n, fit.offset_s)
    whole_s = delays_s - fit.row_shift_s
    tried_s = np.arange(-REACH_S, REACH_S + 0.5 * STEP_S, STEP_S)
    tried_s = np.append(0.0, tried_s[np.abs(tried_s) > MIN_APART_S])

    begin_s, end_s = (at_s + whole_s + tried_s[:, None] for at_s in (rows.start_s, rows.stop_s))
    is_held = (begin_s >= driver.start_s) & (end_s <= driver.stop_s)
    begin, end = (
        driver.angles_at(np.clip(at_s, driver.start_s, driver.stop_s).ravel())
        for at_s in (begin_s, end_s)
    )
    expected = ((end - begin) @ linear.mixing.T).reshape(tried_s.size, n, -1)
    left = linear.residuals + linear.fitted - expected
    costs = np.log1p((left / linear.scale) ** 2).sum(axis=2)
    gains = np.where(is_held[0] & is_held[1:], costs[0] - costs[1:], 0.0)
    sums = np.cumsum(np.stack((gains, gains[:, ::-1])), axis=2)[:, :, : n // 2]
    sums /= max(1.0, fit.correlation_factor)
    if not sums.size or sums.max() < math.log(2 * len(gains) / DOUBTED_CHANCE):
        return None
    side, k, last = (int(i) for i in np.unravel_index(np.argmax(sums), sums.shape))
    rest = np.cumsum(gains[:, last + 1 :] if side == 0 else gains[:, : n - last - 1], axis=1)
    by_rest = (rest - np.minimum.accumulate(rest, axis=1)).max() / max(1.0, fit.correlation_factor)
    needed = max(math.log(2 * len(gains) / MAX_CHANCE), BEYOND_REST * by_rest)
    inner = last + 1 if side == 0 else n - last - 1
    border_s = 0.5 * float(mid_s[inner - 1] + mid_s[inner])
    outer_s = float(mid_s[0] if side == 0 else mid_s[-1])
    return DeviantEnd(
        border_s=border_s,
        span_s=abs(outer_s - border_s),
        apart_s=float(tried_s[k + 1]),
        is_start=side == 0,
        is_certain=bool(sums.max() >= needed),
    )
