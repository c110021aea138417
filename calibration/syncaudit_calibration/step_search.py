"""Find steps that are too small for the matching to notice, and drop insignificant ones.

A step of a source adds one column to the equations. For all places between two of its timestamps at
once, with flashes and all other unknowns eliminated, a score test gives how much a step there would
explain. The best place is added to the unknowns and kept if significant, until there are no more
(binary segmentation; Scott & Knott, "A cluster analysis method for grouping means in the analysis
of variance", Biometrics 30, 1974).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
from scipy.special import stdtr

from syncaudit.dsp.robust import mad_std
from syncaudit.model.arrays import Floats
from syncaudit_calibration.adjustment import Adjustment, noise_of
from syncaudit_calibration.normal_equations import reduced_products
from syncaudit_calibration.seed import Seed

Solve = Callable[[Seed], Adjustment]

# A step is accepted if its p-value, corrected for the number of places, is below this,
MAX_CHANCE = 1e-4
# with at least this many timestamps before and after it, up to the next step,
MIN_STAMPS = 4
# and if it is at least this large and this many sigmas. Oscillators wander by tens of microseconds.
MIN_STEP_S = 1e-4
MIN_Z = 5.0
MAX_FOUND = 12
# Residuals are clipped at this many deviations, so that single outliers do not look like a step.
MAX_RESIDUAL = 5.0


def solve_with_steps(seed: Seed, solve: Solve) -> Adjustment:
    """Solve the bundle with as many clock steps as the residuals require.

    `seed` has the steps that the matching found.
    """
    solved = _without_idle(solve(seed), solve)
    for _ in range(MAX_FOUND):
        found = _best_place(solved)
        if found is None:
            break
        name, at_s = found
        before = solved.observations.seed
        steps = (*before.maps[name].steps, (at_s, 0.0))
        tried = _without_idle(solve(_with_steps(before, name, steps)), solve)
        if _n_steps(tried) <= _n_steps(solved):
            break
        solved = tried
    return solved


def _n_steps(solved: Adjustment) -> int:
    return sum(len(clock.steps) for clock in solved.observations.seed.maps.values())


def _with_steps(seed: Seed, name: str, steps: Iterable[tuple[float, float]]) -> Seed:
    clock = replace(seed.maps[name], steps=tuple(sorted(steps)))
    return replace(seed, maps={**seed.maps, name: clock})


def _without_idle(solved: Adjustment, solve: Solve) -> Adjustment:
    """Drop steps that turned out to be too small or uncertain, the least significant first."""
    while True:
        observations, idle = solved.observations, []
        for name in observations.sources:
            for column in observations.steps(name):
                size_s, std_s = solved.value_of(column)
                if abs(size_s) < max(MIN_STEP_S, MIN_Z * std_s):
                    idle.append((abs(size_s) / std_s, name, observations.unknowns[column].at_s))
        if not idle:
            return solved
        _, name, dropped_s = min(idle)
        kept = (step for step in observations.seed.maps[name].steps if step[0] != dropped_s)
        solved = solve(_with_steps(observations.seed, name, kept))


def _best_place(solved: Adjustment) -> tuple[str, float] | None:
    """Return the source and own time of the most significant step, or None."""
    observations, seed = solved.observations, solved.observations.seed
    is_point = observations.half_s == 0.0
    residuals = solved.residuals_s.copy()
    columns: list[Floats] = []
    places: list[tuple[str, float]] = []
    freedom: list[float] = []
    for k, name in enumerate(observations.sources):
        own = is_point & (observations.source == k)
        if not own.any():
            continue
        reach_s = MAX_RESIDUAL * max(mad_std(residuals[own]), 1e-6)
        residuals[own] = np.clip(residuals[own], -reach_s, reach_s)
        stamps_s = np.unique(observations.stamp_s[own])
        for at_s in _places(stamps_s, [at_s for at_s, _ in seed.maps[name].steps]):
            columns.append(own * (observations.stamp_s >= at_s))
            places.append((name, at_s))
            freedom.append(stamps_s.size - 2.0)
    if not places:
        return None
    noise = noise_of(solved, is_point)
    pull, weight = reduced_products(observations, noise, np.stack(columns, axis=1), residuals)
    t2 = pull**2 / np.maximum(weight, 1e-300)
    # The estimated jitter includes the step: Student's t for the residuals without it.
    nu = np.array(freedom)
    t = np.sqrt(t2 / np.maximum(1.0 - t2 / nu, 1e-3))
    chance = 2.0 * len(places) * stdtr(nu, -t)
    # With two sources, either may have stepped: prefer the one that is not the reference.
    order = np.array([name == seed.reference for name, _ in places])
    best = int(np.lexsort((order, np.round(-t, 6)))[0])
    return places[best] if chance[best] < MAX_CHANCE else None


def _places(stamps_s: Floats, known_s: list[float]) -> Floats:
    """Return the midpoints between timestamps that have enough others on both sides."""
    parts = np.searchsorted(stamps_s, np.sort(known_s))
    borders = np.concatenate([[0], parts, [stamps_s.size]])
    k = np.arange(1, stamps_s.size)
    part = np.searchsorted(borders, k, side="right")
    is_wide = (k - borders[part - 1] >= MIN_STAMPS) & (borders[part] - k >= MIN_STAMPS)
    return np.asarray(0.5 * (stamps_s[k - 1] + stamps_s[k])[is_wide])
