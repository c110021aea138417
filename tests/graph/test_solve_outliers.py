"""Measurements that contradict the others are found, but never a bridge."""

from __future__ import annotations

import numpy as np
import pytest

from testkit.measured_pairs import pair
from testkit.solved_clocks import EXACT_S, STD_S, TOLERANCES, offsets, random_graph, solve


def test_one_gross_outlier_is_found() -> None:
    rng = np.random.default_rng(11)
    n_found = n_false = 0
    for _ in range(100):
        n = int(rng.integers(4, 8))
        names = [f"c{i}" for i in range(n)]
        truth = dict(zip(names, rng.normal(0, 0.01, n), strict=True))
        ends = [(names[i], names[j]) for i in range(n) for j in range(i)]
        bad = int(rng.integers(len(ends)))
        measurements = [
            pair(
                a, b, float(truth[a] - truth[b] + rng.normal(0, STD_S) + (0.02 if k == bad else 0))
            )
            for k, (a, b) in enumerate(ends)
        ]
        solution = solve(measurements, names, reference="c0")
        blamed = [edge.index for edge in solution.edges if edge.is_outlier]
        n_found += bad in blamed
        n_false += len([k for k in blamed if k != bad])
        for name in names[1:]:
            error = offsets(solution)[name] - float(truth[name] - truth["c0"])
            assert abs(error) < 5 * STD_S
    assert n_found >= 96
    assert n_false <= 2


def test_several_outliers_are_told_apart() -> None:
    rng = np.random.default_rng(12)
    names, truth, ends = random_graph(rng, 10, 45)
    bad = {15, 25, 35}
    measurements = [
        pair(a, b, truth[a] - truth[b] + float(rng.normal(0, STD_S)) + (0.03 if k in bad else 0.0))
        for k, (a, b) in enumerate(ends)
    ]
    solution = solve(measurements, names)
    assert {edge.index for edge in solution.edges if edge.is_outlier} == bad
    assert solution.chi2_reduced is not None
    assert solution.chi2_reduced < 2.0


def test_a_bridge_is_never_an_outlier() -> None:
    solution = solve([pair("a", "b", 0.0), pair("b", "c", 5.0)], ["a", "b", "c"])
    assert all(edge.z == 0.0 and not edge.is_contradicted for edge in solution.edges)
    assert solution.chi2_reduced is None


def test_two_parallel_edges_that_contradict_are_both_in_doubt() -> None:
    solution = solve([pair("a", "b", 0.0), pair("a", "b", 0.03)], ["a", "b"], reference="b")
    assert [edge.is_contradicted for edge in solution.edges] == [True, True]
    assert not any(edge.is_outlier for edge in solution.edges)
    clock = solution.clocks["a"]
    assert clock.offset_s == pytest.approx(0.015, abs=1e-4)
    # Either may be right: the interval covers both.
    assert (clock.offset_std_s or 0.0) * 1.96 > 0.015
    assert abs(solution.loops[0].z) > 4.0
    assert solution.loops[0].clocks in (("a", "b"), ("b", "a"))


def test_precise_edge_does_not_win_against_a_contradicting_vague_one() -> None:
    solution = solve(
        [pair("a", "b", 0.0, 1e-5), pair("a", "b", 0.05, 5e-3)], ["a", "b"], reference="b"
    )
    assert [edge.is_contradicted for edge in solution.edges] == [True, True]
    assert (solution.clocks["a"].offset_std_s or 0.0) > 0.02


def test_third_parallel_edge_breaks_the_tie() -> None:
    measurements = [pair("a", "b", 0.0), pair("a", "b", 0.03), pair("a", "b", 0.0302)]
    solution = solve(measurements, ["a", "b"], reference="b")
    assert [edge.is_outlier for edge in solution.edges] == [True, False, False]
    assert solution.clocks["a"].offset_s == pytest.approx(0.0301, abs=1e-4)
    assert solution.clocks["a"].n_measurements == 2


def test_triangle_that_fails_to_close_accuses_all_three() -> None:
    measurements = [pair("a", "b", 0.0), pair("b", "c", 0.0), pair("a", "c", 0.03)]
    solution = solve(measurements, ["a", "b", "c"])
    assert all(edge.is_contradicted and not edge.is_outlier for edge in solution.edges)
    assert abs(solution.loops[0].closure_s) == pytest.approx(0.03, abs=EXACT_S)
    assert set(solution.loops[0].clocks) == {"a", "b", "c"}


def test_contradicted_drift_is_blamed() -> None:
    names = ["a", "b", "c", "d"]
    measurements = [
        pair(x, y, 0.0, drift_ppm=300.0 if (x, y) == ("b", "a") else 0.0, drift_std_ppm=10.0)
        for i, x in enumerate(names)
        for y in names[:i]
    ]
    solution = solve(measurements, names, reference="a")
    assert [edge.is_outlier for edge in solution.edges] == [True] + [False] * 5
    assert abs(solution.edges[0].drift_residual_ppm or 0.0) == pytest.approx(300.0, rel=1e-6)
    assert solution.clocks["b"].drift_ppm == pytest.approx(0.0, abs=1e-6)


# Corners


def test_two_equal_outliers_far_apart_are_both_blamed() -> None:
    left, right = ["a0", "a1", "a2", "a3"], ["b0", "b1", "b2", "b3"]
    measurements = [
        pair(x, y, 0.03 if (x[1], y[1]) == ("1", "0") else 0.0)
        for names in (left, right)
        for i, x in enumerate(names)
        for y in names[:i]
    ]
    solution = solve([*measurements, pair("a0", "b0", 0.0)], left + right)
    blamed = [edge.index for edge in solution.edges if edge.is_outlier]
    assert blamed == [0, 6]
    assert not any(edge.is_contradicted for edge in solution.edges if not edge.is_outlier)


def test_near_tie_of_consensus_is_a_tie() -> None:
    # 10.5 ± 1 ms: certainly outside for the IMU (5 ms), for the camera (10 ms) with 69 %.
    for trusted in ("cam0", "imu"):
        solution = solve(
            [pair("cam0", "imu", 0.0105, 1e-3)],
            ["cam0", "imu"],
            tolerance_s=TOLERANCES,
            preference=[trusted],
        )
        assert solution.reference == trusted
