"""Standard errors of solved clocks match their true errors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from testkit.measured_pairs import pair
from testkit.solved_clocks import STD_S, Truth, random_graph, solve


def test_claimed_standard_errors_are_honest() -> None:
    rng = np.random.default_rng(7)
    z = []
    for _ in range(300):
        n = int(rng.integers(3, 9))
        names, truth, ends = random_graph(rng, n, int(rng.integers(n, 3 * n)))
        stds = rng.uniform(1e-4, 2e-3, len(ends))
        measurements = [
            pair(a, b, truth[a] - truth[b] + float(rng.normal(0, s)), float(s))
            for (a, b), s in zip(ends, stds, strict=True)
        ]
        solution = solve(measurements, names, reference="c0")
        clock = solution.clocks[names[int(rng.integers(1, n))]]
        assert clock.offset_s is not None
        assert clock.offset_std_s is not None
        z.append((clock.offset_s - truth[clock.clock] + truth["c0"]) / clock.offset_std_s)
    z = np.array(z)
    assert 0.70 < float(np.var(z)) < 1.25
    assert 0.90 <= float(np.mean(np.abs(z) <= 1.96)) <= 0.98


def test_drift_standard_errors_are_honest() -> None:
    rng = np.random.default_rng(8)
    z = []
    for _ in range(200):
        names, truth, ends = random_graph(rng, 5, 10)
        drifts = {name: float(rng.normal(0, 30)) for name in names}
        exact = Truth(truth, drifts)
        measurements = []
        for a, b in ends:
            m = exact.measure(a, b)
            measurements.append(
                replace(
                    m,
                    offset_s=(m.offset_s or 0.0) + float(rng.normal(0, STD_S)),
                    drift_ppm=(m.drift_ppm or 0.0) + float(rng.normal(0, 20.0)),
                    drift_std_ppm=20.0,
                )
            )
        clock = solve(measurements, names, reference="c0").clocks["c4"]
        assert clock.drift_ppm is not None
        assert clock.drift_std_ppm is not None
        z.append((clock.drift_ppm - drifts["c4"] + drifts["c0"]) / clock.drift_std_ppm)
    assert 0.70 < float(np.var(z)) < 1.3
    assert 0.90 <= float(np.mean(np.abs(z) <= 1.96)) <= 0.99


def test_understated_errors_are_inflated() -> None:
    rng = np.random.default_rng(9)
    names, truth, ends = random_graph(rng, 5, 40)
    measurements = [
        pair(a, b, truth[a] - truth[b] + float(rng.normal(0, 2 * STD_S))) for a, b in ends
    ]
    wide = solve(measurements, names, reference="c0")
    honest = solve(
        [replace(m, offset_std_s=2 * STD_S) for m in measurements], names, reference="c0"
    )
    assert wide.chi2_reduced == pytest.approx(4.0, rel=0.5)
    for name in names[1:]:
        assert wide.clocks[name].offset_std_s == pytest.approx(
            honest.clocks[name].offset_std_s, rel=0.35
        )


def test_misfit_of_one_block_does_not_blur_another() -> None:
    measurements = [
        pair("a", "b", 0.0),
        pair("a", "b", 3 * STD_S),
        pair("b", "c", 0.0),
    ]
    solution = solve(measurements, ["a", "b", "c"], reference="b")
    assert (solution.clocks["a"].offset_std_s or 0.0) > 1.4 * STD_S
    assert solution.clocks["c"].offset_std_s == pytest.approx(STD_S, rel=1e-6)


def test_an_assumed_rate_does_not_outvote_a_measured_drift() -> None:
    """Both IMUs are tied to a bus that is too vague to show which of them drifts."""
    names = ["imu", "imu2", "can"]
    vague = {"drift_std_ppm": 400.0}
    measurements = [
        pair("imu2", "imu", 0.0, 2e-4, drift_ppm=800.0, drift_std_ppm=50.0),
        pair("can", "imu", 0.0, 2e-3, diagnostics=vague | {"drift_ppm": 50.0}),
        pair("can", "imu2", 0.0, 2e-3, diagnostics=vague | {"drift_ppm": -700.0}),
    ]
    solution = solve(measurements, names, reference="imu")
    assert not any(edge.is_outlier for edge in solution.edges)
    assert solution.clocks["imu2"].drift_ppm == pytest.approx(800.0, abs=10.0)
    assert solution.clocks["can"].drift_std_ppm == pytest.approx(400.0)


def test_nothing_is_assumed_of_the_rate_of_a_clock_that_is_no_crystal() -> None:
    """Either the IMU or all cameras are far off, so the bus runs at the rate that it shows."""
    names = ["cam0", "cam1", "imu", "can"]
    measurements = [
        *(pair(cam, "imu", 0.0, drift_ppm=3000.0, drift_std_ppm=50.0) for cam in names[:2]),
        pair("can", "imu", 0.0, 1e-3, diagnostics={"drift_ppm": 30.0, "drift_std_ppm": 150.0}),
    ]
    can = solve(measurements, names, reference="cam0").clocks["can"]
    assert can.drift_ppm == pytest.approx(-2970.0, abs=20.0)
    assert can.drift_std_ppm == pytest.approx(158.0, abs=2.0)
