"""Clocks solved from measurements between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from syncaudit.graph.solve import solve_clocks
from syncaudit.model import ClockSolution, PairMeasurement
from testkit.measured_pairs import AT_NS, pair

# Rounding of float64 seconds and whole nanoseconds, far below any measurement error.
EXACT_S = 1e-8
STD_S = 3e-4


def own_clocks(*names: str) -> dict[str, str]:
    """Return a separate clock for each source."""
    return {name: name for name in names}


def solve(
    measurements: Sequence[PairMeasurement],
    names: Sequence[str],
    *,
    tolerance_s: float | Mapping[str, float] = 0.01,
    **more: object,
) -> ClockSolution:
    """Solve the clocks of sources with separate clocks over 20 s."""
    tolerances = (
        tolerance_s if isinstance(tolerance_s, Mapping) else dict.fromkeys(names, tolerance_s)
    )
    options: dict[str, object] = {"span_s": 20.0, "at_ns": AT_NS} | more
    return solve_clocks(
        measurements,
        own_clocks(*names),
        tolerance_s=tolerances,
        **options,  # type: ignore[arg-type]  # options of the solver
    )


def offsets(solution: ClockSolution) -> dict[str, float]:
    """Return the offsets of the observable clocks by name."""
    return {
        name: clock.offset_s
        for name, clock in solution.clocks.items()
        if clock.offset_s is not None
    }


class Truth:
    """Affine clocks ``t_ref = t + o + d * (t - AT)`` and exact measurements between them."""

    def __init__(self, offset_s: Mapping[str, float], drift_ppm: Mapping[str, float]) -> None:
        self.offset_s = offset_s
        self.drift_ppm = drift_ppm

    def measure(
        self, source: str, target: str, at_s: float = 0.0, std_s: float = STD_S, drift: bool = True
    ) -> PairMeasurement:
        """Measure at `at_s` seconds of reference time after AT, with integer arithmetic."""
        o_s, o_t = self.offset_s[source], self.offset_s[target]
        d_s, d_t = 1e-6 * self.drift_ppm[source], 1e-6 * self.drift_ppm[target]
        # Timestamps of the instant on both clocks, relative to AT.
        t_s = (at_s - o_s) / (1.0 + d_s)
        at_ns = AT_NS + round(t_s * 1e9)
        t_s = (at_ns - AT_NS) * 1e-9
        ref_s = t_s + o_s + d_s * t_s
        t_t = (ref_s - o_t) / (1.0 + d_t)
        return pair(
            source,
            target,
            t_t - t_s,
            std_s,
            at_ns=at_ns,
            drift_ppm=1e6 * ((1.0 + d_s) / (1.0 + d_t) - 1.0) if drift else None,
            drift_std_ppm=1.0 if drift else None,
        )


def random_graph(
    rng: np.random.Generator, n: int, m: int
) -> tuple[list[str], dict[str, float], list[tuple[str, str]]]:
    """Return `n` clocks, their offsets, and `m` pairs of them that form a connected graph."""
    names = [f"c{i}" for i in range(n)]
    truth = {name: float(value) for name, value in zip(names, rng.normal(0, 0.01, n), strict=True)}
    ends = [(names[i], names[int(rng.integers(i))]) for i in range(1, n)]
    while len(ends) < m:
        a, b = rng.choice(n, 2, replace=False)
        ends.append((names[a], names[b]))
    return names, truth, ends


CAMS = [f"cam{i}" for i in range(6)]
TOLERANCES = dict.fromkeys(CAMS, 0.01) | {"imu": 0.005, "can": 0.02}
