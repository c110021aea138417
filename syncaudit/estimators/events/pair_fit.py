"""Fit offset, drift, steps, unknown line delays and exposures to matched pairs of events."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from syncaudit.dsp.robust import cauchy_weights, mad_std
from syncaudit.estimators.events.instants import Corrections, Instants
from syncaudit.model.arrays import Floats, Ints

# One-sigma prior on the drift. It is searched to 1000 ppm: two events alone must not give more.
DRIFT_PRIOR = 5e-4
N_ITERATIONS = 6
# Residual allowed to an event, in sigmas, plus an allowance for what no detector's model covers.
GATE_SIGMAS = 4.5
GATE_FLOOR_S = 1e-4
# Variance of a uniform interval over the square of half its width.
UNIFORM = 1.0 / 3.0
STD_FLOOR_S = 1e-6
# Ratio of the fitted to the usual line delay (18 ms per frame): readouts take 3 to 40 ms.
MIN_LINE_SHARE = 0.17
MAX_LINE_SHARE = 2.2
# Flashes are filmed by exposures of up to this.
MAX_EXPOSURE_S = 0.033
N_PLAIN = 6  # offset, drift, two line delays and two exposures stand before the steps


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetStep:
    """A change of the offset.

    Parameters
    ----------
    after_s, before_s : float
        Source times of the matched events between which it happened.
    size_s, std_s : float
        Size of the step and its standard error.
    """

    after_s: float
    before_s: float
    size_s: float = 0.0
    std_s: float = 0.0

    @property
    def at_s(self) -> float:
        """Return the midpoint of the interval in which it happened."""
        return 0.5 * (self.after_s + self.before_s)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairFit:
    """The clock map of a pair: ``target = source + offset + drift * (source - anchor)``.

    Parameters
    ----------
    anchor_s : float
        Source time at which the offset holds.
    offset_s, drift : float
        Estimates, in the times of the two evidences.
    source, target : Corrections
        Of the assumed line delays and exposures.
    steps : tuple of OffsetStep
        Changes of the offset, in order of time.
    covariance : ndarray, shape (6 + k, 6 + k)
        Of offset, drift, the two line delays, the two exposures and k steps; inflated by the
        reduced chi-square.
    chi2_reduced : float
        Of the weighted residuals.
    n : int
        Pairs fitted.
    """

    anchor_s: float
    offset_s: float
    drift: float
    source: Corrections
    target: Corrections
    steps: tuple[OffsetStep, ...]
    covariance: Floats
    chi2_reduced: float
    n: int

    @property
    def timing_s(self) -> Floats:
        """Return the corrections in the order of the covariance, shape (4,)."""
        both = self.source, self.target
        return np.array([own.line_delay_s for own in both] + [own.exposure_s for own in both])

    @property
    def offset_std_s(self) -> float:
        """Return the random standard error of the offset."""
        return float(np.sqrt(self.covariance[0, 0]))

    @property
    def drift_std(self) -> float:
        """Return the standard error of the drift."""
        return float(np.sqrt(self.covariance[1, 1]))

    def predict(self, source_s: Floats) -> Floats:
        """Return the target times that correspond to source times."""
        predicted: Floats = source_s + self.offset_s + self.drift * (source_s - self.anchor_s)
        for step in self.steps:
            predicted = predicted + step.size_s * (source_s >= step.at_s)
        return predicted

    def source_of(self, target_s: Floats) -> Floats:
        """Return the source times that `predict` maps to the target times."""
        found: Floats = self.anchor_s + (target_s - self.offset_s - self.anchor_s) / (
            1.0 + self.drift
        )
        for step in self.steps:
            found = np.where(found - step.size_s >= step.at_s, found - step.size_s, found)
        return found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TimingUnknown:
    """A line delay or an exposure that is not stated.

    Parameters
    ----------
    column : int
        Column in the covariance of a fit.
    lever : ndarray, shape (n,)
        Derivative of the source time minus the target time of each pair.
    assumed_s, std_s : float
        Assumed value and its standard error.
    lowest_s, highest_s : float
        Bounds of what cameras have.
    """

    column: int
    lever: Floats
    assumed_s: float
    std_s: float
    lowest_s: float
    highest_s: float


def timing_unknowns(
    source: Instants, target: Instants, i: Ints, j: Ints
) -> Iterator[TimingUnknown]:
    """Yield the line delays and exposures that these pairs of events depend on."""
    sides = (source, i, 1.0), (target, j, -1.0)
    for column, (events, at, sign) in enumerate(sides, start=2):
        if events.line_delay_std_s > 0.0:
            yield TimingUnknown(
                column=column,
                lever=sign * events.row_px[at],
                assumed_s=events.line_delay_s,
                std_s=events.line_delay_std_s,
                lowest_s=MIN_LINE_SHARE * events.line_delay_s,
                highest_s=MAX_LINE_SHARE * events.line_delay_s,
            )
    for column, (events, at, sign) in enumerate(sides, start=4):
        if events.exposure_std_s > 0.0:
            yield TimingUnknown(
                column=column,
                lever=sign * events.exposure_parts[at],
                assumed_s=events.exposure_s,
                std_s=events.exposure_std_s,
                lowest_s=0.0,
                highest_s=MAX_EXPOSURE_S,
            )


def gates_s(
    source: Instants, target: Instants, i: Ints, j: Ints, *, loose_s: float = 0.0
) -> Floats:
    """Return how far apart the events of each pair may lie and still match, shape (n,)."""
    gate: Floats = (
        source.half_s[i]
        + target.half_s[j]
        + GATE_SIGMAS * np.hypot(source.std_s[i], target.std_s[j])
        + GATE_FLOOR_S
        + loose_s
    )
    return gate


def residuals_s(fit: PairFit, source: Instants, target: Instants, i: Ints, j: Ints) -> Floats:
    """Return target minus predicted times of the pairs, shape (n,)."""
    difference: Floats = target.at(fit.target)[j] - fit.predict(source.at(fit.source)[i])
    return difference


def fit_pair(
    source: Instants,
    target: Instants,
    i: Ints,
    j: Ints,
    *,
    steps: Sequence[OffsetStep] = (),
    n_iterations: int = N_ITERATIONS,
) -> PairFit:
    """Fit the clock map to pairs by robust least squares.

    Uses Cauchy weights; intervals count as their middles, with a third of the square of half their
    width as variance. A line delay or exposure that is not stated is an unknown with a wide prior
    around the usual value: where the pairs do not determine it, its uncertainty enters the error of
    the offset.

    Parameters
    ----------
    source, target : Instants
        Of the pair.
    i, j : ndarray of int, shape (n,)
        Events that belong together.
    steps : sequence of OffsetStep
        Source times from which on the offset may differ.
    n_iterations : int
        Of the robust weights.

    Returns
    -------
    PairFit
        Anchored at the mean of the events, where offset and drift are hardly correlated.
    """
    source_s = source.times_s[i]
    anchor_s = float(source_s.mean())
    variance = (
        source.std_s[i] ** 2
        + target.std_s[j] ** 2
        + UNIFORM * (source.half_s[i] ** 2 + target.half_s[j] ** 2)
        + STD_FLOOR_S**2
    )
    columns = [np.ones(i.size), source_s - anchor_s]
    unknowns, prior_std = [0, 1], [1e6, DRIFT_PRIOR]
    for k, step in enumerate(steps):
        columns.append((source_s >= step.at_s).astype(np.float64))
        unknowns.append(N_PLAIN + k)
        prior_std.append(1e3)
    n_clock = len(unknowns)
    for unknown in timing_unknowns(source, target, i, j):
        columns.append(unknown.lever)
        unknowns.append(unknown.column)
        prior_std.append(unknown.std_s)
    prior = np.array(prior_std)
    design = np.stack(columns, axis=1) * prior
    values = target.times_s[j] - source_s
    centre = float(values.mean())
    values = values - centre
    std = np.sqrt(variance)
    weights = 1.0 / variance
    ridge = np.eye(prior.size)
    x = np.zeros(prior.size)
    scaled = values / std
    rows = [k for k, unknown in enumerate(unknowns) if unknown in (2, 3)]
    measured = design.copy()
    for iteration in range(n_iterations):
        if rows and iteration:
            # Take derivatives at the fitted rows; otherwise the errors of the rows would shrink the
            # line delays (structural errors-in-variables regression; Fuller, 1987). Timestamps that
            # jitter are errors of the instants, not of the rows.
            for k in rows:
                side, at, sign = (source, i, -1.0) if unknowns[k] == 2 else (target, j, 1.0)
                own_var = np.maximum(side.std_s[at] ** 2 - side.jitter_s**2, 0.0)
                line_s = side.line_delay_s
                line_s = max(line_s + float(x[k]) * prior[k], 0.1 * line_s)
                error_px = sign * scaled * std * own_var / variance / line_s
                design[:, k] = measured[:, k] + sign * error_px * prior[k]
        weighted = design * weights[:, None]
        aim = values - (measured - design) @ x
        x = np.linalg.solve(design.T @ weighted + ridge, weighted.T @ aim)
        scaled = (values - measured @ x) / std
        # Scatter beyond the stated errors widens everything except the priors of the line delays.
        excess = max(1.0, mad_std(scaled))
        robust = cauchy_weights(scaled / excess)
        weights = robust / (variance * excess**2)
    chi2 = float(np.sum(robust * scaled**2)) / max(1, i.size - n_clock)
    weighted = design * (robust / (variance * max(1.0, chi2)))[:, None]
    size = N_PLAIN + len(steps)
    covariance = np.zeros((size, size))
    covariance[np.ix_(unknowns, unknowns)] = np.linalg.inv(design.T @ weighted + ridge) * np.outer(
        prior, prior
    )
    solved = np.zeros(size)
    solved[unknowns] = x * prior
    on_source, on_target = (
        Corrections(
            line_delay_s=float(solved[k]),
            exposure_s=float(solved[k + 2]),
            exposure_std_s=float(np.sqrt(covariance[k + 2, k + 2])),
        )
        for k in (2, 3)
    )
    return PairFit(
        anchor_s=anchor_s,
        offset_s=float(solved[0]) + centre,
        drift=float(solved[1]),
        source=on_source,
        target=on_target,
        steps=tuple(
            replace(step, size_s=float(solved[k]), std_s=float(np.sqrt(covariance[k, k])))
            for k, step in enumerate(steps, start=N_PLAIN)
        ),
        covariance=covariance,
        chi2_reduced=chi2,
        n=int(i.size),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EventMatch:
    """Matched events of two sources, and the clock map that follows from them.

    Parameters
    ----------
    source, target : Instants
        The events matched.
    i, j : ndarray of int, shape (n,)
        Pairs of positions; empty where refused.
    fit : PairFit, optional
        The joint fit; given also with some refusals, for the figures.
    why : str, optional
        Reason of the refusal, in words.
    period_s : float, optional
        Period, where the offset is known only modulo a period.
    chance : float
        Probability that chance matched as many.
    n_runner_up : int
        Number of these events that the next best offset explains as well.
    """

    source: Instants
    target: Instants
    i: Ints
    j: Ints
    fit: PairFit | None = None
    why: str | None = None
    period_s: float | None = None
    chance: float = 1.0
    n_runner_up: int = 0

    @property
    def n(self) -> int:
        """Return how many events matched."""
        return int(self.i.size)

    @property
    def n_agree(self) -> int:
        """Return how many events the fit explains, also where it was refused."""
        return 0 if self.fit is None else self.fit.n
