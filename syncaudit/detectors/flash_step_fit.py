"""Date lights that go on or off and stay, by the ramps that they leave in frames."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from syncaudit.detectors.flash_steps import StepFrame
from syncaudit.dsp.robust import cauchy_weights

__all__ = ["StepEdge", "fit_steps"]

Floats = NDArray[np.float64]

N_ITERATIONS = 16
CONVERGED_ROWS = 0.02
# Longest move of a row in one iteration, as a share of the ramp.
MAX_MOVE = 0.2
# Error of encoded levels on the way through a ramp: on the side of the frame before, from which
# encoders predict, five times that on the other; and what is common to all rows of either side.
# Measured with x264 at crf 26.
CODED_LEVELS = 0.6
PREDICTED_SHARE = 4.0
COMMON_LEVELS = (0.5, 0.15)
# Rows and column blocks over which such errors hang together.
CORRELATED_ROWS = 16.0
CORRELATED_BLOCKS = 2.0
# What the length of the ramp is off by where exposure and line delay are stated, and where they
# are not, as a logarithm; how tone curves bend.
STATED_LENGTH_STD = 0.02
LENGTH_STD = 0.5
BEND_STD = 0.1
# What encoders drop of a change that has only begun, in levels, and how unlike that may be.
DROPPED_LEVELS = 0.3
DROPPED_STD = 0.3
# Share of the ramp (at most of the picture) that must lie in clean rows: the fewer, the more a
# wrong level shifts it.
MIN_VISIBLE = 0.7
# Fewer steps are none: light may change for once, a lamp goes on and off.
MIN_STEPS = 3
# Longest ramp, in heights of the picture where nothing is stated, else in stated lengths: slower
# changes of light are no lamp.
MAX_HEIGHTS = 1.5
MAX_STRETCH = 1.25
# What is left of the light around a ramp, as a share of the change.
MAX_MISFIT = 0.03
# Blocks agree within this share of the ramp and this many rows; two thirds must.
AGREE_SHARE = 0.06
AGREE_ROWS = 3.0
MIN_AGREEING = 2.0 / 3.0
FLOOR_ROWS = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class StepEdge:
    """A fitted step.

    Parameters
    ----------
    index : int
        Frame in file order.
    is_on : bool
        Whether the light went on.
    row, row_std : float
        Row whose exposure was half over at the instant of the step, from the top, and its error.
    """

    index: int
    is_on: bool
    row: float
    row_std: float


@dataclass(slots=True)
class _State:
    """Unknowns of one step (row, levels of either side) and its last linear system."""

    row: float
    levels: Floats
    normal: Floats
    moved: float = math.inf


def fit_steps(steps: Sequence[StepFrame], *, exposure_px: float | None) -> list[StepEdge]:
    """Return the instants of steps in rows, those that look like a lamp's.

    A row that is exposed for E around the instant of a step gathers a share of the new light that
    grows linearly with the row, over E / line delay rows; the row in the middle of its exposure
    marks the instant. Model, in block b and row r, with the change D between both sides::

        done = a(u) D + n0 (1 - a) + n1 a,   u = clip(1/2 + (r - row) / length, 0, 1),
        a = u + sense * bend * u (1 - u)

    length and bend (of the tone curve, with the sense of the light) are common to all steps of a
    camera, the levels n0 and n1 are what encoders and gains do to the whole of a side. Gauss-Newton
    steps with all unknowns of a step eliminated from the common ones (Schur complement), Cauchy
    weights on cells. Ramps of another length (light that fades in, an ambient that changes slowly)
    do not fit and are refused.

    Parameters
    ----------
    steps : sequence of StepFrame
        Of one camera.
    exposure_px : float, optional
        Exposure over line delay, where stated.
    """
    starts = [_first_guess(step) for step in steps]
    longest = max((step.rows.size * step.bin_rows for step in steps), default=0)
    limit = MAX_HEIGHTS * longest if exposure_px is None else MAX_STRETCH * exposure_px
    pairs = [
        (step, guess)
        for step, guess in zip(steps, starts, strict=True)
        if guess is not None and guess[1] < 1.5 * limit
    ]
    if not pairs:
        return []
    length = exposure_px or float(np.median([guess[1] for _, guess in pairs]))
    kept = [step for step, _ in pairs]
    rows = [guess[0] for _, guess in pairs]
    for _ in range(2):  # once more without those that are no lamp's
        fit = _Fit(kept, rows, length, is_stated=exposure_px is not None)
        fit.solve()
        good = [fit.is_convincing(i) for i in range(len(kept))]
        rows = [state.row for state, is_good in zip(fit.states, good, strict=True) if is_good]
        kept = [step for step, is_good in zip(kept, good, strict=True) if is_good]
        if not kept or fit.length > limit:
            return []
        if all(good):
            break
        length = exposure_px or fit.length
    else:
        fit = _Fit(kept, rows, length, is_stated=exposure_px is not None)
        fit.solve()
    edges = [
        StepEdge(index=step.index, is_on=step.is_on, row=state.row, row_std=fit.row_std(i))
        for i, (step, state) in enumerate(zip(fit.steps, fit.states, strict=True))
        if fit.is_convincing(i)
    ]
    return edges if len(edges) >= MIN_STEPS else []


def _first_guess(step: StepFrame) -> tuple[float, float] | None:
    """Return row and length of a ramp by a line through its middle, or None where there is none."""
    on_ramp = np.flatnonzero((step.share > 0.15) & (step.share < 0.85))
    known = np.isfinite(step.share)
    if np.any(np.diff(np.sign(step.share[known] - 0.5)) < 0) and on_ramp.size < 2:
        return None
    if on_ramp.size < 3:
        dark = known & (step.share < 0.5)
        if not dark.any() or dark.all():
            return None
        return float(step.rows[dark][-1] + 0.5 * step.bin_rows), 3.0 * step.bin_rows
    rows, shares = step.rows[on_ramp], step.share[on_ramp]
    slope, at = np.polyfit(rows - rows.mean(), shares, 1)
    if slope <= 0.0:
        return None
    return float(rows.mean() + (0.5 - at) / slope), float(1.0 / slope)


class _Fit:
    """Steps of one camera with their common length and bend."""

    def __init__(
        self, steps: Sequence[StepFrame], rows: Sequence[float], length: float, *, is_stated: bool
    ) -> None:
        self.steps = steps
        self.states = [_State(row, np.zeros(2), np.eye(6)) for row in rows]
        self.weights = [step.is_clean.astype(np.float64) for step in steps]
        self.scales = np.ones(len(steps))
        self.log_length, self.bend, self.dropped = math.log(length), 0.0, DROPPED_LEVELS
        self._prior = (self.log_length, STATED_LENGTH_STD if is_stated else LENGTH_STD)
        self.common: Floats = np.eye(3)

    @property
    def length(self) -> float:
        return math.exp(self.log_length)

    def solve(self) -> None:
        """Iterate until no row moves."""
        for _ in range(N_ITERATIONS):
            self._improve()
            if max(state.moved for state in self.states) < CONVERGED_ROWS:
                break

    def _improve(self) -> None:
        start, std = self._prior
        stds = np.array([std, BEND_STD, DROPPED_STD])
        off = np.array([start - self.log_length, -self.bend, DROPPED_LEVELS - self.dropped])
        normal: Floats = np.diag(stds**-2.0)
        right: Floats = off / stds**2
        systems = [self._system(i) for i in range(len(self.steps))]
        for a, b in systems:
            gain = np.linalg.solve(a[:3, :3], a[:3, 3:])
            normal = normal + a[3:, 3:] - a[3:, :3] @ gain
            right = right + b[3:] - gain.T @ b[:3]
        self.common = np.asarray(np.linalg.inv(normal), dtype=np.float64)
        shared = np.clip(self.common @ right, -0.3, 0.3)
        for state, (a, b) in zip(self.states, systems, strict=True):
            move = np.linalg.solve(a[:3, :3], b[:3] - a[:3, 3:] @ shared)
            moved = float(np.clip(move[0], -MAX_MOVE * self.length, MAX_MOVE * self.length))
            state.row += moved
            state.moved = abs(moved)
            state.levels = state.levels + move[1:]
            state.normal = a
        self.log_length += float(shared[0])
        self.bend += float(shared[1])
        self.dropped += float(shared[2])

    def _shares(self, i: int) -> tuple[Floats, Floats, Floats]:
        """Return the share of exposure after the step, that of the change, and its slope."""
        step, state = self.steps[i], self.states[i]
        passed = 0.5 + (step.rows - state.row) / self.length
        u = np.clip(passed, 0.0, 1.0)
        bend = self.bend if step.is_on else -self.bend
        slope = np.where((passed > 0.0) & (passed < 1.0), 1.0 + bend * (1.0 - 2.0 * u), 0.0)
        return u, u + bend * u * (1.0 - u), slope

    def _residuals(self, i: int, a: Floats) -> Floats:
        step, state = self.steps[i], self.states[i]
        level = state.levels[0] * (1.0 - a) + state.levels[1] * a
        level -= self.dropped * (1.0 - a) ** 2 * (a > 0.0)
        return np.asarray(step.done - a[:, None] * step.change - level[:, None])

    def _system(self, i: int) -> tuple[Floats, Floats]:
        """Return normal matrix and right side: row, two levels, logarithm of the length, bend."""
        step, state = self.steps[i], self.states[i]
        u, a, slope = self._shares(i)
        left = self._residuals(i, a)
        is_clean = step.is_clean
        spread = 1.4826 * float(np.median(np.abs(left[is_clean]))) + 1e-3
        weights = is_clean * cauchy_weights(left / (1.3 * spread))
        self.scales[i] = max(1.0, spread / CODED_LEVELS)
        std = self.scales[i] * CODED_LEVELS * (1.0 + PREDICTED_SHARE * (1.0 - a))
        per_row = step.bin_rows / (std**2 * CORRELATED_ROWS * CORRELATED_BLOCKS)
        sums = [
            per_row * np.sum(values, axis=1)
            for values in (
                weights * step.change**2,
                weights * step.change,
                weights,
                weights * step.change * left,
                weights * left,
            )
        ]
        n = step.rows.size
        alpha, beta = np.zeros((6, n)), np.zeros((6, n))
        alpha[0] = -slope / self.length
        alpha[3] = -slope * (step.rows - state.row) / self.length
        alpha[4] = (1.0 if step.is_on else -1.0) * u * (1.0 - u)
        beta[1], beta[2] = 1.0 - a, a
        beta[5] = -((1.0 - a) ** 2) * (a > 0.0)
        cross = (alpha * sums[1]) @ beta.T
        normal = (alpha * sums[0]) @ alpha.T + cross + cross.T + (beta * sums[2]) @ beta.T
        right = alpha @ sums[3] + beta @ sums[4]
        prior = (self.scales[i] * np.array(COMMON_LEVELS)) ** -2.0
        normal[1, 1] += prior[0]
        normal[2, 2] += prior[1]
        right[1:3] -= prior * state.levels
        normal[0, 0] += 1e-12
        return normal, right

    def row_std(self, i: int) -> float:
        """Return the error of a row, with that of length and bend."""
        a = self.states[i].normal
        own = np.linalg.inv(a[:3, :3])
        lever = (own @ a[:3, 3:])[0]
        variance = own[0, 0] + lever @ self.common @ lever
        return math.hypot(math.sqrt(variance), FLOOR_ROWS)

    def is_convincing(self, i: int) -> bool:
        """Tell whether enough of the ramp is seen, fits, and lies alike in most blocks."""
        step, state = self.steps[i], self.states[i]
        _, a, slope = self._shares(i)
        on_ramp = slope > 0.0
        is_row = step.is_clean.any(axis=1)
        height = step.rows.size * step.bin_rows
        visible = np.count_nonzero(on_ramp & is_row) * step.bin_rows / min(self.length, height)
        ramp_rows = step.rows[on_ramp & is_row]
        if visible < MIN_VISIBLE or not ramp_rows.size:
            return False
        left = self._residuals(i, a)
        change = np.where(step.is_clean, step.change, 0.0)
        weight = np.maximum(change.sum(axis=1), 1e-9)
        profile = np.where(step.is_clean, left, 0.0).sum(axis=1) / weight
        misfit = float(np.sqrt(np.mean(profile[is_row] ** 2)))
        if misfit > MAX_MISFIT or state.moved > 1.0:
            return False
        slopes = -(slope / self.length)[:, None] * change
        power = np.sum(slopes**2, axis=0)
        usable = power > 0.25 * np.median(power)
        shift = np.sum(slopes * left, axis=0)[usable] / power[usable]
        agree = np.abs(shift - np.median(shift)) < max(AGREE_ROWS, AGREE_SHARE * self.length)
        enough = np.count_nonzero(agree) >= MIN_AGREEING * np.count_nonzero(usable)
        return bool(enough and 2 * np.count_nonzero(usable) >= power.size)
