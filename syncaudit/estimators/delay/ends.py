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
# Probability of taking one delay for two.
MAX_CHANCE = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviantEnd:
    """An end of a clip that another delay describes far better.

    Parameters
    ----------
    border_s : float
        Where it begins or ends, on the source's clock.
    span_s : float
        How long it is.
    apart_s : float
        Its delay relative to that of the whole.
    is_start : bool
        Whether it is the start of the clip.
    """

    border_s: float
    span_s: float
    apart_s: float
    is_start: bool

    @property
    def words(self) -> str:
        """Describe the end."""
        where = "first" if self.is_start else "last"
        return (
            f"its {where} {self.span_s:.1f} s fit {1e3 * self.apart_s:+.0f} ms more than the rest "
            "of it: lost frames, or a step of a clock too near the end to be measured"
        )


def find_deviant_end(fit: DelayFit, drift_ppm: float = 0.0) -> DeviantEnd | None:
    """Return the end of a clip that has another delay, or None.

    Robust weights hide it: rows that follow another delay count for nothing. Its log-likelihood
    ratio to the delay of the whole, with the Cauchy distribution of the fit, grows with every row
    at that end. Were there one delay, the largest of these sums for any number of rows would exceed
    c with a probability of at most exp(-c) (Ville, "Étude critique de la notion de collectif",
    1939), for each end and each of the delays tried. Correlated residuals count for less.

    Parameters
    ----------
    fit : DelayFit
        Of the whole clip.
    drift_ppm : float
        Drift of the delay of the whole.
    """
    rows, driver, linear = fit.model.rows, fit.model.driver, fit.linear
    mid_s, n = rows.mid_s, rows.mid_s.size
    whole_s = fit.offset_s - fit.row_shift_s + 1e-6 * drift_ppm * (mid_s - fit.anchor_s)
    tried_s = np.arange(-REACH_S, REACH_S + 0.5 * STEP_S, STEP_S)
    tried_s = tried_s[np.abs(tried_s) > MIN_APART_S]

    def costs(apart_s: float) -> Floats:
        begin_s, end_s = rows.start_s + whole_s + apart_s, rows.stop_s + whole_s + apart_s
        is_held = (begin_s >= driver.start_s) & (end_s <= driver.stop_s)
        begin_s, end_s = (np.clip(t, driver.start_s, driver.stop_s) for t in (begin_s, end_s))
        change = driver.at(end_s) - driver.at(begin_s)
        left = linear.residuals + linear.fitted - change @ linear.mixing.T
        found: Floats = np.log1p((left / linear.scale) ** 2).sum(axis=1)
        return np.where(is_held, found, np.nan)

    base = costs(0.0)
    gains = np.array([base - costs(apart_s) for apart_s in tried_s.tolist()])
    gains[np.isnan(gains)] = 0.0  # of rows that the driver does not cover, nothing is known
    sums = np.cumsum(np.stack((gains, gains[:, ::-1])), axis=2)[:, :, : n // 2]
    sums /= max(1.0, fit.correlation_factor)
    if not sums.size or sums.max() < math.log(2 * tried_s.size / MAX_CHANCE):
        return None
    end, k, last = (int(i) for i in np.unravel_index(np.argmax(sums), sums.shape))
    inner = last + 1 if end == 0 else n - last - 1
    border_s = 0.5 * float(mid_s[inner - 1] + mid_s[inner])
    outer_s = float(mid_s[0] if end == 0 else mid_s[-1])
    return DeviantEnd(
        border_s=border_s,
        span_s=abs(outer_s - border_s),
        apart_s=float(tried_s[k]),
        is_start=end == 0,
    )
