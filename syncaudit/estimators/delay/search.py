"""Find the delay of one set of increments against another signal over a wide search range.

For every lag the increments are regressed on those of the driving signal (free mixing matrix, so
that mounting and scale need not be known), and the log-likelihood ratio against "no relation" is
computed. Normalising each lag by its own energy makes the curve comparable over lags (Lewis, "Fast
normalized cross-correlation", 1995).

How high a search peaks by chance is estimated from the same search on unrelated evidence. Reversed
in time, a signal keeps its spectrum, its bursts and its rests, and loses what it has in common with
another. The best delay must explain clearly more than the best of as many delays then does. Motion
that looks the same both ways (a pure oscillation, a single swing) has a shape that is not evidence
of one delay, and cannot be distinguished from chance either.

Nor have the two anything in common at delays far from the true one, unless their motion never ends
repeating itself: an engine shakes every camera at the same few frequencies, each with a phase of
its own, and some delay always comes close to all of these phases. There, others far away do too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from syncaudit.dsp.indices import runs_of
from syncaudit.dsp.integral import RunningIntegral
from syncaudit.dsp.robust import mad_std_of_columns
from syncaudit.estimators.delay.increments import Increments, LagEquations, LagTable, tabulated
from syncaudit.model import AgreementCurve
from syncaudit.model.arrays import Floats

# Rows used for the coarse search; more only cost time.
MAX_ROWS = 300
# Period of the fastest nuisance term: slower changes (gyro bias, translation that leaks into
# the rotation) are not evidence of a delay.
NUISANCE_PERIOD_S = 8.0
# Values processed together: small arrays that the allocator can reuse.
CHUNK_VALUES = 40_000
# Stride of a search: this part of the narrowest increment, and at most this many steps.
STRIDE_SHARE = 0.25
MAX_STRIDE = 4
# Bodies shake at 1 to 5 Hz, with lobes of at least 100 ms: this stride resolves chance peaks.
CHANCE_STEP_S = 0.03
# Delays this far from the best are unrelated to it: half the period of the slowest motion that is
# evidence. Those farther away than the second only cost time.
FAR_S = 0.5 * NUISANCE_PERIOD_S, 16.0
# Shorter searches are quicker in one piece.
MIN_LAGS = 200
# Delays that explain less than this part of the best cannot compete with it in between either.
NEAR_SHARE = 0.2
# Fraction of the rows that must overlap at a lag, relative to those that the driver could cover.
MIN_OVERLAP = 0.4
# Log-likelihood by which a valley must separate two lobes.
MIN_VALLEY = 4.0
# Half the range of delays around the best that is shown: the duration of a body's movement.
NEAR_S = 0.5
# Chance searches: more estimate the height better, and each costs as much as the search itself.
N_CHANCE = 3
# Share of unrelated evidence that may peak this high; other tests refuse most of it (gap to the
# next delay, gain, bands), and together they accept less than one in a thousand.
ALLOWED = 0.005
# Smallest number of peaks that the slope is computed with.
MIN_PEAKS = 8


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DelayCurve:
    """Log-likelihood ratio over the delay."""

    delays_s: Floats  # shape (l,): candidates, evenly spaced
    # shape (l,): gain of log-likelihood over "no relation"; -inf where too little overlaps
    log_likelihood: Floats

    def best(self) -> int:
        """Return the index of the best delay."""
        return int(np.argmax(self.log_likelihood))

    def runner_up(self, index: int, *, apart_s: float = 0.0) -> float:
        """Return the log-likelihood of the best lobe other than the one at `index`.

        Another lobe lies beyond a valley at least `MIN_VALLEY` below it: ripples on the flank of a
        lobe are part of that lobe. Only lobes farther away than `apart_s` count.
        """
        curve = np.where(np.isfinite(self.log_likelihood), self.log_likelihood, 0.0)
        best = 0.0
        distance_s = np.abs(self.delays_s - self.delays_s[index])
        for side, far in (
            (curve[index + 1 :], distance_s[index + 1 :]),
            (curve[:index][::-1], distance_s[:index][::-1]),
        ):
            if side.size:
                valley = np.minimum.accumulate(np.minimum(side, curve[index]))
                apart = (side - valley >= MIN_VALLEY) & (far >= apart_s)
                if apart.any():
                    best = max(best, float(side[apart].max()))
        return best

    def agreement(self, n_values: float, epochs_s: float) -> AgreementCurve | None:
        """Return the multiple correlation at every delay near the best.

        The log-likelihood of the `n_values` that it was summed over is ``-n / 2 log(1 - R^2)``.
        `epochs_s`: target epoch after source epoch.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            share = 1.0 - np.exp(-2.0 * self.log_likelihood / n_values)
        agreement = np.sqrt(np.clip(share, 0.0, 1.0))
        agreement[~np.isfinite(self.log_likelihood)] = np.nan
        return AgreementCurve.around(
            self.delays_s + epochs_s,
            agreement,
            float(self.delays_s[self.best()]) + epochs_s,
            near_s=NEAR_S,
        )

    def why_at_edge(self, epochs_s: float) -> str | None:
        """Return why the best delay is refused if it lies at the edge of the search, or None.

        `epochs_s`: target epoch after source epoch.
        """
        if not self.is_at_edge(self.best()):
            return None
        return (
            f"the best delay is at the edge of the search range ("
            f"{self.delays_s[0] + epochs_s:+.3g} to {self.delays_s[-1] + epochs_s:+.3g} s)"
        )

    def is_at_edge(self, index: int) -> bool:
        """Return whether the best delay lies at the end of the searchable range."""
        usable = np.flatnonzero(np.isfinite(self.log_likelihood))
        return bool(index <= usable[0] + 1 or index >= usable[-1] - 1)


def slow_basis(mid_s: Floats, span_s: float) -> Floats:
    """Return slow cosines over the clip, shape (n, k), that absorb the nuisance rate."""
    n_terms = 1 + int(2.0 * span_s / NUISANCE_PERIOD_S)
    phase = np.pi * (mid_s - mid_s.min()) / max(span_s, 1e-9)
    basis: Floats = np.cos(
        phase[:, None] * np.arange(min(n_terms, max(1, mid_s.size // 8)))[None, :]
    )
    return basis


def search_delay(
    increments: Increments,
    driver: RunningIntegral,
    *,
    lowest_s: float,
    highest_s: float,
    step_s: float,
) -> DelayCurve:
    """Return the likelihood curve over delays from `lowest_s` to `highest_s`."""
    search = DelaySearch.of(
        increments, driver, lowest_s=lowest_s, highest_s=highest_s, step_s=step_s
    )
    return search.curve(lowest_s, highest_s, step_s)


@dataclass(frozen=True, slots=True, eq=False)
class DelaySearch:
    """Data shared by all searches of one pair."""

    increments: Increments  # of the source, thinned to n rows of m columns
    values: Floats  # shape (n, m): increments without slow terms and outliers
    basis: Floats  # shape (n, b): slow terms, orthonormal
    driver: RunningIntegral  # signal of the target, k channels
    table: LagTable  # the driver, tabulated over the range of lags

    @classmethod
    def of(
        cls,
        increments: Increments,
        driver: RunningIntegral,
        *,
        lowest_s: float,
        highest_s: float,
        step_s: float,
    ) -> DelaySearch:
        """Prepare for delays in a range, in multiples of a step."""
        n = increments.values.shape[0]
        increments = replace(increments, values=_without_spikes(increments.values))
        if n > MAX_ROWS:
            increments = increments.rows(np.linspace(0, n - 1, MAX_ROWS).astype(np.intp))
        values, basis = _without_nuisance(increments)
        table = tabulated(
            driver,
            float(increments.start_s.min()) + lowest_s,
            float(increments.stop_s.max()) + highest_s,
            step_s,
        )
        return cls(increments, values, basis, driver, table)

    def curve(self, lowest_s: float, highest_s: float, step_s: float) -> DelayCurve:
        """Return the likelihood curve over delays, one value per delay.

        Wide increments have wide lobes: they are searched in longer strides, and values in between
        are computed only for lobes near the best. Elsewhere they are set to the lower neighbour.
        """
        delays_s = np.arange(lowest_s, highest_s + 0.5 * step_s, step_s)
        stride = min(MAX_STRIDE, int(STRIDE_SHARE * self.increments.width_s.min() / step_s))
        is_long = delays_s.size > MIN_LAGS and self.driver.coupling_std is None
        if stride < 2 or not is_long:
            return DelayCurve(delays_s=delays_s, log_likelihood=self._likelihood(delays_s, step_s))
        rough = self._likelihood(delays_s[::stride], stride * step_s)
        is_near = (rough >= NEAR_SHARE * rough.max()) & np.isfinite(rough)
        n_strides = (rough.size - 1) * stride
        curve = np.full(delays_s.size, -np.inf)
        curve[:n_strides] = np.repeat(np.minimum(rough[:-1], rough[1:]), stride)
        curve[::stride] = rough
        is_wanted = np.arange(delays_s.size) > n_strides
        is_wanted[:n_strides] = np.repeat(is_near[:-1] | is_near[1:], stride)
        for first, stop in zip(*runs_of(is_wanted), strict=True):
            curve[first:stop] = self._likelihood(delays_s[first:stop], step_s)
        return DelayCurve(delays_s=delays_s, log_likelihood=curve)

    def held_at(self, delay_s: float) -> float:
        """Return the share of the increments that the driver covers at a delay."""
        begin_s, end_s = self.increments.start_s, self.increments.stop_s
        return float(self.driver.covers(begin_s + delay_s, end_s + delay_s).mean())

    def by_chance(self, lowest_s: float, highest_s: float, step_s: float) -> list[Floats]:
        """Return the likelihood curves for increments that are out of order.

        Only the heights of peaks matter, not their positions, so long strides suffice.
        """
        stride = max(1, int(CHANCE_STEP_S / step_s + 1e-6))
        delays_s = np.arange(lowest_s, highest_s + 0.5 * step_s, step_s)[::stride]
        curves = []
        for order in chance_orders(self.values.shape[0]):
            increments = replace(self.increments, weights=self.increments.weights[order])
            other = replace(self, increments=increments, values=self.values[order])
            curves.append(other._likelihood(delays_s, stride * step_s))
        return curves

    def far_from(self, delay_s: float) -> list[Floats]:
        """Return the likelihood curves before and after a delay, at delays unrelated to it.

        Scaled to the rows that overlap: the fewer, the more chance explains of them. Empty where
        the two are too short to overlap there.
        """
        driver, rows = self.driver, self.increments
        nearest, farthest = (round(far_s / CHANCE_STEP_S) for far_s in FAR_S)
        away_s: Floats = CHANCE_STEP_S * np.arange(nearest, farthest, dtype=np.float64)
        lowest_s, highest_s = delay_s - away_s[-1], delay_s + away_s[-1]
        start_s, stop_s = float(rows.start_s.min()) + lowest_s, float(rows.stop_s.max()) + highest_s
        far = replace(self, table=tabulated(driver, start_s, stop_s, CHANCE_STEP_S))
        curves = []
        for delays_s in (delay_s - away_s[::-1], delay_s + away_s):
            curve = far._likelihood(delays_s, CHANCE_STEP_S)
            is_held = np.isfinite(curve)
            if is_held.any():
                held = [self.held_at(each) for each in delays_s[is_held].tolist()]
                curves.append(curve[is_held] * held)
        return curves

    def _likelihood(self, delays_s: Floats, step_s: float) -> Floats:
        """Return the log-likelihood ratio at evenly spaced delays, shape (l,)."""
        increments, driver = self.increments, self.driver
        n = self.values.shape[0]
        parts: list[LagEquations] = []
        searched: list[NDArray[np.intp]] = []
        is_enough = np.zeros(delays_s.size, dtype=np.bool_)
        span_s = float(increments.stop_s.max() - increments.start_s.min())
        needed = MIN_OVERLAP * min(1.0, (driver.stop_s - driver.start_s) / max(span_s, 1e-9))
        n_chunks = max(1, delays_s.size * n * driver.n_channels // CHUNK_VALUES)
        for chunk in np.array_split(np.arange(delays_s.size), n_chunks):
            begin = increments.start_s[:, None] + delays_s[chunk]
            end = increments.stop_s[:, None] + delays_s[chunk]
            covered = driver.covers(begin, end)
            is_enough[chunk] = covered.mean(axis=0) >= needed
            if is_enough[chunk].any():
                change = self.table.change(begin[:, 0], end[:, 0], chunk.size, step_s)
                parts.append(
                    LagEquations.of(self.values, increments.weights, self.basis, change, covered)
                )
                searched.append(chunk)
        curve = np.full(delays_s.size, -np.inf)
        if parts:
            normal, lags = LagEquations.joined(parts), np.concatenate(searched)
            curve[lags] = normal.log_likelihood(n)
            curve[~is_enough] = -np.inf
            if driver.coupling_std is not None:
                best = int(np.searchsorted(lags, np.argmax(curve)))
                curve[lags] = normal.log_likelihood(n, normal.ridge(best, n, driver.coupling_std))
                curve[~is_enough] = -np.inf
        return curve


def _without_nuisance(increments: Increments) -> tuple[Floats, Floats]:
    mid_s = increments.mid_s
    span_s = float(np.ptp(mid_s)) if mid_s.size else 0.0
    basis, _ = np.linalg.qr(slow_basis(mid_s, span_s) * increments.width_s[:, None])
    return increments.values - basis @ (basis.T @ increments.values), basis


def _without_spikes(values: Floats) -> Floats:
    """Clip isolated increments, so that a single bad one cannot decide.

    Motion lasts for several increments, so each may be twice as large as the largest of its
    neighbours, and up to six robust standard deviations in any case. The latter alone would clip
    all motion of a recording that is mostly at rest.
    """
    size = np.abs(values)
    n = size.shape[0]
    padded = np.pad(size, ((2, 2), (0, 0)))
    around = np.max([padded[k : k + n] for k in (0, 1, 3, 4)], axis=0)
    most = np.maximum(2.0 * around, 6.0 * mad_std_of_columns(size)) + 1e-15
    return np.asarray(np.clip(values, -most, most))


def chance_orders(n_rows: int) -> list[NDArray[np.intp]]:
    """Return orders of evenly spaced rows that have nothing in common with the original one.

    They run backwards in time, with parts exchanged: different pieces of the two signals meet each
    time.
    """
    backwards = np.arange(n_rows)[::-1]
    return [np.roll(backwards, k * n_rows // N_CHANCE) for k in range(N_CHANCE)]


def chance_height(by_chance: list[Floats], *, n_searches: float) -> tuple[float, float]:
    """Return the highest log-likelihood found by chance, and the height that rules chance out.

    For unrelated values, the probability that the log-likelihood exceeds a height falls off
    exponentially (in a normal regression of n values on k, exactly so for great heights, as
    ``exp(-L (n - k) / n)``). The highest of n peaks lies where one of them is expected, which gives
    the slope.

    Parameters
    ----------
    by_chance : list of ndarray
        Curves of searches on unrelated evidence; -inf where nothing overlaps.
    n_searches : float
        How many searches of the same range they make together.
    """
    n_peaks, highest = 0, 0.0
    for curve in by_chance:
        height = np.where(np.isfinite(curve), curve, 0.0)
        inner = height[1:-1]
        n_peaks += int(np.count_nonzero((inner > height[:-2]) & (inner >= height[2:])))
        highest = max(highest, float(height.max(initial=0.0)))
    n_peaks = max(n_peaks, MIN_PEAKS)
    scale = max(1.0, highest / math.log(n_peaks))
    return highest, scale * math.log(max(1.0, n_peaks / n_searches) / ALLOWED)


def why_by_chance(best: float, highest: float, needed: float, *, where: str) -> str | None:
    """Return why a peak may be due to chance, or None.

    `where` describes the unrelated evidence that reached the log-likelihood `highest`.
    """
    if best >= needed:
        return None
    return (
        f"no better than chance: {where} the same search reaches a log-likelihood of "
        f"{highest:.0f}, so {needed:.0f} is needed, and the best delay has {best:.0f}; use longer "
        "or more varied motion"
    )
