"""Model the increments at given delays, and estimate their errors and those of a fitted delay.

The source's increments are modelled by those of the target's running integral at the given delays,
with a free mixing matrix and slow terms. These linear parts are solved and projected out, and the
remainder depends on the delay alone (variable projection; see `fit`).

Errors of increments are estimated at rest and in motion.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import uniform_filter1d

from syncaudit.dsp.integral import RunningIntegral
from syncaudit.dsp.robust import (
    MAD_TO_STD,
    block_covariance,
    hac_covariance,
    mad_std_of_columns,
    median,
    student_widening,
)
from syncaudit.estimators.delay.increments import Increments
from syncaudit.estimators.delay.search import slow_basis
from syncaudit.model.arrays import Bools, Floats

# Ridge on columns scaled to unit length: keeps undetermined coefficients small.
RIDGE = 1e-12
# Rates at the ends of an increment are means over some time to either side: instantaneous rates
# contain the driver's noise over its full bandwidth, which would be taken for motion. The mean
# covers enough samples for noise to be this part of the power of a change of rate (reported errors
# are then too small by half that part); at least two samples, and at most this part of the
# increment to either side, because averaging blurs the rate.
NOISE_SHARE = 0.05
MIN_SAMPLES = 2.0
RATE_SHARE = 0.25
# The quietest increments, one in this many, bound the effect of noise on a change of rate.
QUIET_PART = 3
# The slope is measured over this part of an increment to either side: far more than the scale of
# vibration, far less than a lobe (for shaking bodies, the slope is then 1 % too small).
SLOPE_SHARE = 0.1
# Smallest followed share of the sensitivity; it is lower only where there is nothing to measure.
MIN_FOLLOWED = 0.1

N_BLOCKS = 10
# The largest of four estimates of one variance is too large: by 1.3 on average for uncorrelated
# scores. Divided by this, their intervals cover 95 % (94.4 to 95.9 in simulation, for 90 to 600
# rows and motion that is even or comes in bursts). Correlated scores exceed it by far.
LARGEST_OF_FOUR = 1.2
# Increments over which motion is averaged: an error due to motion need not coincide with it.
MOTION_ROWS = 5
# The median of the few values that hold half of the information varies by a quarter: scatter below
# twice the noise may be noise alone, and the weights of the fit handle it.
CLEARLY_MORE = 2.0


@dataclass(frozen=True, slots=True, eq=False)
class DelayModel:
    """Source increments as those of a driver, with a free mixing matrix and slow terms."""

    rows: Increments  # of the source, n rows of m columns
    driver: RunningIntegral  # of the target, k channels
    slow: Floats  # shape (n, b): slow terms of increments
    root: Floats  # shape (n, m): square root of the increments' weights
    ridge: Floats  # shape (k + b, k + b): regularisation of the scaled normal equations
    reach_s: Floats  # shape (n,): rates at the ends are means over this time to either side
    # shape (n,): contribution of the driver's noise to the squared change of these rates, summed
    # over the channels followed
    noise2: Floats

    @classmethod
    def of(cls, rows: Increments, driver: RunningIntegral) -> DelayModel:
        """Return the model of the given rows."""
        slow = slow_basis(rows.mid_s, float(np.ptp(rows.mid_s))) * rows.width_s[:, None]
        ridge = RIDGE * np.eye(driver.n_channels + slow.shape[1])
        return cls(rows, driver, slow, np.sqrt(rows.weights), ridge, *_reach(rows, driver))

    def at(
        self, delays_s: Floats, robust: Floats, known: Floats, before: Linearised | None
    ) -> Linearised | None:
        """Return the model at delays, shape (n,); None where the delay changes nothing.

        The weighted normal equations of each column are solved with columns scaled to unit length.
        """
        rows, driver = self.rows, self.driver
        n, k = delays_s.size, driver.n_channels
        reach_s = self.reach_s
        begin_s, end_s = rows.start_s + delays_s, rows.stop_s + delays_s
        at_s = np.concatenate(
            [begin_s, end_s, begin_s - reach_s, begin_s + reach_s, end_s - reach_s, end_s + reach_s]
        )
        angles = driver.angles_at(np.minimum(np.maximum(at_s, driver.start_s), driver.stop_s))
        change = angles[n : 2 * n] - angles[:n]
        span_s = 2.0 * reach_s[:, None]
        first = (angles[3 * n : 4 * n] - angles[2 * n : 3 * n]) / span_s
        last = (angles[5 * n :] - angles[4 * n : 5 * n]) / span_s
        bend = last - first
        values = rows.values - known
        design = np.concatenate([change, self.slow], axis=1)
        weights = rows.weights * robust
        if before is not None:
            weights = weights / before.spread**2
        weighted = design.T * weights.T[:, None, :]  # (m, p, n)
        gram = weighted @ design
        if driver.coupling_std is not None:
            np.einsum("mpp->mp", gram)[:, :k] += _ridge(driver.coupling_std, before)
        norm = np.sqrt(np.diagonal(gram, axis1=1, axis2=2)) + 1e-30
        norms = norm[:, :, None] * norm[:, None, :]
        solver = np.linalg.inv(gram / norms + self.ridge) / norms
        beta = _coefficients(solver, weighted, values)
        mixing = beta[:, :k]
        bend = bend * self._motion_share(bend)[:, None]
        residuals = values - design @ beta.T
        raw = bend @ mixing.T
        sensitivity = raw - design @ _coefficients(solver, weighted, raw).T
        if not sensitivity.any():
            return None
        noise, spread = noise_of_motion(
            residuals * self.root, sensitivity * self.root, is_even=rows.is_noise_even
        )
        return Linearised(
            design=design,
            fitted=change @ mixing.T,
            weighted=weighted,
            solver=solver,
            residuals=residuals,
            raw_sensitivity=raw,
            sensitivity=sensitivity,
            weights=rows.weights * robust / (noise * spread) ** 2,
            scale=noise * spread / self.root,
            noise=noise,
            spread=spread,
            bend=bend,
            rate=0.5 * (first + last),
            mixing=mixing,
        )

    def _motion_share(self, bend: Floats) -> Floats:
        """Return which share of a change of rate is motion, shape (n,).

        At rest there is only noise, which contains no information on the delay. The noise is no
        larger than in the quiet parts, even where fast vibration makes it look larger.
        """
        followed = bend[:, _is_followed(self.driver)]
        power = moving_mean(np.sum(followed**2, axis=1))
        quiet = np.partition(power, power.size // QUIET_PART)[power.size // QUIET_PART]
        share: Floats = 1.0 - np.minimum(self.noise2, quiet) / (power + 1e-300)
        return np.maximum(0.0, share)

    def distinct_share(self, apart: Floats, delay_s: Floats) -> Floats:
        """Return which share of the driver's difference between two delays is motion, shape (n,).

        `apart`, shape (n, k): increments at one delay less those at another, `delay_s` farther,
        shape (n,) or one for all. At rest the two contain nothing but noise, that of the two times
        between them.
        """
        power = moving_mean(np.sum(apart[:, _is_followed(self.driver)] ** 2, axis=1))
        between_s = np.minimum(np.abs(delay_s), self.rows.width_s)
        density = self.noise2 * np.maximum(self.reach_s, 0.5 * self.driver.period_s)
        share: Floats = 1.0 - 2.0 * density * between_s / (power + 1e-300)
        return np.maximum(0.0, share)

    def strength(self, found: Linearised) -> tuple[float, float]:
        """Return gain and explained share of a fit, slow terms aside.

        The gain is the size of the fitted signal over that of the driver: of all axes together
        where both have the same number, else the norm of the strongest row of the mixing matrix.
        """
        m, k = found.mixing.shape
        n_signals = k if self.driver.n_signals is None else self.driver.n_signals
        change, seen = self.fast(found)
        fitted = change @ found.mixing.T
        power = float(np.sum(found.weights * fitted**2))
        left = float(np.sum(found.weights * found.residuals**2))
        explained = power / (power + left + 1e-30)
        if m == n_signals:
            return float(np.sqrt(np.sum(fitted**2) / (np.sum(change**2) + 1e-30))), explained
        gains = [
            _shrunken_norm(
                self.root[:, j] * seen[:, j],
                self.root[:, [j]] * change[:, :n_signals],
                float(found.noise[j]),
            )
            for j in range(m)
        ]
        return max(gains), explained

    def followed_share(
        self, found: Linearised, delays_s: Floats, robust: Floats, known: Floats, terms: Floats
    ) -> Floats:
        """Return which part of the nominal information on a delay the score shows, shape (p, p).

        Gauss-Newton approximates the slope of the score by the weighted sum of squared
        sensitivities. That includes motion that only the driver senses (vibration, noise, also at
        rest), which shifts with the delay like everything else but does not reduce the residuals
        anywhere. This does not affect the estimate, but its reported error: the bread of the
        sandwich (Huber, "Robust statistics", 1981) is the slope of the score, which is measured
        from the score itself a little to either side.

        Parameters
        ----------
        found : Linearised
            The model at the fitted delays.
        delays_s, robust, known
            As for `at`.
        terms : ndarray, shape (p, n)
            Change of the delays per unit of each of their p parameters.

        Returns
        -------
        ndarray
            ``N^-1/2 A N^-1/2`` with A the slope and N the weighted squares of sensitivities;
            symmetric, eigenvalues from `MIN_FOLLOWED` to 1.
        """
        weighted = found.weights * found.sensitivity
        promised = np.einsum("pn,nm,qn->pq", terms, weighted * found.sensitivity, terms)
        apart_s = SLOPE_SHARE * median(self.rows.width_s)
        slope = np.empty_like(promised)
        for k, term in enumerate(terms):
            step = apart_s / float(np.max(np.abs(term)))
            scores = []
            for sign in (-1.0, 1.0):
                there = self.at(delays_s + sign * step * term, robust, known, found)
                if there is None:
                    return np.eye(len(terms))
                scores.append(
                    terms @ np.sum(found.weights * there.sensitivity * there.residuals, axis=1)
                )
            slope[k] = (scores[0] - scores[1]) / (2.0 * step)
        inverse = _power(promised, -0.5)
        share = inverse @ (0.5 * (slope + slope.T)) @ inverse
        values, vectors = np.linalg.eigh(share)
        limited: Floats = (vectors * np.clip(values, MIN_FOLLOWED, 1.0)) @ vectors.T
        return limited

    def fast(self, found: Linearised) -> tuple[Floats, Floats]:
        """Return both sides without slow terms: the driver's, (n, k), and the source's, (n, m)."""
        k = found.mixing.shape[1]
        seen = found.design[:, :k] @ found.mixing.T + found.residuals
        columns = np.concatenate([found.design[:, :k], seen], axis=1)
        gram = self.slow.T @ self.slow
        gram += RIDGE * np.trace(gram) * np.eye(gram.shape[0])
        columns -= self.slow @ np.linalg.solve(gram, self.slow.T @ columns)
        return columns[:, :k], columns[:, k:]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Linearised:
    """The model linearised in the delay, with mixing matrix and slow terms projected out."""

    design: Floats
    fitted: Floats
    weighted: Floats
    solver: Floats
    residuals: Floats
    raw_sensitivity: Floats
    sensitivity: Floats
    weights: Floats
    scale: Floats
    noise: Floats
    spread: Floats
    bend: Floats
    rate: Floats
    mixing: Floats

    def leverage(self) -> Floats:
        """Return how much of each value the linear part follows, shape (n, m)."""
        leverage: Floats = np.einsum("mpn,np->nm", self.solver @ self.weighted, self.design)
        return leverage

    def project(self, matrix: Floats) -> Floats:
        """Remove the linear part from every column of `matrix`, shape (n, m)."""
        linear = _coefficients(self.solver, self.weighted, matrix)
        return matrix - self.design @ linear.T


def moving_mean(squares: Floats) -> Floats:
    """Return means of neighbouring rows, shape (n,); rounding of their running sum is cut at 0."""
    return np.maximum(uniform_filter1d(squares, MOTION_ROWS, mode="nearest"), 0.0)


def _reach(rows: Increments, driver: RunningIntegral) -> tuple[Floats, Floats]:
    """Return the averaging time of rates to either side, and the noise left, shape (n,) each.

    Noise is estimated from third differences of samples: motion up to a fifth of their rate leaves
    little in them (where it leaves more, the mean is longer than necessary). The variance of a mean
    over m samples is 1 / m of theirs, and a change of rate is the difference of two means.
    Vibration between two samples of the source is seen by the driver alone, so the mean covers at
    least the source's sample period.
    """
    rate, period_s = driver.integral.c[-2][:, _is_followed(driver)], driver.period_s
    most_s = RATE_SHARE * rows.width_s
    apart = max(1, round(median(rows.width_s) / period_s))
    if rate.shape[0] <= apart + 3:
        return most_s, np.zeros_like(most_s)
    noise2 = float(np.sum(mad_std_of_columns(np.diff(rate, 3, axis=0)) ** 2)) / 20.0
    change2 = float(np.mean(np.sum((rate[apart:] - rate[:-apart]) ** 2, axis=1)))
    n_samples = 2.0 * noise2 / (NOISE_SHARE * change2 + 1e-300)
    least_s = max(rows.period_s, period_s * max(MIN_SAMPLES, n_samples))
    reach_s = np.minimum(most_s, 0.5 * least_s)
    return reach_s, noise2 * period_s / np.maximum(reach_s, 0.5 * period_s)


def _is_followed(driver: RunningIntegral) -> Bools:
    """Return which channels are followed, shape (k,): those that only leak in are not."""
    if driver.coupling_std is None:
        return np.ones(driver.n_channels, dtype=np.bool_)
    return np.isinf(driver.coupling_std)


def _coefficients(solver: Floats, weighted: Floats, matrix: Floats) -> Floats:
    """Return the linear coefficients of each column of `matrix`, (n, m); shape (m, p)."""
    return (solver @ (weighted @ matrix.T[:, :, None]))[..., 0]


def _ridge(coupling_std: Floats, before: Linearised | None) -> Floats:
    """Return the ridge on each channel, shape (m, k) or (k,), which limits leaking channels.

    Until noise and gain are known, those are excluded altogether.
    """
    is_free = np.isinf(coupling_std)
    if before is None:
        return np.where(is_free, 0.0, 1e18)
    gain = np.abs(before.mixing[:, is_free]).max(axis=1) + 1e-30
    strength: Floats = (before.noise[:, None] / (coupling_std * gain[:, None])) ** 2
    return strength


def _shrunken_norm(target: Floats, design: Floats, noise: float) -> float:
    """Return the norm of the regression of a column on others, (n, p), shrunk where noise rules.

    In plain least squares, axes that hardly move would inflate the norm; the ridge is that of a
    unit prior on every coefficient. For signals without any noise (synthetic, or constant except
    for one damaged value) the ridge may vanish: the shortest solution is taken then.
    """
    gram = design.T @ design + noise**2 * np.eye(design.shape[1])
    return float(np.linalg.norm(np.linalg.lstsq(gram, design.T @ target, rcond=None)[0]))


def with_slope(normal: Floats, share: Floats) -> Floats:
    """Return normal equations, shape (q, q), with the slope of the score for the first p.

    Their coupling to the others is scaled consistently, so that the equations stay positive
    definite.
    """
    p = share.shape[0]
    root, inverse = _power(normal[:p, :p], 0.5), _power(normal[:p, :p], -0.5)
    scale = np.eye(normal.shape[0])
    scale[:p, :p] = inverse @ _power(share, 0.5) @ root
    return scale.T @ normal @ scale


def _power(matrix: Floats, exponent: float) -> Floats:
    values, vectors = np.linalg.eigh(matrix)
    powered: Floats = (vectors * np.maximum(values, 1e-300) ** exponent) @ vectors.T
    return powered


def covariance_of(residuals: Floats, columns: Floats, normal: Floats) -> tuple[Floats, float]:
    """Return the largest of four covariances, and the variance factor due to correlation.

    Parameters
    ----------
    residuals : ndarray, shape (n, m)
        With the variance they would have without the fit, in units of the standard deviation that
        their weights imply.
    columns : ndarray, shape (n, m, p)
        Derivatives of the model in the same units.
    normal : ndarray, shape (p, p)
        Slope of the score.
    """
    inverse = np.linalg.inv(normal)
    scores = np.einsum("nm,nmp->np", residuals, columns)
    n_lags = max(2, int(1.5 * scores.shape[0] ** (1.0 / 3.0)))
    independent, hac, block, turned = (
        inverse @ found @ inverse
        for found in (
            scores.T @ scores,
            hac_covariance(scores, n_lags=n_lags),
            block_covariance(scores, n_blocks=N_BLOCKS),
            _turned_covariance(residuals, columns),
        )
    )
    # The largest variance per parameter, with the correlations of the sandwich estimate.
    variances = np.array([each.diagonal() for each in (independent, hac, block, turned)])
    # A parameter that no row depends on has no variance to widen.
    usual = np.where(variances[1] > 0.0, LARGEST_OF_FOUR * variances[1], 1.0)
    wider = np.sqrt(variances.max(axis=0) / usual)
    # Where few rows hold most of the information, few degrees of freedom determine the variance
    # (Satterthwaite, "An approximate distribution of estimates of variance components",
    # Biometrics Bull. 2, 1946, doi:10.2307/3002019).
    information = np.sum(columns**2, axis=1)
    shares = information / (information.sum(axis=0) + 1e-300)
    n_free = 1.0 / (np.sum(shares**2, axis=0) + 1e-300)
    wider *= [student_widening(max(1.0, free)) for free in n_free]
    covariance: Floats = hac * wider * wider[:, None]
    return covariance, float(max(1.0, hac[0, 0] / independent[0, 0]))


def _turned_covariance(residuals: Floats, columns: Floats) -> Floats:
    """Return the mean square of the scores over all cyclic shifts of the residuals.

    Where a motion repeats, the part that the model cannot follow repeats with it: it is no more
    random than one cycle, and since the sum of the scores is zero, no sum of them shows it. Shifted
    cyclically against the columns, by all shifts, the residuals show the effect of such patterns.
    An error of the gain alone (noise of the driver reduces it) leaves residuals that look like the
    motion. It does not move the delay, and its products with the motion's derivative change sign
    with the shift. So shifts to either side are averaged.
    """
    n = residuals.shape[0]
    spectrum = np.fft.rfft(residuals, axis=0)[:, :, None].conj() * np.fft.rfft(columns, axis=0)
    turned = np.fft.irfft(spectrum.sum(axis=1), n, axis=0)
    even = (turned + np.roll(turned[::-1], 1, axis=0)) / np.sqrt(2.0)
    covariance: Floats = even.T @ even / n
    return covariance


def noise_of_motion(
    residuals: Floats, sensitivity: Floats, *, is_even: bool = False
) -> tuple[Floats, Floats]:
    """Return the noise at rest, shape (m,), and each value's scatter over it, shape (n, m).

    A sensor's noise is constant; errors of scale, axes, range, filters and timestamps grow with the
    motion. Where a recording is mostly at rest, the median residual measures only the noise, and by
    that measure all of the motion, and with it all information on the delay, would be outliers. So
    the variance is ``noise^2 + error^2 motion``, where ``motion`` is the mean square of the
    sensitivity to the delay nearby, over all columns. The error is chosen so that half of the
    information, rather than half of the values, lies within its probable error.

    Parameters
    ----------
    residuals, sensitivity : ndarray, shape (n, m)
        Of the increments, in units in which each column's noise is even.
    is_even : bool
        Whether errors do not grow with the motion: video coding suppresses most where it is slow.
    """
    noise = mad_std_of_columns(residuals) + 1e-15
    if is_even:
        return noise, np.ones_like(residuals)
    information = sensitivity**2
    motion = moving_mean(information.sum(axis=1))
    motion = np.maximum(motion, 1e-12 * motion.max() + 1e-300)[:, None]
    excess = ((MAD_TO_STD * residuals) ** 2 - CLEARLY_MORE * noise**2) / motion
    order = np.argsort(excess, axis=0)
    share = np.cumsum(np.take_along_axis(information, order, axis=0), axis=0)
    middle = np.argmax(share >= 0.5 * share[-1], axis=0)
    columns = np.arange(residuals.shape[1])
    error2 = np.maximum(excess[order[middle, columns], columns], 0.0)
    return noise, np.sqrt(1.0 + error2 * motion / noise**2)
